"""What a search may see."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

FRESH_FOR = timedelta(
    seconds=10
)  # longer than a server's view of its data may lag, and clocks differ


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Vectors that may be compared with each other: one model, one dimension. One Milvus collection holds one space."""

    model: str
    dim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionRef:
    """A collection that the asking user may read."""

    id: str
    name: str
    space: EmbeddingSpace | None  # None: nothing has been ingested yet
    version: int = 0  # grows with every change of its documents: the index state in cache keys
    documents: int = 0  # that a search looks into
    being_read: int = 0  # that it does not look into yet
    attached: bool = False  # to the conversation: "this document" means one of it
    own: bool = False  # the asking user's: of passages that fit alike, these come first
    changed_at: datetime | None = field(
        default=None, repr=False, compare=False
    )  # None: perhaps just now

    @property
    def is_fresh(self) -> bool:
        """Its documents may have changed within the last seconds."""
        return self.changed_at is None or datetime.now(UTC) < self.changed_at + FRESH_FOR


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What a search may see: made by `retrieval.knowledge.scopes.scope_for`, the only place that decides
    permission."""

    collections: tuple[CollectionRef, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(ref.id for ref in self.collections)

    @property
    def documents(self) -> int:
        """How many a search looks into."""
        return sum(ref.documents for ref in self.collections)

    @property
    def being_read(self) -> int:
        """How many it does not look into yet. Files of a conversation do not count: its questions wait for them."""
        return sum(ref.being_read for ref in self.collections if not ref.attached)

    def beside(self, other: SearchScope) -> SearchScope:
        """Both of them; of a collection that is in both, the state that `other` knows."""
        known = {ref.id for ref in other.collections}
        return SearchScope(
            (
                *(ref for ref in self.collections if ref.id not in known),
                *other.collections,
            )
        )
