"""All boosts of a revision: as bytes in its row, and in memory as searches use them. Pure, without Django.

A search sees one `Snapshot` from its beginning to its end, so a switch of revisions never mixes two.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.boosts import QueryTallies, query_multiplier
from feedback.ranking.kernel import Kernel, TermIndex
from retrieval.values import Boost, Boosts, EmbeddingSpace

VERSION = 1
FULL_VOTES = 3.0
CLEARLY_NEAR = 0.3  # of a rated question: its raters are named in the audit trail from here on
SAME_QUESTION = 0.5  # nearness from which what was found for the one question counts for the other
FOUND_ELSEWHERE = "found for the same question in other words, where its ratings are even"
SAME_FOR_PEOPLE = 0.005  # a multiplier this near to 1 is no boost
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
    """What a revision does. `parameters`: full_votes, and the kernel's thresholds."""

    queries: QueryTallies
    documents: Mapping[UUID, DocumentPrior]
    parameters: Mapping[str, float]

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
            standing=rows.standing.astype(np.float32),
            document=np.frombuffer(b"".join(one.bytes for one in ids), dtype=np.uint8).reshape(-1, 16),
            prior=np.asarray([one.multiplier for one in priors], dtype=np.float32),
            prior_raters=np.asarray([(one.raters_up, one.raters_down) for one in priors], dtype=np.uint32),
            parameters=np.frombuffer(json.dumps(dict(self.parameters)).encode(), dtype=np.uint8),
        )
        return buffer.getvalue()

    @classmethod
    def decode(cls, data: bytes) -> Content:
        """Raises ValueError for what another version has written."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            if stored["version"].tolist() != [VERSION]:
                raise ValueError(f"a revision of format {stored['version'].tolist()}, this program reads {VERSION}")
            votes, raters = stored["votes"].astype(np.float64), stored["raters"].astype(np.int64)
            queries = QueryTallies(
                question=stored["question"],
                passage=stored["passage"],
                up=votes[:, 0],
                down=votes[:, 1],
                raters_up=raters[:, 0],
                raters_down=raters[:, 1],
                standing=stored["standing"].astype(np.float64) if "standing" in stored else np.full(len(votes), np.nan),
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
        return cls(queries=queries, documents=documents, parameters=parameters)

    @classmethod
    def empty(cls, parameters: Mapping[str, float]) -> Content:
        none, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        tallies = QueryTallies(
            question=none, passage=none, up=nothing, down=nothing, raters_up=none, raters_down=none, standing=nothing
        )
        return cls(queries=tallies, documents={}, parameters=parameters)

    def multipliers(self) -> NDArray[np.float64]:
        """Of each query-scoped row, for its very question."""
        return query_multiplier(self.queries.up, self.queries.down, full_votes=full_votes_of(self.parameters))

    def digest(self) -> str:
        """Of what it does, to two decimals: the same for two rounds that differ only by a day's decay."""
        told = hashlib.sha256(json.dumps(dict(sorted(self.parameters.items()))).encode())
        for column in (self.queries.question, self.queries.passage, np.round(self.multipliers(), 2)):
            told.update(np.ascontiguousarray(column).tobytes())
        for document, prior in sorted(self.documents.items()):
            told.update(document.bytes + f"{prior.multiplier:.2f}".encode())
        return told.hexdigest()


def full_votes_of(parameters: Mapping[str, float]) -> float:
    """Revisions from before it was kept are read by today's."""
    return float(parameters.get("full_votes", FULL_VOTES))


def make_kernel(parameters: Mapping[str, float]) -> Kernel:
    names = ("cosine_from", "cosine_full", "overlap_from", "overlap_full")
    return Kernel(**{name: parameters[name] for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualRule:
    """A boost by hand. expires_at: seconds since 1970-01-01, None: never."""

    multiplier: float
    hide: bool
    expires_at: float | None
    why: str = ""

    def holds(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedQuestions:
    """The questions of a revision's rows. vectors: by space, float32, shape (questions, dim); NaN rows: none there."""

    ids: Ints
    terms: Sequence[Sequence[str]]
    vectors: Mapping[EmbeddingSpace, Floats] = field(default_factory=dict)


class Snapshot:
    """A revision, ready to be asked. Never changes once it is made."""

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
        """chunk_of: the chunk in which each passage stands now; rows of other passages are left out. manual: by the id
        of a chunk or document.
        """
        self.revision = revision
        self.version = version
        self._full_votes = full_votes_of(content.parameters)
        self._kernel = make_kernel(content.parameters)
        self._documents = {str(document): prior for document, prior in content.documents.items()}
        self._manual = dict(manual or {})
        self._terms = TermIndex(questions.terms)
        self._vectors = questions.vectors
        self._kernels = {space: self._kernel.calibrated(stored) for space, stored in questions.vectors.items()}
        self._rows = _placed(content.queries, questions.ids, chunk_of)
        self._question = np.searchsorted(questions.ids, self._rows.question)
        self._by_chunk = _rows_by_chunk(self._rows, chunk_of)

    @property
    def is_empty(self) -> bool:
        return not (self._by_chunk or self._documents or self._manual)

    @property
    def spaces(self) -> tuple[EmbeddingSpace, ...]:
        """In which a question has to be embedded to be compared."""
        return tuple(self._vectors)

    def has_seen(self, chunk_id: str) -> bool:
        return chunk_id in self._by_chunk

    def touches(self, candidates: Sequence[Candidate]) -> bool:
        """Whether any candidate has query-scoped evidence, so that the question's vector is needed."""
        return any(candidate.chunk_id in self._by_chunk for candidate in candidates)

    def boosts(
        self,
        terms: Sequence[str],
        vectors: Mapping[EmbeddingSpace, Floats],
        candidates: Sequence[Candidate],
        *,
        now: float = 0.0,
    ) -> Boosts:
        """What ratings make of these candidates for a question with these terms and vectors."""
        found = self._query_scoped(terms, vectors, candidates)
        by_chunk: dict[str, Boost] = {}
        for candidate in candidates:
            boost = found.get(candidate.chunk_id)
            prior, rule = self._documents.get(candidate.document_id), self._rule(candidate, now)
            if prior or rule:
                boost = _joined(boost or Boost(), prior, rule)
            if boost and (boost.hide or boost.alike or abs(boost.multiplier - 1.0) >= SAME_FOR_PEOPLE):
                by_chunk[candidate.chunk_id] = boost
        return Boosts(by_chunk=by_chunk, revision=self.revision)

    def _rule(self, candidate: Candidate, now: float) -> ManualRule | None:
        """The passage's own before its document's."""
        if not self._manual:
            return None
        rules = (self._manual.get(key) for key in (candidate.chunk_id, candidate.document_id))
        return next((rule for rule in rules if rule and rule.holds(now)), None)

    def nearest(self, terms: Sequence[str], vectors: Mapping[EmbeddingSpace, Floats]) -> float:
        """How near the nearest rated question is, 0..1."""
        everyone = np.arange(len(self._terms), dtype=np.int64)
        return float(self._nearness(terms, vectors, everyone).max(initial=0.0))

    def _query_scoped(
        self, terms: Sequence[str], vectors: Mapping[EmbeddingSpace, Floats], candidates: Sequence[Candidate]
    ) -> dict[str, Boost]:
        rows_of = [self._by_chunk.get(one.chunk_id) for one in candidates]
        touched = [(at, rows) for at, rows in enumerate(rows_of) if rows is not None]
        if not touched:
            return {}
        rows = np.concatenate([found for _, found in touched])
        owner = np.repeat(np.arange(len(touched)), [len(found) for _, found in touched])
        questions, back = np.unique(self._question[rows], return_inverse=True)
        near = self._nearness(terms, vectors, questions)[back]
        multipliers = query_multiplier(
            _sums(near * self._rows.up[rows], owner, len(touched)),
            _sums(near * self._rows.down[rows], owner, len(touched)),
            full_votes=self._full_votes,
        )
        standing, alike = self._standings(rows, near, owner, len(touched))
        starts = np.searchsorted(owner, np.arange(len(touched)))  # `owner` is in order, and each has rows
        clear = near >= CLEARLY_NEAR
        raters_up = np.maximum.reduceat(np.where(clear, self._rows.raters_up[rows], 0), starts).tolist()
        raters_down = np.maximum.reduceat(np.where(clear, self._rows.raters_down[rows], 0), starts).tolist()
        moved = np.abs(multipliers - 1.0) >= SAME_FOR_PEOPLE
        result: dict[str, Boost] = {}
        for place in np.flatnonzero(moved | (alike > 0.0)).tolist():
            told = _query_origins(raters_up[place], raters_down[place]) if moved[place] else [FOUND_ELSEWHERE]
            result[candidates[touched[place][0]].chunk_id] = Boost(
                multiplier=float(multipliers[place]) if moved[place] else 1.0,
                origin="; ".join(told),
                standing=float(standing[place]),
                alike=float(alike[place]),
            )
        return result

    def _standings(self, rows: Ints, near: Floats, owner: Ints, count: int) -> tuple[Sums, Sums]:
        """Of each candidate: its mean standing for rated questions that ask the same, and how many those are."""
        known = self._rows.standing[rows]
        same = np.where((near >= SAME_QUESTION) & ~np.isnan(known), near, 0.0)
        alike = _sums(same, owner, count)
        total = _sums(same * np.nan_to_num(known), owner, count)
        return np.divide(total, alike, out=np.zeros(count), where=alike > 0), alike

    def _nearness(self, terms: Sequence[str], vectors: Mapping[EmbeddingSpace, Floats], questions: Ints) -> Floats:
        overlap, same_numbers = self._terms.compare(terms)
        meaning: Floats | None = None
        for space, stored in self._vectors.items():
            if (vector := vectors.get(space)) is not None:
                # Not `@`: BLAS may share so small a product out to threads, and wait for them longer than it takes.
                one = self._kernels[space].meaning(np.einsum("ij,j->i", stored[questions], vector))
                meaning = one if meaning is None else np.maximum(meaning, one)
        return self._kernel.nearness(meaning, overlap[questions], same_numbers[questions])


def _joined(boost: Boost, prior: DocumentPrior | None, rule: ManualRule | None) -> Boost:
    multiplier, origins = boost.multiplier, [boost.origin] if boost.origin else []
    if prior:
        multiplier *= prior.multiplier
        origins.append(_document_origin(prior))
    if rule:
        multiplier *= rule.multiplier
        origins.append("hidden by staff" if rule.hide else "set by staff")
    return replace(boost, multiplier=multiplier, origin="; ".join(origins), hide=bool(rule and rule.hide))


def _sums(values: NDArray[np.floating], owner: Ints, count: int) -> Sums:
    return np.bincount(owner, values, count).astype(np.float64)


def _placed(rows: QueryTallies, questions: Ints, chunk_of: Mapping[int, str]) -> QueryTallies:
    """Without the rows whose question or passage is gone."""
    here = np.isin(rows.question, questions)
    here &= np.isin(rows.passage, np.fromiter(chunk_of, dtype=np.int64, count=len(chunk_of)))
    return rows.where(here)


def _rows_by_chunk(rows: QueryTallies, chunk_of: Mapping[int, str]) -> dict[str, Ints]:
    if not len(rows):
        return {}
    order = np.argsort(rows.passage, kind="stable")
    passages, starts = np.unique(rows.passage[order], return_index=True)
    by_chunk: dict[str, Ints] = {}
    for passage, found in zip(passages.tolist(), np.split(order, starts[1:]), strict=True):
        chunk_id = chunk_of[passage]
        by_chunk[chunk_id] = np.concatenate((by_chunk[chunk_id], found)) if chunk_id in by_chunk else found
    return by_chunk


# ------------------------------------------------------------------------------------------------ in words
def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


def _query_origins(up: int, down: int) -> list[str]:
    told = []
    if up:
        told.append(f"{_people(up)} found this useful for similar questions")
    if down:
        told.append(f"{_people(down)} did not find this useful for similar questions")
    return told or ["rated for questions that are somewhat similar"]


def _document_origin(prior: DocumentPrior) -> str:
    way = "better" if prior.multiplier >= 1.0 else "worse"
    return f"its document is rated {way} than others, by {_people(prior.raters_up + prior.raters_down)}"
