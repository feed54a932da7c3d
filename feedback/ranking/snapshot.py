"""All boosts of a revision: `Content` as it is stored, `Snapshot` as searches use it in memory. Pure, without Django.

A search uses one `Snapshot` from beginning to end, so it never mixes two revisions.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from feedback.ranking import boosts, query_moves, question_similarity
from feedback.ranking.boosts import QueryTallies, query_multiplier
from feedback.ranking.exploration import Votes
from feedback.ranking.groups import Groups
from feedback.ranking.query_moves import Bounds, PassageVectors
from feedback.ranking.question_groups import LEAST_COSINE, LEAST_OVERLAP, SAME_FROM, DecidedPairs
from feedback.ranking.question_similarity import AskedQuestion, QuestionSimilarity, TermIndex
from feedback.ranking.same_question import (
    FORBIDDEN,
    Commonness,
    background_of,
    difference,
    read_question,
    shipped_model,
)
from ragsite.core.wording import Sentence, counted, joined, worded
from retrieval.values import Boost, Boosts, EmbeddingSpace, MovedQuery

VERSION = 1
RATERS_NAMED = 0.3  # similarity of a rated question from which its raters are named in the audit trail
ASKS_THE_SAME = 0.5  # similarity from which normalized scores of the one question's search count for the other
FOUND_ELSEWHERE = worded("found for the same question in other words, where its ratings are even")
MATCHED_FROM = 0.6  # probability from which an asked question is taken to be a rated one
MOST_MATCHED = 8  # rated questions that an asked one is compared with closely
MOST_COMPARED = 100  # rated questions, by terms and by vector each, whose passages may move a query
NO_DIFFERENCE = 0.005  # a multiplier that differs less from 1 is no boost
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Sums = NDArray[np.float64]


class Candidate(Protocol):
    @property
    def chunk_id(self) -> str: ...
    @property
    def document_id(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPrior:
    multiplier: float
    raters_up: int
    raters_down: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a revision does. documents: by id. pairs: questions of its rows that were decided to want the same answer.

    parameters: full_votes, matched_from (in early revisions, the thresholds of `QuestionSimilarity`), and what bounds
    moves. moving: the passages that queries are moved towards, ascending; revisions of earlier versions have none.
    Their vectors are kept beside it, as those of questions are: sixty revisions would hold each of them.
    """

    queries: QueryTallies
    documents: Mapping[UUID, DocumentPrior]
    parameters: Mapping[str, float]
    pairs: DecidedPairs = field(default_factory=DecidedPairs)
    moving: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def encode(self) -> bytes:
        """A compressed numpy archive."""
        rows = self.queries
        ids = list(self.documents)
        priors = list(self.documents.values())
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            version=np.asarray([VERSION]),
            question=rows.question,
            passage=rows.passage,
            votes=np.column_stack((rows.up, rows.down)).astype(np.float32),
            raters=np.column_stack((rows.raters_up, rows.raters_down)).astype(np.uint32),
            standing=rows.normalized_score.astype(np.float32),
            document=np.frombuffer(b"".join(document.bytes for document in ids), dtype=np.uint8).reshape(-1, 16),
            prior=np.asarray([prior.multiplier for prior in priors], dtype=np.float32),
            prior_raters=np.asarray([(prior.raters_up, prior.raters_down) for prior in priors], dtype=np.uint32),
            moving=self.moving,
            parameters=np.frombuffer(json.dumps(dict(self.parameters)).encode(), dtype=np.uint8),
            pair=self.pairs.question,
            pair_same=self.pairs.same,
        )
        return buffer.getvalue()

    @classmethod
    def decode(cls, data: bytes) -> Content:
        """Raises ValueError for what another version has written."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            if stored["version"].tolist() != [VERSION]:
                raise ValueError(f"a revision of format {stored['version'].tolist()}, this program reads {VERSION}")
            votes, raters = stored["votes"].astype(np.float64), stored["raters"].astype(np.int64)
            unknown = np.full(len(votes), np.nan)  # earlier versions did not keep normalized scores
            queries = QueryTallies(
                question=stored["question"],
                passage=stored["passage"],
                up=votes[:, 0],
                down=votes[:, 1],
                raters_up=raters[:, 0],
                raters_down=raters[:, 1],
                normalized_score=stored["standing"].astype(np.float64) if "standing" in stored else unknown,
            )
            documents = {
                UUID(bytes=key.tobytes()): DocumentPrior(
                    multiplier=float(value), raters_up=int(raters[0]), raters_down=int(raters[1])
                )
                for key, value, raters in zip(
                    stored["document"], stored["prior"], stored["prior_raters"].reshape(-1, 2), strict=True
                )
            }
            parameters = json.loads(stored["parameters"].tobytes())
            # Earlier versions compared questions in searches alone, and moved no queries.
            pairs = DecidedPairs(stored["pair"], stored["pair_same"]) if "pair" in stored else DecidedPairs()
            moving = stored["moving"] if "moving" in stored else np.zeros(0, dtype=np.int64)
        return cls(queries=queries, documents=documents, parameters=parameters, pairs=pairs, moving=moving)

    @classmethod
    def empty(cls, parameters: Mapping[str, float]) -> Content:
        ints, floats = np.zeros(0, dtype=np.int64), np.zeros(0)
        tallies = QueryTallies(
            question=ints, passage=ints, up=floats, down=floats, raters_up=ints, raters_down=ints,
            normalized_score=floats,
        )  # fmt: skip
        return cls(queries=tallies, documents={}, parameters=parameters)

    def multipliers(self) -> NDArray[np.float64]:
        """Of each row of `queries`, for a question with similarity 1. Shape (rows,), 0.5 … 2.0."""
        return query_multiplier(self.queries.up, self.queries.down, full_votes=full_votes_of(self.parameters))

    def digest(self) -> str:
        """SHA-256 of what it does, hexadecimal, with multipliers rounded to two decimals: rounds that differ only by a
        day's decay give the same."""
        digest = hashlib.sha256(json.dumps(dict(sorted(self.parameters.items()))).encode())
        for column in (self.queries.question, self.queries.passage, np.round(self.multipliers(), 2)):
            digest.update(np.ascontiguousarray(column).tobytes())
        for document, prior in sorted(self.documents.items()):
            digest.update(document.bytes + f"{prior.multiplier:.2f}".encode())
        if len(self.pairs):
            order = np.lexsort((self.pairs.question[:, 1], self.pairs.question[:, 0]))
            digest.update(self.pairs.question[order].tobytes())
            digest.update(np.round(self.pairs.same[order], 2).tobytes())
        digest.update(np.ascontiguousarray(self.moving).tobytes())
        return digest.hexdigest()


def parameters() -> dict[str, float]:
    """What a revision made now is read with."""
    return {
        "full_votes": boosts.FULL_VOTES,
        "matched_from": MATCHED_FROM,
        "move_weight": query_moves.MOVE_WEIGHT,
        "move_away_weight": query_moves.MOVE_AWAY_WEIGHT,
        "move_angle": query_moves.MAX_ANGLE,
    }


def full_votes_of(parameters: Mapping[str, float]) -> float:
    """Early revisions did not keep it; they are read with today's."""
    return float(parameters.get("full_votes", boosts.FULL_VOTES))


def bounds_of(parameters: Mapping[str, float]) -> Bounds:
    """Revisions from before there were moves move nothing."""
    return Bounds(
        weight=float(parameters.get("move_weight", 0.0)),
        away_weight=float(parameters.get("move_away_weight", 0.0)),
        angle=float(parameters.get("move_angle", 0.0)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualRule:
    """A boost that staff set. expires_at: seconds since 1970-01-01, None: never."""

    multiplier: float
    hide: bool
    expires_at: float | None
    why: str = ""

    def holds(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedQuestions:
    """The questions of a revision's rows. ids: ascending. texts: as they were put first. terms: of each, distinct.

    vectors: by space, float32, shape (questions, dim), unit length; a row of NaN where a question has none.
    """

    ids: Ints
    texts: Sequence[str]
    terms: Sequence[Sequence[str]]
    vectors: Mapping[EmbeddingSpace, Floats] = field(default_factory=dict)


class Similarities:
    """Of one asked question to the rated ones, each computed once however often it is asked for."""

    def __init__(self, compute: Callable[[Ints], Floats], count: int) -> None:
        """compute: of some rated questions' places, 0..1. count: of all rated questions."""
        self._compute = compute
        self._known = np.full(count, np.nan, dtype=np.float32)

    def of(self, questions: Ints) -> Floats:
        """0..1 for each of these places."""
        missing = np.unique(questions[np.isnan(self._known[questions])])
        if len(missing):
            self._known[missing] = self._compute(missing)
        return self._known[questions]


class Snapshot:
    """A revision, indexed for searches. It never changes."""

    def __init__(
        self,
        content: Content,
        questions: RatedQuestions,
        chunk_of: Mapping[int, str],
        *,
        revision: str = "",
        version: int = 0,
        manual: Mapping[str, ManualRule] | None = None,
        passages: Mapping[EmbeddingSpace, PassageVectors] | None = None,
    ) -> None:
        """chunk_of: the id of the chunk that holds each passage now; rows of other passages are left out.

        manual: by the id of a chunk or document. passages: what queries are moved towards; without them, none is.
        """
        self.revision = revision
        self.version = version
        self._full_votes = full_votes_of(content.parameters)
        self._matched_from = content.parameters.get("matched_from")
        self._similarity = QuestionSimilarity(
            cosine_from=content.parameters.get("cosine_from", question_similarity.COSINE_FROM),
            cosine_full=content.parameters.get("cosine_full", question_similarity.COSINE_FULL),
            overlap_from=content.parameters.get("overlap_from", question_similarity.OVERLAP_FROM),
            overlap_full=content.parameters.get("overlap_full", question_similarity.OVERLAP_FULL),
        )
        self._documents = {str(document): prior for document, prior in content.documents.items()}
        self._manual = dict(manual or {})
        self._terms = TermIndex(questions.terms)
        self._common = Commonness.of(self._terms.holders(), len(self._terms))
        self._vectors = questions.vectors
        self._texts = questions.texts
        if self._matched_from is None:  # a revision of an earlier version
            self._calibrated = {
                space: self._similarity.calibrated(stored) for space, stored in questions.vectors.items()
            }
        else:
            self._background = {space: background_of(stored) for space, stored in questions.vectors.items()}
        pairs = content.pairs.among(questions.ids, least=SAME_FROM)
        first, second = np.searchsorted(questions.ids, pairs.question).T
        self._pair_from, self._pair_to = np.concatenate((first, second)), np.concatenate((second, first))
        self._pair_same = np.concatenate((pairs.same, pairs.same)).astype(np.float32)
        known = np.isin(content.queries.question, questions.ids)
        known &= np.isin(content.queries.passage, np.fromiter(chunk_of, dtype=np.int64, count=len(chunk_of)))
        self._rows = content.queries.where(known)
        self._question = np.searchsorted(questions.ids, self._rows.question)
        self._by_chunk: dict[str, Ints] = {}
        for rows in Groups.by(self._rows.passage).of_size(1):
            chunk_id = chunk_of[int(self._rows.passage[rows[0]])]
            earlier = self._by_chunk.get(chunk_id)
            self._by_chunk[chunk_id] = rows if earlier is None else np.concatenate((earlier, rows))
        self._bounds = bounds_of(content.parameters)
        self._moves = {} if self._bounds.weight <= 0.0 else self._moving_rows(passages or {})
        moving = [self._question[rows] for rows, _ in self._moves.values()]
        self._moving = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *moving]))
        self._passages = passages or {}

    def _moving_rows(
        self, passages: Mapping[EmbeddingSpace, PassageVectors]
    ) -> dict[EmbeddingSpace, tuple[Ints, Ints]]:
        """By space the rows whose passage has a vector there, and its place in `passages`."""
        moving = {}
        for space, stored in passages.items():
            rows = np.flatnonzero(np.isin(self._rows.passage, stored.passages))
            if len(rows):
                moving[space] = rows, np.searchsorted(stored.passages, self._rows.passage[rows]).astype(np.int64)
        return moving

    @property
    def is_empty(self) -> bool:
        return not (self._by_chunk or self._documents or self._manual)

    @property
    def spaces(self) -> tuple[EmbeddingSpace, ...]:
        """The spaces in which a question has to be embedded to be compared."""
        return tuple(self._vectors)

    @property
    def full_votes(self) -> float:
        return self._full_votes

    def votes_for(
        self, asked: AskedQuestion, candidates: Sequence[Candidate], *, similarities: Similarities | None = None
    ) -> dict[str, Votes]:
        """By chunk, the votes for and against it of all rated questions, each by its similarity; without the rest."""
        rated = list(dict.fromkeys(one.chunk_id for one in candidates if one.chunk_id in self._by_chunk))
        if not rated:
            return {}
        rows = [self._by_chunk[chunk_id] for chunk_id in rated]
        questions = np.unique(self._question[np.concatenate(rows)])
        similarity = (similarities or self.similarities(asked)).of(questions)
        votes: dict[str, Votes] = {}
        for chunk_id, own in zip(rated, rows, strict=True):
            weight = similarity[np.searchsorted(questions, self._question[own])]
            votes[chunk_id] = Votes(float(weight @ self._rows.up[own]), float(weight @ self._rows.down[own]))
        return votes

    @property
    def move_spaces(self) -> tuple[EmbeddingSpace, ...]:
        """The spaces in which a question has to be embedded to be moved."""
        return tuple(self._moves)

    def similarities(self, asked: AskedQuestion) -> Similarities:
        """For `moves` and `boosts` of the same question, so that it is compared once."""
        return Similarities(lambda questions: self._similarities(asked, questions), len(self._terms))

    def moves(
        self, asked: AskedQuestion, collections: Sequence[str], *, similarities: Similarities | None = None
    ) -> tuple[MovedQuery, ...]:
        """The question's vectors moved towards passages that were rated good for a question that asks the same.

        collections: ids of those that the asking user may read. Passages of others take no part, so that nobody is led
        towards a topic that they may not read about. Spaces without a vector of the question, or without a passage to
        move to, are left out.
        """
        if not len(self._moving):
            return ()
        near = self._nearest_moving(asked)
        similarity = np.zeros(len(self._terms), dtype=np.float32)
        similarity[near] = (similarities or self.similarities(asked)).of(near)
        similarity[similarity < ASKS_THE_SAME] = 0.0
        if not similarity.any():
            return ()
        found = (self._moved_in(space, asked, similarity, collections) for space in self._moves)
        return tuple(move for move in found if move)

    def _nearest_moving(self, asked: AskedQuestion) -> Ints:
        """The places of the questions whose passages may move this one: the nearest by terms and by vector. Comparing
        all of ten thousand took 30 ms and more, most of it to copy their vectors."""
        if len(self._moving) <= MOST_COMPARED:
            return self._moving
        nearness = [self._terms.compare(asked.terms)[0]]
        for space, stored in self._vectors.items():
            if (vector := asked.vectors.get(space)) is not None:
                nearness.append(np.nan_to_num(np.einsum("ij,j->i", stored, vector), nan=-1.0))
        nearest = np.concatenate([np.argpartition(-values, MOST_COMPARED)[:MOST_COMPARED] for values in nearness])
        beside = self._pair_to[np.isin(self._pair_from, nearest)]  # rounds decided that these ask the same
        return np.intersect1d(self._moving, np.concatenate((nearest, beside)))

    def _moved_in(
        self, space: EmbeddingSpace, asked: AskedQuestion, similarity: Floats, collections: Sequence[str]
    ) -> MovedQuery | None:
        vector, stored = asked.vectors.get(space), self._passages[space]
        if vector is None:
            return None
        rows, places = self._moves[space]
        kept = similarity[self._question[rows]] > 0.0
        kept[kept] = np.isin(stored.collections[places[kept]], list(collections))
        rows, places = rows[kept], places[kept]
        if not len(rows):
            return None
        passages, owner = np.unique(places, return_inverse=True)
        votes = similarity[self._question[rows]] * (self._rows.up[rows] - self._rows.down[rows])
        net_votes = np.bincount(owner, votes, len(passages)).astype(np.float64)
        turned = query_moves.moved(
            vector, stored.vectors[passages].astype(np.float32), net_votes, full_votes=self._full_votes,
            bounds=self._bounds,
        )  # fmt: skip
        if turned is None:
            return None
        people = self._rows.raters_up[rows[net_votes[owner] > 0.0]]
        return MovedQuery(
            space=space,
            vector=turned[0],
            degrees=turned[1],
            passages=int((net_votes > 0.0).sum()),
            people=int(people.max(initial=0)),
        )

    def touches(self, candidates: Sequence[Candidate]) -> bool:
        """Whether any candidate has a query boost, so that the question's vector is needed."""
        return any(candidate.chunk_id in self._by_chunk for candidate in candidates)

    def boosts(
        self, asked: AskedQuestion, candidates: Sequence[Candidate], *, now: float = 0.0,
        similarities: Similarities | None = None,
    ) -> Boosts:  # fmt: skip
        """The boosts of these candidates for a question. now: seconds since 1970-01-01. similarities: the question's.

        Candidates without a boost are left out.
        """
        query_boosts = self._query_boosts(similarities or self.similarities(asked), candidates)
        by_chunk: dict[str, Boost] = {}
        for candidate in candidates:
            boost = query_boosts.get(candidate.chunk_id)
            prior = self._documents.get(candidate.document_id)
            rule = self._rule(candidate, now) if self._manual else None
            if prior or rule:
                boost = _joined(boost or Boost(), prior, rule)
            if boost and (boost.hide or boost.similar_questions or abs(boost.multiplier - 1.0) >= NO_DIFFERENCE):
                by_chunk[candidate.chunk_id] = boost
        return Boosts(by_chunk=by_chunk, revision=self.revision)

    def _rule(self, candidate: Candidate, now: float) -> ManualRule | None:
        """The chunk's own before its document's."""
        rules = (self._manual.get(key) for key in (candidate.chunk_id, candidate.document_id))
        return next((rule for rule in rules if rule and rule.holds(now)), None)

    def highest_similarity(self, asked: AskedQuestion) -> float:
        """To the most similar rated question, 0..1."""
        all_questions = np.arange(len(self._terms), dtype=np.int64)
        return float(self._similarities(asked, all_questions).max(initial=0.0))

    def _query_boosts(self, similarities: Similarities, candidates: Sequence[Candidate]) -> dict[str, Boost]:
        """By chunk. Each rated question counts by its similarity."""
        rated = [candidate.chunk_id for candidate in candidates if candidate.chunk_id in self._by_chunk]
        if not rated:
            return {}
        rows = np.concatenate([self._by_chunk[chunk_id] for chunk_id in rated])
        sizes = [len(self._by_chunk[chunk_id]) for chunk_id in rated]
        owner, starts = np.repeat(np.arange(len(rated)), sizes), np.cumsum([0, *sizes[:-1]])

        def sums(values: NDArray[np.floating]) -> Sums:
            return np.bincount(owner, values, len(rated)).astype(np.float64)

        questions, back = np.unique(self._question[rows], return_inverse=True)
        similarity = similarities.of(questions)[back]
        up, down = sums(similarity * self._rows.up[rows]), sums(similarity * self._rows.down[rows])
        multipliers = query_multiplier(up, down, full_votes=self._full_votes)
        # The mean normalized score in searches for rated questions that ask the same, and how many those are.
        score_then = self._rows.normalized_score[rows]
        known = (similarity >= ASKS_THE_SAME) & ~np.isnan(score_then)
        weight = np.where(known, similarity, 0.0)
        similar_questions = sums(weight)
        totals = sums(weight * np.nan_to_num(score_then))
        scores = np.divide(totals, similar_questions, out=np.zeros(len(rated)), where=similar_questions > 0)
        named = similarity >= RATERS_NAMED
        raters_up = np.maximum.reduceat(np.where(named, self._rows.raters_up[rows], 0), starts).tolist()
        raters_down = np.maximum.reduceat(np.where(named, self._rows.raters_down[rows], 0), starts).tolist()
        moved = np.abs(multipliers - 1.0) >= NO_DIFFERENCE
        return {
            rated[place]: Boost(
                multiplier=float(multipliers[place]) if moved[place] else 1.0,
                origin=_query_origin(raters_up[place], raters_down[place]) if moved[place] else FOUND_ELSEWHERE,
                normalized_score=float(scores[place]),
                similar_questions=float(similar_questions[place]),
            )
            for place in np.flatnonzero(moved | (similar_questions > 0.0)).tolist()
        }

    def _similarities(self, asked: AskedQuestion, questions: Ints) -> Floats:
        """To these rated questions, 0..1; of several spaces the highest counts. questions: rows, shape (n,)."""
        if self._matched_from is not None:
            return self._matched(asked, questions, self._matched_from)
        overlap, same_numbers = self._terms.compare(asked.terms)
        by_vectors: Floats | None = None
        for space, stored in self._vectors.items():
            if (vector := asked.vectors.get(space)) is not None:
                # Not `@`: BLAS may share so small a product out to threads, and wait for them longer than it takes.
                cosine = np.einsum("ij,j->i", stored[questions], vector)
                in_space = self._calibrated[space].by_vectors(cosine)
                by_vectors = in_space if by_vectors is None else np.maximum(by_vectors, in_space)
        return self._similarity.combined(by_vectors, overlap[questions], same_numbers[questions])

    def _matched(self, asked: AskedQuestion, questions: Ints, matched_from: float) -> Floats:
        """The probability that each wants the same answer as the asked one, 0 below `matched_from`.

        What was decided in rounds carries it on: the votes for a question that wants the same as a matched one count by
        the product of both. A difference between the asked question and another stands above that.
        """
        wanted = np.zeros(len(self._terms), dtype=bool)
        wanted[questions] = True
        beside = self._pair_from[wanted[self._pair_to]]
        wanted[beside] = True
        rows = np.flatnonzero(wanted)
        overlap = self._terms.compare(asked.terms)[0][rows]
        cosine = np.full(len(rows), np.nan, dtype=np.float32)
        for space, stored in self._vectors.items():
            if (vector := asked.vectors.get(space)) is not None:
                background = self._background[space]
                in_space = (np.einsum("ij,j->i", stored[rows], vector) - background) / (1.0 - background)
                cosine = np.fmax(cosine, in_space)
        cosine = np.clip(cosine, 0.0, 1.0)
        score = np.where(overlap >= LEAST_OVERLAP, overlap, 0.0)
        score = np.fmax(score, np.where(cosine >= LEAST_COSINE, cosine, 0.0))
        similarity = np.zeros(len(self._terms), dtype=np.float32)
        differs = np.zeros(len(self._terms), dtype=bool)
        own, model = read_question(asked.text), shipped_model()
        for place in np.argsort(-score, kind="stable")[:MOST_MATCHED].tolist():
            if score[place] > 0.0:
                row, near = int(rows[place]), float(cosine[place])
                other = read_question(self._texts[row])
                likely = model.of_readings(own, other, cosine=None if np.isnan(near) else near, common=self._common)
                similarity[row] = likely if likely >= matched_from else 0.0
                differs[row] = likely <= FORBIDDEN and bool(difference(own, other, self._common))
        carried = similarity[self._pair_from] * self._pair_same
        np.maximum.at(similarity, self._pair_to, np.where(differs[self._pair_to], 0.0, carried))
        return similarity[questions]


def _joined(boost: Boost, prior: DocumentPrior | None, rule: ManualRule | None) -> Boost:
    multiplier, origins = boost.multiplier, [boost.origin] if boost.origin else []
    if prior:
        # What is said of the document weakens votes on the passage for this question, but does not turn them round.
        together = multiplier * prior.multiplier
        bounded = min(together, 1.0) if multiplier < 1.0 else max(together, 1.0)
        multiplier = together if multiplier == 1.0 else bounded
        origins.append(_document_origin(prior))
    if rule:
        multiplier *= rule.multiplier
        origins.append(worded("hidden by staff") if rule.hide else worded("set by staff"))
    return replace(boost, multiplier=multiplier, origin=joined("; ", origins), hide=bool(rule and rule.hide))


# ------------------------------------------------------------------------------------------------ for people
def _people(count: int) -> Sentence:
    return counted("{count} person", "{count} people", count)


def _query_origin(up: int, down: int) -> str:
    parts = [worded("{people} found this useful for similar questions", people=_people(up))] if up else []
    if down:
        parts.append(worded("{people} did not find this useful for similar questions", people=_people(down)))
    return joined("; ", parts) or worded("rated or opened for questions that are somewhat similar")


def _document_origin(prior: DocumentPrior) -> str:
    people = _people(prior.raters_up + prior.raters_down)
    if prior.multiplier >= 1.0:
        return worded("its document is rated better than others, by {people}", people=people)
    return worded("its document is rated worse than others, by {people}", people=people)
