"""The vector index on Milvus: filters, the schema, and `MilvusIndex`, which writes, searches and rebuilds.

One Milvus collection per embedding space, reached through an alias (`ragsite_<model>_<dim>_<hash>` → `…_g1`), so that a
rebuild fills the next generation beside it and swaps. Every write is made by one writer at a time and ends with a
flush: Milvus Lite loses the acknowledged rows of concurrent writers when it is killed. Lite and a server are asked
alike; they differ in `backend_options` and in the sign of BM25.

No user text can change a filter expression. Metadata values are percent-encoded on their way into the index and into an
expression: what reaches Milvus consists of ASCII letters, digits, spaces and `%-._~`, so there is no quote, backslash
or line break to escape, and the same expression means the same to every backend. (Filter templates would do it on a
server; Milvus Lite has none.) Identifiers are ours and are refused if they are anything but letters, digits and `-_.:`.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ragsite.core.rag_settings import MilvusSettings
from retrieval.engine.errors import SpaceMissingError
from retrieval.engine.ports import LegHit, Vectors
from retrieval.engine.search import connection
from retrieval.engine.search.connection import MilvusConnection, MissingCollectionError
from retrieval.engine.values import SUMMARY_SEQ, EmbeddingSpace, IndexRow, Level, SearchFilters, Vocabulary

# ------------------------------------------------------------------------------------------------ filters
MAX_ENCODED_CHARS = 480
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:\-]{1,100}")


def encode_value(value: str) -> str:
    """One-to-one for values of a usual length; longer ones by their beginning and their SHA-256."""
    encoded = quote(value, safe=" ", errors="surrogatepass")
    if len(encoded) <= MAX_ENCODED_CHARS:
        return encoded
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{encoded[:100]}~{digest}"


def identifier(value: str) -> str:
    """The identifier as a literal. Raises ValueError for anything that is not one."""
    if not _IDENTIFIER.fullmatch(value):
        raise ValueError(f"not an identifier: {value[:50]!r}")
    return f'"{value}"'


def in_collections(collection_ids: Sequence[str], filters: SearchFilters | None = None) -> str:
    """The permission clause and, with it, the metadata filters. Raises ValueError without any collection."""
    if not collection_ids:
        raise ValueError("a search without collections must not reach the index")
    if not filters:
        return any_of("collection_id", collection_ids)
    if filters.documents:
        named = any_of("document_id", filters.documents)
        return f"{in_collections(collection_ids, replace(filters, documents=()))} and {named}"
    spared = [key for key in collection_ids if key in filters.spared]
    filtered = [key for key in collection_ids if key not in filters.spared]
    if not filtered:
        return any_of("collection_id", spared)
    clause = " and ".join([any_of("collection_id", filtered), *_metadata_clauses(filters)])
    return f"(({clause}) or {any_of('collection_id', spared)})" if spared else clause


def rows_of(level: Level) -> str:
    """Which rows: chunks, or what stands for whole documents (summaries and first chunks)."""
    return f"seq > {SUMMARY_SEQ}" if level == "chunks" else "seq <= 0"


def any_of(field: str, identifiers: Iterable[str]) -> str:
    return f"{field} in [{', '.join(map(identifier, identifiers))}]"


def _metadata_clauses(filters: SearchFilters) -> Iterable[str]:
    if filters.department:
        yield f'department == "{encode_value(filters.department)}"'
    if filters.doc_type:
        yield f'doc_type == "{encode_value(filters.doc_type)}"'
    if filters.policy_year is not None:
        yield f"policy_year == {int(filters.policy_year)}"
    if filters.tags:
        yield f"array_contains_any(tags, [{_encoded(filters.tags)}])"
    if filters.preferred:
        yield f"({' or '.join(_preferring_clauses(filters.preferred))})"


def _preferring_clauses(preferred: Vocabulary) -> Iterable[str]:
    """What any field names."""
    for field, values in (("department", preferred.departments), ("doc_type", preferred.doc_types)):
        if values:
            yield f"{field} in [{_encoded(values)}]"
    if preferred.policy_years:
        yield f"policy_year in [{', '.join(str(int(year)) for year in preferred.policy_years)}]"
    if preferred.tags:
        yield f"array_contains_any(tags, [{_encoded(preferred.tags)}])"


def _encoded(values: Iterable[str]) -> str:
    return ", ".join(f'"{encode_value(value)}"' for value in values)


# ------------------------------------------------------------------------------------------------ schema
HNSW_M = 16  # neighbours per node of the graph
HNSW_EF_CONSTRUCTION = 200  # candidates while building; more is slower and better
BM25_K1 = 0.9  # saturation of a term's frequency
BM25_B = 0.4  # weight of a chunk's length

MAX_RESULTS = 16_384  # of one query or search, on every backend
MAX_TERMS_BYTES = 65_000  # of Milvus' 65,535 for a VARCHAR
MAX_VALUE_BYTES = 512
MAX_TAGS = 100
SERVER_PARTITIONS = 64  # of the partition key, collection_id


def backend_options(server_version: str) -> tuple[str, dict[str, Any]]:
    """The tokenizer that leaves our terms as they are, and the options of `create_collection`.

    Milvus Lite has no `whitespace` tokenizer, and its searches cost per segment: there more partitions only slow down.
    """
    if "lite" in server_version:
        return "standard", {"num_partitions": 1}
    return "whitespace", {"num_partitions": SERVER_PARTITIONS}


def index_options(server_version: str, options: Mapping[str, float]) -> dict[str, Any]:
    """What to give `add_index` as `params`.

    pymilvus 3 sends each as a field of its own, as servers take them; Milvus Lite reads them from one field `params`
    alone, and would go on with its defaults (BM25: k1 1.5, b 0.75) without a word.
    """
    return {"params": dict(options)} if "lite" in server_version else dict(options)


def create_collection(client: Any, name: str, *, dim: int, bm25: dict[str, float], keep_existing: bool) -> None:
    """Make the collection with its indexes, and load it. `client`: a synchronous MilvusClient."""
    timeout = connection.TIMEOUT_S
    if client.has_collection(name, timeout=timeout):
        if keep_existing:
            return
        client.drop_collection(name, timeout=timeout)
    version = client.get_server_version(timeout=timeout)
    tokenizer, options = backend_options(version)
    indexes = client.prepare_index_params()
    hnsw = {"M": HNSW_M, "efConstruction": HNSW_EF_CONSTRUCTION}
    indexes.add_index("vector", index_type="HNSW", metric_type="COSINE", params=index_options(version, hnsw))
    bm25_options = index_options(version, bm25)
    indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=bm25_options)
    schema = _schema(client, dim=dim, tokenizer=tokenizer)
    client.create_collection(name, schema=schema, timeout=timeout, **options)
    client.create_index(name, indexes, timeout=timeout, sync=False)  # nothing is in it: no need to wait half a second
    client.load_collection(name, timeout=timeout)


def _schema(client: Any, *, dim: int, tokenizer: str) -> Any:
    from pymilvus import DataType, Function, FunctionType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("chunk_id", DataType.VARCHAR, max_length=MAX_VALUE_BYTES, is_primary=True)
    schema.add_field("collection_id", DataType.VARCHAR, max_length=MAX_VALUE_BYTES, is_partition_key=True)
    for field in ("document_id", "department", "doc_type"):
        schema.add_field(field, DataType.VARCHAR, max_length=MAX_VALUE_BYTES)
    schema.add_field("seq", DataType.INT64)
    schema.add_field("policy_year", DataType.INT64)
    schema.add_field(
        "tags", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=MAX_TAGS, max_length=MAX_VALUE_BYTES
    )
    analyzer = {"tokenizer": tokenizer}
    schema.add_field("terms", DataType.VARCHAR, max_length=65_535, enable_analyzer=True, analyzer_params=analyzer)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dim)
    names = {"input_field_names": ["terms"], "output_field_names": ["sparse"]}
    schema.add_function(Function(name="bm25", function_type=FunctionType.BM25, **names))
    return schema


def entity(row: IndexRow) -> dict[str, Any]:
    """A row as Milvus takes it. No year is 0; tags beyond MAX_TAGS can't be filtered by."""
    return {
        "chunk_id": row.chunk_id,
        "collection_id": row.collection_id,
        "document_id": row.document_id,
        "seq": row.seq,
        "department": encode_value(row.department),
        "doc_type": encode_value(row.doc_type),
        "policy_year": row.policy_year or 0,
        "tags": [encode_value(tag) for tag in row.tags[:MAX_TAGS]],
        "terms": _cut(row.terms),
        "vector": np.asarray(row.vector, dtype=np.float32),
    }


def _cut(terms: str) -> str:
    """Whole terms up to the field's size in bytes."""
    encoded = terms.encode()
    if len(encoded) <= MAX_TERMS_BYTES:
        return terms
    return encoded[:MAX_TERMS_BYTES].decode("utf-8", "ignore").rpartition(" ")[0]


# ------------------------------------------------------------------------------------------------ index
WRITE_TIMEOUT_S = 120.0  # of one batch, and of reading all ids back
HNSW_EF = 128  # candidates while searching
WRITE_BATCH_SIZE = 500  # rows in one write


class WriteRight(Protocol):
    """What the holder of the writer lock has in hand."""

    async def aensure(self) -> None:
        """Right before each write. Raises what its lock turns into IndexUnavailableError, once the lock is lost."""
        ...


WriterLock = Callable[[str], AbstractAsyncContextManager[WriteRight]]
DELETE_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Generation:
    """A Milvus collection that is being filled beside the one in use; `MilvusIndex.swapping` puts it in its place."""

    space: EmbeddingSpace
    alias: str
    name: str


class _OnlyWriter:
    async def aensure(self) -> None:
        """Holds no lock: no other writer exists."""


@contextlib.asynccontextmanager
async def only_writer(space_key: str) -> AsyncIterator[WriteRight]:
    """The writer lock for a collection whose name nobody else knows."""
    yield _OnlyWriter()


class MilvusIndex:
    """The chunks of every embedding space; an unknown space holds nothing, and can't be searched (SpaceMissingError).
    Raises IndexUnavailableError.

    Belongs to one event loop; opens its connection at the first call.

    uri: where Milvus listens, or a function that finds out; asked again whenever the connection is lost.
    writer_lock: keeps other writers of a space out, across processes; asked again right before every write.
    k1, b: of BM25, fixed when a collection is made.
    """

    def __init__(
        self,
        settings: MilvusSettings,
        *,
        uri: str | Callable[[], str],
        writer_lock: WriterLock,
        k1: float = 0.9,
        b: float = 0.4,
    ) -> None:
        self._settings = settings
        self._connection = MilvusConnection(settings, find_uri=uri if callable(uri) else lambda: uri)
        self._writer_lock = writer_lock
        self._bm25 = {"bm25_k1": k1, "bm25_b": b}
        self._known: set[str] = set()  # aliases that were there when last used

    # -------------------------------------------------------------------------------------------- writing
    async def upsert(self, space: EmbeddingSpace, rows: Sequence[IndexRow]) -> None:
        """Write rows (idempotent by chunk_id) and flush: on return they are durable."""
        if rows:
            alias = self.alias(space)
            async with self._writer_lock(alias) as right:
                await self._ensure_collection(space, right)
                try:
                    await self._write(right, alias, rows)
                except MissingCollectionError:  # Milvus lost its data since we last looked
                    self._known.discard(alias)
                    await self._ensure_collection(space, right)
                    await self._write(right, alias, rows)

    async def delete_chunks(self, space: EmbeddingSpace, chunk_ids: Sequence[str]) -> None:
        await self._delete(space, _batches_of(chunk_ids))

    async def delete_document(self, space: EmbeddingSpace, document_id: str) -> None:
        await self._delete(space, [f"document_id == {identifier(document_id)}"])

    async def delete_collection(self, space: EmbeddingSpace, collection_id: str) -> None:
        await self._delete(space, [f"collection_id == {identifier(collection_id)}"])

    async def drop(self, space: EmbeddingSpace) -> None:
        """Remove the space with all its generations; for throw-away collections. Raises IndexUnavailableError."""
        alias = self.alias(space)
        async with self._writer_lock(alias) as right:
            self._known.discard(alias)
            with contextlib.suppress(MissingCollectionError):
                await self._change(right, "drop_alias", alias)
            await self._drop_generations(right, alias, keep="")

    async def _write(self, right: WriteRight, name: str, rows: Sequence[IndexRow]) -> None:
        for at in range(0, len(rows), WRITE_BATCH_SIZE):
            await self._change(
                right, "upsert", name, [entity(row) for row in rows[at : at + WRITE_BATCH_SIZE]], slow=True
            )
        await self._change(right, "flush", name, slow=True)

    async def _delete(self, space: EmbeddingSpace, expressions: Sequence[str]) -> None:
        if not expressions:
            return
        alias = self.alias(space)
        async with self._writer_lock(alias) as right:
            with contextlib.suppress(MissingCollectionError):
                for expression in expressions:
                    await self._change(right, "delete", alias, filter=expression, slow=True)
                await self._change(right, "flush", alias, slow=True)

    # -------------------------------------------------------------------------------------------- reading
    async def count(self, space: EmbeddingSpace) -> int:
        """The number of a space's rows."""
        rows = await self._query(self.alias(space), "", ["count(*)"])
        return int(rows[0]["count(*)"]) if rows else 0

    async def chunk_ids(self, space: EmbeddingSpace) -> set[str]:
        """All ids of a space."""
        return await self._ids(self.alias(space), "")

    async def vectors(self, space: EmbeddingSpace, chunk_ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The stored vectors, shape (dim,), of those chunks that are there."""
        if not chunk_ids:
            return {}
        rows = await self._query(self.alias(space), any_of("chunk_id", chunk_ids), ["chunk_id", "vector"])
        return {row["chunk_id"]: np.asarray(row["vector"], dtype=np.float32) for row in rows}

    async def search_dense(
        self,
        space: EmbeddingSpace,
        vectors: Vectors,
        *,
        collection_ids: Sequence[str],
        filters: SearchFilters,
        limit: int,
        level: Level = "chunks",
    ) -> list[list[LegHit]]:
        """One list per vector, best first; score is the cosine. All vectors in one call.

        level "documents": summaries and first chunks alone.
        """
        ef = max(HNSW_EF, limit)
        params = {"metric_type": "COSINE", "params": {"ef": ef}}
        rows = _row_filter(collection_ids, filters, level)
        return await self._search(space, list(vectors), "vector", params, rows, limit)

    async def search_bm25(
        self,
        space: EmbeddingSpace,
        texts: Sequence[str],
        *,
        collection_ids: Sequence[str],
        filters: SearchFilters,
        limit: int,
        level: Level = "chunks",
    ) -> list[list[LegHit]]:
        """One list per analysed query, best first; score is BM25, positive. A text without terms finds nothing."""
        queries = [text for text in texts if text.strip()]
        rows = _row_filter(collection_ids, filters, level)
        legs = await self._search(space, queries, "sparse", {"metric_type": "BM25"}, rows, limit)
        hits = iter(legs)
        return [next(hits) if text.strip() else [] for text in texts]

    async def _search(
        self,
        space: EmbeddingSpace,
        data: Sequence[Any],
        field: str,
        params: Mapping[str, Any],
        rows: str,
        limit: int,
    ) -> list[list[LegHit]]:
        if not data or not rows:
            return [[] for _ in data]
        options: dict[str, Any] = {
            "anns_field": field,
            "filter": rows,
            "limit": min(limit, MAX_RESULTS),
            "search_params": dict(params),
            "output_fields": ["document_id"],
        }
        try:
            legs = await self._do("search", self.alias(space), data=list(data), **options)
        except MissingCollectionError as error:
            raise SpaceMissingError from error
        return [_hits(leg, negative=field == "sparse") for leg in legs]

    async def _query(self, name: str, expression: str, fields: Sequence[str], **options: Any) -> list[dict[str, Any]]:
        options |= {"output_fields": list(fields), "consistency_level": "Strong"}
        try:
            return list(await self._do("query", name, filter=expression, slow=True, **options))
        except MissingCollectionError:
            return []

    async def _ids(self, name: str, clause: str = "", after: str = "", up_to: str = "") -> set[str]:
        """Those in `(after, up_to]`. A range with more than an answer may hold is halved at the middle of what came."""
        lower = f"chunk_id > {identifier(after)}" if after else 'chunk_id > ""'
        upper = f"chunk_id <= {identifier(up_to)}" if up_to else ""
        expression = " and ".join(part for part in (clause, lower, upper) if part)
        rows = await self._query(name, expression, ["chunk_id"], limit=MAX_RESULTS)
        ids = {str(row["chunk_id"]) for row in rows}
        if len(rows) < MAX_RESULTS:
            return ids
        middle = sorted(ids)[(len(ids) - 1) // 2]
        return await self._ids(name, clause, after, middle) | await self._ids(name, clause, middle, up_to)

    # -------------------------------------------------------------------------------------------- generations
    async def build_generation(self, space: EmbeddingSpace) -> Generation:
        """A new, empty Milvus collection beside the one in use, which goes on serving searches."""
        alias = self.alias(space)
        current = await self._physical_name(alias)
        number = int(current.rpartition("_g")[2]) + 1 if current else 1
        generation = Generation(space, alias, f"{alias}_g{number}")
        await self._create(generation, keep_existing=False)
        return generation

    async def write_generation(self, generation: Generation, rows: Sequence[IndexRow]) -> None:
        if rows:
            async with self._writer_lock(generation.name) as right:
                await self._write(right, generation.name, rows)

    async def generation_ids(self, generation: Generation) -> set[str]:
        return await self._ids(generation.name)

    async def trim_generation(self, generation: Generation, chunk_ids: Sequence[str]) -> None:
        """Delete rows whose chunks have gone while the generation was being filled."""
        for expression in _batches_of(chunk_ids):
            await self._do("delete", generation.name, filter=expression, slow=True)

    @contextlib.asynccontextmanager
    async def swapping(self, generation: Generation) -> AsyncIterator[None]:
        """Hold the space's writers off for the last catching-up, then let searches see the new generation."""
        async with self._writer_lock(generation.alias) as right:
            yield
            await self._swap(generation, right)

    async def _swap(self, generation: Generation, right: WriteRight) -> None:
        current = await self._physical_name(generation.alias)
        await self._do("load_collection", generation.name, slow=True)
        if current != generation.name:
            await self._change(right, "alter_alias" if current else "create_alias", generation.name, generation.alias)
        self._known.add(generation.alias)
        await self._drop_generations(right, generation.alias, keep=generation.name)

    async def _drop_generations(self, right: WriteRight, alias: str, *, keep: str) -> None:
        """The one before, and what a killed rebuild has left."""
        collections = await self._connection.call(lambda client: client.list_collections(timeout=connection.TIMEOUT_S))
        for name in collections:
            if name.startswith(f"{alias}_g") and name != keep:
                await self._change(right, "drop_collection", name)

    async def _physical_name(self, alias: str) -> str:
        try:
            return str((await self._do("describe_alias", alias))["collection_name"])
        except MissingCollectionError:
            return ""

    # -------------------------------------------------------------------------------------------- names, connection
    def alias(self, space: EmbeddingSpace) -> str:
        """Also the key of the writer lock. Models whose names differ in punctuation alone do not meet."""
        slug = re.sub(r"[^a-z0-9]+", "_", space.model.lower()).strip("_")[:60]
        digest = hashlib.sha256(space.model.encode()).hexdigest()[:6]
        return f"{self._settings.prefix}_{slug}_{space.dim}_{digest}"

    async def _ensure_collection(self, space: EmbeddingSpace, right: WriteRight) -> None:
        alias = self.alias(space)
        if alias in self._known:
            return
        if not await self._physical_name(alias):
            generation = Generation(space, alias, f"{alias}_g1")
            await self._create(generation, keep_existing=True)
            await self._swap(generation, right)
        self._known.add(alias)

    async def _create(self, generation: Generation, *, keep_existing: bool) -> None:
        await self._connection.define(
            lambda client: create_collection(
                client,
                generation.name,
                dim=generation.space.dim,
                bm25=self._bm25,
                keep_existing=keep_existing,
            )
        )

    async def _change(self, right: WriteRight, method: str, name: str, *args: Any, **kwargs: Any) -> None:
        """`_do`, as long as this process is the one that may write."""
        await right.aensure()
        await self._do(method, name, *args, **kwargs)

    async def _do(self, method: str, name: str, *args: Any, slow: bool = False, **kwargs: Any) -> Any:
        """Call a method of the client on a collection. Raises IndexUnavailableError, MissingCollectionError."""
        timeout = WRITE_TIMEOUT_S if slow else connection.TIMEOUT_S
        return await self._connection.call(
            lambda client: getattr(client, method)(name, *args, timeout=timeout, **kwargs),
            collection=name,
            timeout_s=timeout,
        )

    async def ping(self) -> None:
        """Raises IndexUnavailableError."""
        timeout = connection.CONNECT_TIMEOUT_S
        await self._connection.call(lambda client: client.get_server_version(timeout=timeout), timeout_s=timeout)

    async def close(self) -> None:
        await self._connection.close()


def _row_filter(collection_ids: Sequence[str], filters: SearchFilters, level: Level) -> str:
    """Empty where nothing may be seen."""
    return f"{in_collections(collection_ids, filters)} and {rows_of(level)}" if collection_ids else ""


def _batches_of(chunk_ids: Sequence[str]) -> list[str]:
    return [any_of("chunk_id", chunk_ids[at : at + DELETE_BATCH]) for at in range(0, len(chunk_ids), DELETE_BATCH)]


def _hits(leg: Any, *, negative: bool) -> list[LegHit]:
    """Of pymilvus' `HybridHits`: its lists and plain look-ups, since hundreds of hits a search come this way and each
    of its own look-ups is a call. negative: Milvus Lite gives BM25 as a negative distance, a server as a positive
    score."""
    score, field = abs if negative else float, dict.__getitem__
    return [
        LegHit(str(chunk_id), str(field(hit, "entity")["document_id"]), score(distance))
        for chunk_id, distance, hit in zip(leg.ids, leg.distances, leg, strict=True)
    ]
