"""What a search's legs have found, in one embedding space or in several."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retrieval.engine.ports import LegHit
from retrieval.engine.search.fusion import best_first, rrf_scores
from retrieval.engine.values import Scores, TailHit


class Timings(dict[str, float]):
    """Wall time per stage in ms; stages that run in several spaces at once count the longest."""

    def add(self, stage: str, begun: float) -> None:
        self[stage] = max(self.get(stage, 0.0), round((time.perf_counter() - begun) * 1000, 2))


@dataclass(slots=True)
class Found:
    """What the legs of one or several embedding spaces found.

    fused: score by chunk id. dense, bm25: the best of any group, bm25 on the scale of one query. ranks: by leg, from 1.
    """

    fused: Mapping[str, float] = field(default_factory=dict)
    dense: dict[str, float] = field(default_factory=dict)
    bm25: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)
    document_of: dict[str, str] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    notes: dict[str, object] = field(default_factory=dict)

    def add_leg(
        self, label: str, hits: Sequence[LegHit], best: dict[str, float], *, scale: float = 1.0
    ) -> None:
        for rank, hit in enumerate(hits, start=1):
            self.ranks.setdefault(hit.chunk_id, {})[label] = rank
            self.document_of[hit.chunk_id] = hit.document_id
            best[hit.chunk_id] = max(hit.score / scale, best.get(hit.chunk_id, hit.score / scale))

    def tail_hit(self, chunk_id: str) -> TailHit:
        fused = self.fused[chunk_id]
        scores = Scores(
            dense=self.dense.get(chunk_id), bm25=self.bm25.get(chunk_id), fused=fused, final=fused
        )
        return TailHit(
            chunk_id=chunk_id,
            document_id=self.document_of[chunk_id],
            scores=scores,
            ranks=self.ranks.get(chunk_id, {}),
        )


def joined_spaces(results: Sequence[Found]) -> Found:
    """Of several spaces, whose chunks are distinct."""
    joined = Found(fused=rrf_scores([best_first(found.fused) for found in results]))
    for found in results:
        for name in ("dense", "bm25", "ranks", "document_of", "notes"):
            getattr(joined, name).update(getattr(found, name))
        joined.degraded = tuple(dict.fromkeys((*joined.degraded, *found.degraded)))
    return joined
