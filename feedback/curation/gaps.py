"""Knowledge gaps: questions that were not answered well, put together by what they are about. Pure, no model needed.

    questions ─► same analysed terms ─► the most asked first ─► joins the nearest cluster, or begins one

Two questions are near by the cosine of their distinct terms, each weighed by its rarity among the questions of the
collection, or by the cosine of their embeddings where both have one. A cluster is known by its most asked question
and does not drift from it ("leader" clustering: Hartigan, Clustering Algorithms, 1975, ch. 3), so the same questions
give the same clusters in whatever order they come.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from retrieval.text.analysis import query_terms

EXAMPLES = 5
SHOWN_TERMS = 6
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A question that was not answered well. collection: empty where it was asked of all that the user may read.

    reasons: out of no_answer, badly_rated and failed. terms: distinct, as the index holds them: Chinese by bigrams too,
    for short questions often share no whole word. words: those to show. vectors: of unit length, by the name of their
    space. message: the id of the answer.
    """

    text: str
    collection: str
    reasons: frozenset[str]
    asker: int
    at: datetime
    terms: tuple[str, ...]
    words: tuple[str, ...] = ()
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    message: UUID | None = None

    @property
    def key(self) -> str:
        """The same for questions that differ in case, punctuation, stop words, endings and order alone."""
        return " ".join(sorted(self.terms)) or "text:" + " ".join(self.text.casefold().split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A cluster. question: the one that was asked most. terms: the words that at least half of its wordings hold, the
    rarest first, as people write them.

    count: questions in all; no_answer, badly_rated, failed: of these, one may be two of them. people: distinct askers.
    """

    id: str
    collection: str
    question: str
    terms: tuple[str, ...]
    count: int
    people: int
    no_answer: int
    badly_rated: int
    failed: int
    examples: tuple[str, ...]
    first_seen: datetime
    last_seen: datetime

    def as_dict(self) -> dict[str, Any]:
        """As the API and the exports give it."""
        values = {name: getattr(self, name) for name in self.__slots__}
        times = {name: values[name].isoformat().replace("+00:00", "Z") for name in ("first_seen", "last_seen")}
        return {**values, **times, "terms": list(self.terms), "examples": list(self.examples)}


@dataclass(slots=True)
class _Wording:
    """All questions of one key."""

    key: str
    asked: list[Unanswered]
    terms: tuple[str, ...]

    @property
    def vectors(self) -> Mapping[str, Vector]:
        return next((question.vectors for question in self.asked if question.vectors), {})


def find_gaps(asked: Iterable[Unanswered], *, overlap: float, cosine: float) -> list[Gap]:
    """The most asked first, then the latest. overlap, cosine: 0..1, from which two questions are about the same."""
    return [gap for gap, _ in find_clusters(asked, overlap=overlap, cosine=cosine)]


def find_clusters(
    asked: Iterable[Unanswered], *, overlap: float, cosine: float
) -> list[tuple[Gap, tuple[Unanswered, ...]]]:
    """As `find_gaps`, each with its questions, those of the wording that it is known by first."""
    by_collection: dict[str, list[Unanswered]] = defaultdict(list)
    for question in asked:
        by_collection[question.collection].append(question)
    found = []
    for collection, questions in sorted(by_collection.items()):
        wordings = _wordings(questions)
        held = Counter(term for wording in wordings for term in wording.terms)
        rarity = {term: math.log(1.0 + len(wordings) / count) for term, count in held.items()}
        clusters = _Leaders(rarity, overlap=overlap, cosine=cosine)
        for wording in wordings:
            clusters.place(wording)
        found += [
            (_gap(collection, members, rarity), tuple(one for wording in members for one in wording.asked))
            for members in clusters.members
        ]
    return sorted(found, key=lambda one: (-one[0].count, -one[0].last_seen.timestamp(), one[0].collection, one[0].id))


def _wordings(asked: Sequence[Unanswered]) -> list[_Wording]:
    """The most asked first."""
    by_key: dict[str, list[Unanswered]] = defaultdict(list)
    for question in asked:
        by_key[question.key].append(question)
    wordings = [
        _Wording(
            key,
            sorted(questions, key=lambda question: (question.at, question.text)),
            tuple(sorted(set(questions[0].terms))),
        )
        for key, questions in by_key.items()
    ]
    return sorted(wordings, key=lambda wording: (-len(wording.asked), -len(wording.terms), wording.key))


class _Leaders:
    """Clusters by their first member. members: of each cluster, in the order in which they joined."""

    def __init__(self, rarity: Mapping[str, float], *, overlap: float, cosine: float) -> None:
        self.members: list[list[_Wording]] = []
        self._rarity = rarity
        self._overlap = overlap
        self._cosine = cosine
        self._terms: list[frozenset[str]] = []
        self._norms: list[float] = []
        self._holding: dict[str, list[int]] = defaultdict(list)  # term → clusters
        self._spaces: dict[str, _Vectors] = {}

    def place(self, wording: _Wording) -> None:
        nearest = self._nearest(wording)
        if nearest is not None:
            self.members[nearest].append(wording)
            return
        number = len(self.members)
        self.members.append([wording])
        self._terms.append(frozenset(wording.terms))
        self._norms.append(self._norm(wording.terms))
        for term in wording.terms:
            self._holding[term].append(number)
        for space, vector in wording.vectors.items():
            self._spaces.setdefault(space, _Vectors(len(vector))).add(number, vector)

    def _nearest(self, wording: _Wording) -> int | None:
        """The cluster that is furthest beyond its threshold; of equals the first."""
        ratio = {number: similarity / self._overlap for number, similarity in self._by_terms(wording.terms)}
        for space, vector in wording.vectors.items():
            if space in self._spaces:
                number, similarity = self._spaces[space].nearest(vector)
                ratio[number] = max(ratio.get(number, 0.0), similarity / self._cosine)
        best = max(ratio, key=lambda number: (ratio[number], -number), default=None)
        return best if best is not None and ratio[best] >= 1.0 else None

    def _by_terms(self, terms: Sequence[str]) -> list[tuple[int, float]]:
        """Only clusters that share one of the rarest terms are looked at: by the inequality of Cauchy and Schwarz the
        others alone can't reach the threshold."""
        norm = self._norm(terms)
        rest = norm**2
        candidates: set[int] = set()
        for term in sorted(terms, key=lambda term: (-self._rarity[term], term)):
            if math.sqrt(max(0.0, rest)) < self._overlap * norm - 1e-9:
                break
            candidates.update(self._holding.get(term, ()))
            rest -= self._rarity[term] ** 2
        own = frozenset(terms)
        return [
            (number, sum(self._rarity[term] ** 2 for term in own & self._terms[number]) / (norm * self._norms[number]))
            for number in candidates
        ]

    def _norm(self, terms: Iterable[str]) -> float:
        return math.sqrt(sum(self._rarity[term] ** 2 for term in terms))


class _Vectors:
    """The leaders' vectors of one space, in an array that grows by doubling."""

    def __init__(self, dim: int) -> None:
        self._rows: Vector = np.zeros((16, dim), dtype=np.float32)
        self._clusters: list[int] = []

    def add(self, cluster: int, vector: Vector) -> None:
        if len(self._clusters) == len(self._rows):
            self._rows = np.concatenate((self._rows, np.zeros_like(self._rows)))
        self._rows[len(self._clusters)] = vector
        self._clusters.append(cluster)

    def nearest(self, vector: Vector) -> tuple[int, float]:
        similarities = self._rows[: len(self._clusters)] @ vector
        best = int(np.argmax(similarities))
        return self._clusters[best], float(similarities[best])


def _as_written(terms: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    """Stems as the first of the texts that holds them writes them: undergraduate for undergradu."""
    written: dict[str, str] = {}
    for text in texts:
        for word in _WORD.findall(text):
            if len(made_of := query_terms(word)) == 1:
                written.setdefault(made_of[0], word.casefold())
    return tuple(dict.fromkeys(written.get(term, term) for term in terms))


def _gap(collection: str, members: Sequence[_Wording], rarity: Mapping[str, float]) -> Gap:
    asked = [question for wording in members for question in wording.asked]
    reasons = Counter(reason for question in asked for reason in question.reasons)
    held = Counter(word for wording in members for word in set(wording.asked[0].words))
    shared = [word for word, count in held.items() if count * 2 >= len(members)]
    latest = [wording.asked[-1].text for wording in members]
    return Gap(
        id=hashlib.blake2b(
            f"{collection}\n{members[0].key}".encode("utf-8", "surrogatepass"), digest_size=8
        ).hexdigest(),
        collection=collection,
        question=members[0].asked[-1].text,
        terms=_as_written(sorted(shared, key=lambda word: (-rarity.get(word, 0.0), word))[:SHOWN_TERMS], latest),
        count=len(asked),
        people=len({question.asker for question in asked}),
        no_answer=reasons["no_answer"],
        badly_rated=reasons["badly_rated"],
        failed=reasons["failed"],
        examples=tuple(dict.fromkeys([*latest, *(question.text for question in asked)]))[:EXAMPLES],
        first_seen=min(question.at for question in asked),
        last_seen=max(question.at for question in asked),
    )
