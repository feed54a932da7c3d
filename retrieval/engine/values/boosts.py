"""What ratings, or staff, make of chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkBoost:
    """What ratings, or staff, make of a chunk. multiplier: 0.2 … 5. origin: why, for people. hide: not shown."""

    multiplier: float = 1.0
    origin: str = ""
    hide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosts:
    """by_chunk: what is not there is not boosted. revision: of the boosts. degraded: the reason why only a part of
    them could be used."""

    by_chunk: Mapping[str, ChunkBoost] = field(default_factory=dict)
    revision: str = ""
    degraded: str = ""
