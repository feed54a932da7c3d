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

from feedback.ranking import boosts, question_similarity
from feedback.ranking.boosts import QueryTallies, query_multiplier
from feedback.ranking.groups import Groups
from feedback.ranking.near_identical import NearIdentical
from feedback.ranking.question_groups import LEAST_COSINE, LEAST_OVERLAP, SAME_FROM, DecidedPairs
from feedback.ranking.question_similarity import AskedQuestion, QuestionSimilarity, TermIndex
from feedback.ranking.same_question import (
    FORBIDDEN,
    Commonness,
    above_background,
    background_of,
    difference,
    of_wordings,
    read_question,
    shipped_model,
)
from ragsite.core.wording import Sentence, counted, joined, worded
from retrieval.search.boosting import normalized_scores
from retrieval.values import Boost, Boosts, EmbeddingSpace, Scores

VERSION = 1
RATERS_NAMED = 0.3  # similarity of a rated question from which its raters are named in the audit trail
ASKS_THE_SAME = 0.5  # share of a vote from which normalized scores of the one question's search count for the other
FOUND_ELSEWHERE = worded("found for the same question in other words, where its ratings are even")
MATCHED_FROM = 0.3  # probability from which an asked question may be a rated one
MOST_MATCHED = 8  # rated questions that an asked one is compared with closely
WORDINGS_FROM, MOST_WORDINGS = 0.5, 4  # from which decided pairs, and how many, are other wordings of a rated question
WORDINGS_COUNT_FROM = 0.05  # probability of the rated question itself from which its other wordings are compared, too
ANSWERS_TOO, FURTHER_DOWN = 1.0, 16.0  # log-odds, see `answers_too`
LEAST_SHARE = 0.3  # of a vote; less is none
NO_DIFFERENCE = 0.005  # a multiplier that differs less from 1 is no boost
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Sums = NDArray[np.float64]


class Candidate(Protocol):
    @property
    def chunk_id(self) -> str: ...
    @property
    def document_id(self) -> str: ...
    @property
    def scores(self) -> Scores: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPrior:
    multiplier: float
    raters_up: int
    raters_down: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a revision does. documents: by id. pairs: questions of its rows that were decided to want the same answer.

    parameters: full_votes, matched_from (in early revisions, the thresholds of `QuestionSimilarity`).
    """

    queries: QueryTallies
    documents: Mapping[UUID, DocumentPrior]
    parameters: Mapping[str, float]
    pairs: DecidedPairs = field(default_factory=DecidedPairs)

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
            # Earlier versions compared questions in searches alone.
            pairs = DecidedPairs(stored["pair"], stored["pair_same"]) if "pair" in stored else DecidedPairs()
        return cls(queries=queries, documents=documents, parameters=parameters, pairs=pairs)

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
        return digest.hexdigest()


def parameters() -> dict[str, float]:
    """What a revision made now is read with."""
    return {
        "full_votes": boosts.FULL_VOTES,
        "matched_from": MATCHED_FROM,
        "answers_too": ANSWERS_TOO,
        "further_down": FURTHER_DOWN,
        "wordings_from": WORDINGS_FROM,
    }


def full_votes_of(parameters: Mapping[str, float]) -> float:
    """Early revisions did not keep it; they are read with today's."""
    return float(parameters.get("full_votes", boosts.FULL_VOTES))


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualRule:
    """A boost that staff set. expires_at: seconds since 1970-01-01, None: never.

    question: where it holds for one question and those that want the same in nearly the same words; target: the id of
    its chunk or document then.
    """

    multiplier: float
    hide: bool
    expires_at: float | None
    why: str = ""
    question: str = ""
    target: str = ""

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
    """Of one asked question to all rated ones, 0..1 each, computed when they are first asked for, and once."""

    def __init__(self, compute: Callable[[], Floats]) -> None:
        self._compute = compute
        self._known: Floats | None = None

    def of(self, questions: Ints) -> Floats:
        """For each of these places."""
        if self._known is None:
            self._known = self._compute()
        return self._known[questions]


def answers_too(same: Sums, normalized_score: Sums, *, bias: float, further_down: float) -> Sums:
    """What share of a vote on a passage for one question counts for another one, 0..1.

    same: the probability that both want the same answer. normalized_score: of the passage in the search for the other
    question, 0..1. The odds of `same` times e^(bias − further_down · (1 − score)): words that look alike may ask for
    something else, and then the search finds it further up. On the labelled sets the log-odds that a passage answers
    fall by about 8 from the first to the last of a search; here the rest of the search speaks of the difference of the
    two questions as well. All arrays have one shape.
    """
    with np.errstate(divide="ignore"):
        log_odds = np.log(same) - np.log1p(-same) + bias - further_down * (1.0 - normalized_score)
    share = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -50.0, 50.0)))
    return np.where(share >= LEAST_SHARE, share, 0.0)


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
    ) -> None:
        """chunk_of: the id of the chunk that holds each passage now; rows of other passages are left out.

        manual: by the id of a chunk or document, those of one question by an id of their own.
        """
        self.revision = revision
        self.version = version
        self._full_votes = full_votes_of(content.parameters)
        self._matched_from = content.parameters.get("matched_from")
        self._bias = content.parameters.get("answers_too", 0.0)
        self._further_down = content.parameters.get("further_down", 0.0)
        self._similarity = QuestionSimilarity(
            cosine_from=content.parameters.get("cosine_from", question_similarity.COSINE_FROM),
            cosine_full=content.parameters.get("cosine_full", question_similarity.COSINE_FULL),
            overlap_from=content.parameters.get("overlap_from", question_similarity.OVERLAP_FROM),
            overlap_full=content.parameters.get("overlap_full", question_similarity.OVERLAP_FULL),
        )
        self._documents = {str(document): prior for document, prior in content.documents.items()}
        rules = manual or {}
        self._manual = {key: rule for key, rule in rules.items() if not rule.question}
        self._of_questions = [rule for rule in rules.values() if rule.question]
        self._targets = frozenset(rule.target for rule in self._of_questions)
        self._wordings = NearIdentical([rule.question for rule in self._of_questions])
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
        self._wordings_of = self._other_wordings(content.parameters.get("wordings_from", np.inf))
        known = np.isin(content.queries.question, questions.ids)
        known &= np.isin(content.queries.passage, np.fromiter(chunk_of, dtype=np.int64, count=len(chunk_of)))
        self._rows = content.queries.where(known)
        self._question = np.searchsorted(questions.ids, self._rows.question)
        self._by_chunk: dict[str, Ints] = {}
        for rows in Groups.by(self._rows.passage).of_size(1):
            chunk_id = chunk_of[int(self._rows.passage[rows[0]])]
            earlier = self._by_chunk.get(chunk_id)
            self._by_chunk[chunk_id] = rows if earlier is None else np.concatenate((earlier, rows))

    def _other_wordings(self, least: float) -> dict[int, list[int]]:
        """By rated question, the MOST_WORDINGS likeliest others that were decided to want the same, from `least` on."""
        others: dict[int, list[int]] = {}
        for at in np.argsort(-self._pair_same, kind="stable"):
            if self._pair_same[at] < least:
                break
            own = others.setdefault(int(self._pair_from[at]), [])
            if len(own) < MOST_WORDINGS:
                own.append(int(self._pair_to[at]))
        return others

    @property
    def is_empty(self) -> bool:
        return not (self._by_chunk or self._documents or self._manual or self._of_questions)

    @property
    def spaces(self) -> tuple[EmbeddingSpace, ...]:
        """The spaces in which a question has to be embedded to be compared."""
        return tuple(self._vectors)

    def similarities(self, asked: AskedQuestion) -> Similarities:
        """For calls with the same question, so that it is compared once."""
        return Similarities(lambda: self._similarities(asked))

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
        own = self._rules_of(asked, candidates, now)
        for candidate in candidates:
            boost = query_boosts.get(candidate.chunk_id)
            prior = self._documents.get(candidate.document_id)
            rule = self._rule(candidate, now, own) if self._manual or own else None
            if prior or rule:
                boost = _joined(boost or Boost(), prior, rule)
            if boost and (boost.hide or boost.similar_questions or abs(boost.multiplier - 1.0) >= NO_DIFFERENCE):
                by_chunk[candidate.chunk_id] = boost
        return Boosts(by_chunk=by_chunk, revision=self.revision)

    def _rules_of(self, asked: AskedQuestion, candidates: Sequence[Candidate], now: float) -> dict[str, ManualRule]:
        """By chunk or document, those that hold for this question: of several the one whose wording fits best."""
        if not any(key in self._targets for one in candidates for key in (one.chunk_id, one.document_id)):
            return {}
        rules: dict[str, ManualRule] = {}
        for place in self._wordings.find_all(asked.text):
            rule = self._of_questions[place]
            if rule.holds(now):
                rules.setdefault(rule.target, rule)
        return rules

    def _rule(self, candidate: Candidate, now: float, own: Mapping[str, ManualRule]) -> ManualRule | None:
        """The question's own before those of every question, and the chunk's before its document's."""
        keys = (candidate.chunk_id, candidate.document_id)
        rules = (of.get(key) for of in (own, self._manual) for key in keys)
        return next((rule for rule in rules if rule and rule.holds(now)), None)

    def highest_similarity(self, asked: AskedQuestion) -> float:
        """To the most similar rated question, 0..1."""
        return float(self._similarities(asked).max(initial=0.0))

    def _query_boosts(self, similarities: Similarities, candidates: Sequence[Candidate]) -> dict[str, Boost]:
        """By chunk. Each rated question counts by its similarity, and by how far up its passage is found."""
        rated = [candidate.chunk_id for candidate in candidates if candidate.chunk_id in self._by_chunk]
        if not rated:
            return {}
        rows = np.concatenate([self._by_chunk[chunk_id] for chunk_id in rated])
        sizes = [len(self._by_chunk[chunk_id]) for chunk_id in rated]
        owner, starts = np.repeat(np.arange(len(rated)), sizes), np.cumsum([0, *sizes[:-1]])

        def sums(values: NDArray[np.floating]) -> Sums:
            return np.bincount(owner, values, len(rated)).astype(np.float64)

        similarity = similarities.of(self._question[rows]).astype(np.float64)
        if not similarity.any():
            return {}
        if self._further_down:
            normalized = normalized_scores(candidates)
            apart = any(normalized.values())  # else there is one, or all are found alike: none is further down
            own = np.asarray([normalized[chunk_id] if apart else 1.0 for chunk_id in rated])[owner]
            similarity = answers_too(similarity, own, bias=self._bias, further_down=self._further_down)
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

    def _similarities(self, asked: AskedQuestion) -> Floats:
        """To all rated questions, 0..1; of several spaces the highest counts."""
        if self._matched_from is not None:
            return self._matched(asked, self._matched_from)
        overlap, same_numbers = self._terms.compare(asked.terms)
        by_vectors: Floats | None = None
        for space, stored in self._vectors.items():
            if (vector := asked.vectors.get(space)) is not None:
                in_space = self._calibrated[space].by_vectors(_cosines(stored, vector))
                by_vectors = in_space if by_vectors is None else np.maximum(by_vectors, in_space)
        return self._similarity.combined(by_vectors, overlap, same_numbers)

    def _matched(self, asked: AskedQuestion, matched_from: float) -> Floats:
        """The probability that each wants the same answer as the asked one, 0 below `matched_from`.

        The nearest ones are compared closely, until one is set apart by a difference: what is further away is then
        rather another wording of that one, whose difference does not show in its words. What was decided in rounds
        carries the probability on: a question that wants the same as a matched one has the product of both, unless it
        is no nearer than the one that is set apart.
        """
        overlap = self._terms.compare(asked.terms)[0]
        cosine = np.full(len(overlap), np.nan, dtype=np.float32)
        for space, stored in self._vectors.items():
            if (vector := asked.vectors.get(space)) is not None:
                background = self._background[space]
                cosine = np.fmax(cosine, (_cosines(stored, vector) - background) / (1.0 - background))
        cosine = np.clip(cosine, 0.0, 1.0)
        score = np.where(overlap >= LEAST_OVERLAP, overlap, 0.0)
        score = np.fmax(score, np.where(cosine >= LEAST_COSINE, cosine, 0.0))
        similarity = np.zeros(len(overlap), dtype=np.float32)
        apart = 0.0  # the score of the nearest one that is set apart
        own = read_question(asked.text)
        likely_of: dict[int, float] = {}

        def likely(row: int) -> float:
            if row not in likely_of:
                near = None if np.isnan(cosine[row]) else float(cosine[row])
                other = read_question(self._texts[row])
                likely_of[row] = shipped_model().of_readings(own, other, cosine=near, common=self._common)
            return likely_of[row]

        near_rows = np.flatnonzero(score > 0.0)  # few of all, so sorting them takes no time
        for row in near_rows[np.argsort(-score[near_rows], kind="stable")[:MOST_MATCHED]].tolist():
            if likely(row) <= FORBIDDEN and difference(own, read_question(self._texts[row]), self._common):
                apart = float(score[row])
                break
            same = self._likely_by_wordings(row, asked, likely)
            similarity[row] = same if same >= matched_from else 0.0
        carries = np.flatnonzero(similarity[self._pair_from] > 0.0)
        to = self._pair_to[carries]
        carried = similarity[self._pair_from[carries]] * self._pair_same[carries]
        np.maximum.at(similarity, to, np.where((score[to] <= apart) & (apart > 0.0), 0.0, carried))
        return similarity

    def _likely_by_wordings(self, row: int, asked: AskedQuestion, likely: Callable[[int], float]) -> float:
        """Of one that was rated in several wordings: by how like the asked question is to all of them.

        A question that looks like one wording and asks something else is like that one alone; another wording of the
        same question is somewhat like each. In Chinese, where cosines say less in many embedding models, and without a
        cosine that was no gain: there each rated question counts by itself.
        """
        by_itself = likely(row)
        others = self._wordings_of.get(row, ()) if WORDINGS_COUNT_FROM <= by_itself < 1.0 else ()
        if not others or read_question(asked.text).han:
            return by_itself
        nearest = []
        for space, stored in self._vectors.items():
            vector, known = asked.vectors.get(space), stored[[row, *others]]
            known = known[~np.isnan(known[:, 0])]
            if vector is not None and len(known):
                nearest.append(above_background(_to_centre(known, vector), self._background[space]))
        if not nearest:
            return by_itself
        return of_wordings([likely(one) for one in (row, *others)], cosine=max(nearest))


def _to_centre(vectors: Floats, vector: Floats) -> float:
    """The cosine with the vectors' mean."""
    centre = vectors.mean(axis=0, dtype=np.float64)
    return float(centre @ vector / max(float(np.linalg.norm(centre)), 1e-9))


def _cosines(stored: Floats, vector: Floats) -> Floats:
    """Not `@`: BLAS may share so small a product out to threads, and wait for them longer than it takes."""
    return np.einsum("ij,j->i", stored, vector)


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
        if rule.question:
            origins.append(
                worded("hidden by staff for this question") if rule.hide else worded("set by staff for this question")
            )
        else:
            origins.append(worded("hidden by staff") if rule.hide else worded("set by staff"))
    return replace(boost, multiplier=multiplier, origin=joined("; ", origins), hide=bool(rule and rule.hide))


# ------------------------------------------------------------------------------------------------ for people
def _people(count: int) -> Sentence:
    return counted("{count} person", "{count} people", count)


def _query_origin(up: int, down: int) -> str:
    parts = [worded("{people} found this useful for similar questions", people=_people(up))] if up else []
    if down:
        parts.append(worded("{people} did not find this useful for similar questions", people=_people(down)))
    return joined("; ", parts) or worded("rated for questions that are somewhat similar")


def _document_origin(prior: DocumentPrior) -> str:
    people = _people(prior.raters_up + prior.raters_down)
    if prior.multiplier >= 1.0:
        return worded("its document is rated better than others, by {people}", people=people)
    return worded("its document is rated worse than others, by {people}", people=people)
