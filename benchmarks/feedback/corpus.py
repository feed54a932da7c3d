"""A collection that changes while it is rated, and what its search finds: the engine's formula, both legs in memory.

Every passage has a slot. Halfway through, some documents are read anew (same text, new id) and some are rewritten: what
answered is in another document then, and the old one has another text. A slot's passage is what votes belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
from numpy.typing import NDArray

from benchmarks.feedback.bm25 import Bm25
from retrieval.engine.search import hybrid
from retrieval.engine.search.fusion import best_first, zscore_sum
from retrieval.engine.text.analysis import query_terms
from retrieval.engine.text.same_question import Wording, wording
from retrieval.engine.values import Scores, TailHit

WINDOW = 150
TOP = 10
Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question in some wording. relevant: the passages (not slots) that answer it, before anything changed."""

    text: str
    vector: Vector
    relevant: frozenset[int]


@cache
def document_id(number: int) -> UUID:
    return uuid5(NAMESPACE_URL, str(number))


@cache
def terms_of(text: str) -> tuple[str, ...]:
    return tuple(query_terms(text))


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Slots, by old slot. moved: the same text under a new id. rewritten: (another text, same document); what it said
    before is in `elsewhere`, in another document."""

    moved: Mapping[int, int] = field(default_factory=dict)
    rewritten: Mapping[int, int] = field(default_factory=dict)
    elsewhere: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def passage_of_moved(self) -> dict[int, int]:
        return {new: old for old, new in self.moved.items()}

    @property
    def gone(self) -> list[int]:
        return [*self.moved, *self.rewritten]

    @property
    def new(self) -> list[int]:
        return [*self.moved.values(), *self.rewritten.values(), *self.elsewhere.values()]


@dataclass(slots=True)
class Corpus:
    """vectors: shape (slots, dim), unit length. documents: each slot's.

    embed: of further questions. changed: after the drift.
    """

    bm25: Bm25
    vectors: Vector
    documents: list[int]
    drift: Drift
    embed: Callable[[Sequence[str]], Mapping[str, Vector]]
    changed: bool = False
    _bm25: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    _found: dict[tuple[str, bool], tuple[TailHit, ...]] = field(default_factory=dict)

    def question(self, asked: Asked) -> Wording:
        return wording(asked.text, asked.vector)

    def asked(self, texts: Sequence[str]) -> list[Asked]:
        """Questions of which nobody knows what answers them."""
        vectors = self.embed(texts)
        return [Asked(text=text, vector=vectors[text], relevant=frozenset()) for text in texts]

    def relevant(self, asked: Asked) -> frozenset[int]:
        """The slots that answer now."""
        if not self.changed:
            return asked.relevant
        now = {**self.drift.moved, **self.drift.elsewhere}
        return frozenset(now.get(slot, slot) for slot in asked.relevant)

    def passage(self, slot: int) -> int:
        """What votes on a slot belong to: a text under a new id is the same passage."""
        return self.drift.passage_of_moved.get(slot, slot)

    def chunk_of(self, passages: Iterable[int]) -> dict[int, str]:
        """The chunk that holds each passage now; passages whose text is gone are left out."""
        held = {}
        for passage in passages:
            slot = self.drift.moved.get(passage, passage) if self.changed else passage
            if not (self.changed and passage in self.drift.rewritten):
                held[passage] = str(slot)
        return held

    def search(self, asked: Asked, moved: Vector | None = None) -> tuple[TailHit, ...]:
        """The engine's default formula over the first WINDOW of both legs. moved: takes the place of the question's
        vector in the dense leg."""
        key = (asked.text, self.changed)
        if moved is None and key in self._found:
            return self._found[key]
        if asked.text not in self._bm25:
            self._bm25[asked.text] = self.bm25.score(terms_of(asked.text))
        hidden = self.drift.gone if self.changed else self.drift.new
        bm25 = self._bm25[asked.text].copy()
        cosine = self.vectors @ (asked.vector if moved is None else moved)
        bm25[hidden] = 0.0
        cosine[hidden] = -1.0
        text_leg = {
            str(at): float(bm25[at])
            for at in np.argsort(-bm25, kind="stable")[:WINDOW]
            if bm25[at] > 0
        }
        nearest = np.argsort(-cosine, kind="stable")[: min(WINDOW, len(cosine) - len(hidden))]
        dense_leg = {str(at): float(cosine[at]) for at in nearest}
        fused = zscore_sum(dense_leg, text_leg)
        found = tuple(
            TailHit(
                chunk_id=slot,
                document_id=str(document_id(self.documents[int(slot)])),
                scores=Scores(
                    fused=fused[slot], dense=dense_leg.get(slot), bm25=text_leg.get(slot)
                ),
            )
            for slot in best_first(fused)[: hybrid.BOOST_WINDOW]
        )
        if moved is None:
            self._found[key] = found
        return found
