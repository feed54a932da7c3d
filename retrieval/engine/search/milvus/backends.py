"""What differs between the kinds of Milvus; `MilvusIndex` asks for it here, and is the same for all of them.

| | Milvus Lite 3 | Milvus Lite 2.5 | a server |
|---|---|---|---|
| written rows are kept | after a flush | at once | at once: a flush seals a segment, and is allowed every 10 s |
| name of a space | alias | the lowest generation | alias |
| tokenizer | standard | whitespace | whitespace |
| vectors | HNSW | FLAT | HNSW, or what the server chooses |
| partition key | one partition | none | by collection |
| long lists of ids | in the expression | in the expression | beside it |
| a search sees | everything | everything | everything where something changed just now, else as of seconds ago |
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, ClassVar

from ragsite.core.server_settings import MilvusSettings
from retrieval.engine.search.milvus.connection import MissingCollectionError, NotSupportedError
from retrieval.engine.search.milvus.filters import ListForm, Templates, spelled_out

HNSW_M = 16  # neighbours per node of the graph
HNSW_EF_CONSTRUCTION = 200  # candidates while building; more is slower and better
HNSW_EF = 128  # candidates while searching
SERVER_PARTITIONS = (
    16  # of the partition key, collection_id: each is written in segments of its own
)
Call = Callable[..., Awaitable[Any]]  # a method of the client by its name, and what it is given


class Backend:
    """A kind of Milvus. Methods that take a `call`, or a `change` for what writes, ask it; they raise
    IndexUnavailableError."""

    tokenizer: ClassVar[str]  # the one that leaves our terms as they are
    has_partition_key: ClassVar[bool] = True

    def __init__(self, settings: MilvusSettings) -> None:
        self.settings = settings

    # -------------------------------------------------------------------------------------------- making a collection
    def collection_options(self) -> dict[str, Any]:
        """For `create_collection`."""
        return {}

    def vector_index(self) -> dict[str, Any]:
        """For `add_index`, without the metric."""
        return {
            "index_type": "HNSW",
            "params": {"M": HNSW_M, "efConstruction": HNSW_EF_CONSTRUCTION},
        }

    def bm25_index(self, bm25: dict[str, float]) -> dict[str, Any]:
        return {"index_type": "SPARSE_INVERTED_INDEX", "params": dict(bm25)}

    def load_options(self) -> dict[str, Any]:
        """For `load_collection`."""
        return {}

    # -------------------------------------------------------------------------------------------- writing
    async def make_durable(self, change: Call, name: str) -> None:
        """After writes: on return they outlive a crash of the server."""

    # -------------------------------------------------------------------------------------------- searching
    def vector_search(self, limit: int) -> dict[str, Any]:
        """The index's own parameters of a search."""
        return {"ef": max(HNSW_EF, limit)}

    def consistency(self, *, fresh: bool) -> dict[str, Any]:
        """For `search`. fresh: it has to see what was written in the last seconds."""
        return {}

    def lists(self) -> tuple[ListForm, dict[str, list[str]]]:
        """How lists of identifiers stand in the next expression; and what is sent as `filter_params`, filled by it."""
        return spelled_out, {}

    # -------------------------------------------------------------------------------------------- names
    async def name_in_use(self, call: Call, alias: str) -> str:
        """What to ask for a space's rows. Raises MissingCollectionError where that shows before it is asked."""
        return alias

    async def generation_in_use(self, call: Call, alias: str) -> str:
        """Its Milvus collection, "" where there is none."""
        try:
            return str((await call("describe_alias", alias))["collection_name"])
        except MissingCollectionError:
            return ""

    async def put_in_use(self, call: Call, change: Call, alias: str, name: str) -> None:
        """From now on searches see the collection `name`. Those before it are dropped by the caller, afterwards."""
        current = await self.generation_in_use(call, alias)
        if current != name:
            await change("alter_alias" if current else "create_alias", name, alias)

    async def take_out_of_use(self, change: Call, alias: str) -> None:
        """Before all its collections are dropped."""
        try:
            await change("drop_alias", alias)
        except MissingCollectionError:
            return


class Lite(Backend):
    """Milvus Lite 3. It has no `whitespace` tokenizer, and its searches cost per segment: more partitions only slow
    them down."""

    tokenizer = "standard"

    def collection_options(self) -> dict[str, Any]:
        return {"num_partitions": 1}

    def vector_index(self) -> dict[str, Any]:
        return _in_one_field(super().vector_index())

    def bm25_index(self, bm25: dict[str, float]) -> dict[str, Any]:
        return _in_one_field(super().bm25_index(bm25))

    async def make_durable(self, change: Call, name: str) -> None:
        await change("flush", name, slow=True)


def _in_one_field(options: dict[str, Any]) -> dict[str, Any]:
    """pymilvus 3 sends each parameter of an index as a field of its own, as servers take them; Milvus Lite reads them
    from one field `params` alone, and would go on with its defaults (BM25: k1 1.5, b 0.75) without a word."""
    return {**options, "params": {"params": options["params"]}}


class NativeLite(Backend):
    """Milvus Lite 2.5, the former one in C++: no aliases, no partition key, no HNSW, no version."""

    tokenizer = "whitespace"
    has_partition_key = False

    def vector_index(self) -> dict[str, Any]:
        return {"index_type": "FLAT"}

    def vector_search(self, limit: int) -> dict[str, Any]:
        return {}

    async def name_in_use(self, call: Call, alias: str) -> str:
        if name := await self.generation_in_use(call, alias):
            return name
        raise MissingCollectionError(alias)

    async def generation_in_use(self, call: Call, alias: str) -> str:
        """The lowest: a higher one is being filled, and comes into use when the one before it is dropped."""
        names = generations(await call("list_collections"), alias)
        return names[0] if names else ""

    async def put_in_use(self, call: Call, change: Call, alias: str, name: str) -> None:
        for lower in generations(await call("list_collections"), alias):
            if generation_number(lower) < generation_number(name):
                await change("drop_collection", lower)

    async def take_out_of_use(self, change: Call, alias: str) -> None:
        """There is no alias."""


class Server(Backend):
    """Milvus Standalone, Distributed, and services that speak its protocol."""

    tokenizer = "whitespace"

    def collection_options(self) -> dict[str, Any]:
        return {"num_partitions": SERVER_PARTITIONS}

    def vector_index(self) -> dict[str, Any]:
        return (
            {"index_type": "AUTOINDEX"} if self.settings.index == "auto" else super().vector_index()
        )

    def vector_search(self, limit: int) -> dict[str, Any]:
        return {} if self.settings.index == "auto" else super().vector_search(limit)

    def load_options(self) -> dict[str, Any]:
        return {"replica_number": self.settings.replicas}

    def consistency(self, *, fresh: bool) -> dict[str, Any]:
        return {"consistency_level": "Strong" if fresh else "Bounded"}

    def lists(self) -> tuple[ListForm, dict[str, list[str]]]:
        templates = Templates()
        return templates, templates.values


def generations(names: Iterable[str], alias: str) -> list[str]:
    """The Milvus collections of a space, in the order in which they were made."""
    return sorted(
        (name for name in names if re.fullmatch(f"{re.escape(alias)}_g[0-9]+", name)),
        key=generation_number,
    )


def generation_number(name: str) -> int:
    return int(name.rpartition("_g")[2])


async def find_backend(call: Call, settings: MilvusSettings) -> Backend:
    """Of the server that is there, by what it says of itself. Raises IndexUnavailableError."""
    try:
        version = str(await call("get_server_version"))
    except NotSupportedError:
        return NativeLite(settings)
    return Lite(settings) if "lite" in version else Server(settings)
