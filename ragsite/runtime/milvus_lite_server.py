"""Milvus Lite's own server, with BM25 that weighs words over the whole collection.

    python -P milvus_lite_server.py NOTICE server --data-dir DIR --host HOST --port PORT

NOTICE is a file; what follows are the arguments of `milvus-lite`.

First every collection is opened, loaded and read once. Milvus Lite opens a collection when it is asked for it, and
where a file is damaged it refuses each call from then on. All that it holds can be rebuilt from the database, so a
folder that cannot be read is set aside (the last one is kept), and the server starts with an empty one; NOTICE then
holds a line for the operator.

Milvus Lite keeps every write in a segment of its own until enough of them are merged, and takes BM25's statistics
(number of documents, their average length, how many hold a word) from each segment alone. A document that is all about
"leave", written by itself, then gets almost no weight for "leave": its segment holds no other text. A Milvus server
counts over its collection, and so does Milvus Lite here: sums over the segments at the time of the search, as Milvus
Lite's own source notes as its plan ("aggregate global statistics", engine/collection.py). Nothing is written
otherwise, so the data stays plain Milvus Lite's. The project's dependencies fix the version that this reaches into.

Runs as a program of its own: no Django, nothing of Ragsite.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import os
import shutil
import signal
import sys
import time
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from milvus_lite.analyzer.sparse import bytes_to_sparse
from milvus_lite.cmdline import main
from milvus_lite.db import MilvusLite
from milvus_lite.engine.collection import Collection
from milvus_lite.exceptions import DataDirLockedError
from milvus_lite.index.sparse_factory import create_sparse_index, sparse_index_matches
from milvus_lite.index.sparse_inverted import SparseInvertedIndex

# Of an index: its attributes that say what the whole collection holds.
_statistics: ContextVar[dict[str, Any] | None] = ContextVar("statistics", default=None)
_search_segments = Collection._search_sparse
_search_index = SparseInvertedIndex.search


def search_collection(
    self: Any,
    query_vectors: list[Any],
    vector_field: str,
    top_k: int,
    metric_type: str,
    **options: Any,
) -> Any:
    """`Collection._search_sparse`."""
    statistics = None
    if metric_type == "BM25":
        terms = {
            term
            for query in self._prepare_sparse_queries(query_vectors, vector_field)
            for term in query
        }
        indexes = _indexes(self, vector_field)
        documents = sum(index.doc_count for index in indexes)
        statistics = {
            "doc_count": documents,
            "avgdl": sum(index.doc_count * index.avgdl for index in indexes) / max(documents, 1),
            "_df": {term: sum(index._df.get(term, 0) for index in indexes) for term in terms},
        }
    token = _statistics.set(statistics)
    try:
        return _search_segments(self, query_vectors, vector_field, top_k, metric_type, **options)
    finally:
        _statistics.reset(token)


def search_with_statistics(self: Any, *args: Any, **options: Any) -> Any:
    """`SparseInvertedIndex.search`. Rows that are in no segment yet are weighed by those that are."""
    seen = copy.copy(self)
    vars(seen).update(_statistics.get() or {})
    return _search_index(seen, *args, **options)


def _indexes(collection: Any, field: str) -> list[Any]:
    """The inverted index of every segment; made where it is missing, as the search itself would make it."""
    spec = collection._index_specs.get(field)
    params = spec.build_params if spec else {}
    indexes = []
    for segment in collection._segments_snapshot():
        if segment.table is None or not len(segment.table):
            continue
        index = segment.sparse_indexes.get(field)
        if not sparse_index_matches(index, "BM25", params):
            stored = segment.table.column(field).to_pylist()
            index = create_sparse_index("BM25", params)
            index.build(
                [bytes_to_sparse(row) if isinstance(row, bytes) else (row or {}) for row in stored]
            )
            segment.sparse_indexes[field] = index
        indexes.append(index)
    return indexes


# ------------------------------------------------------------------------------------------------ damage
# Of the machine, not of the files: setting a folder aside would not help.
MACHINE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
}
SET_ASIDE = ".damaged-"


CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}


def damage(data_dir: Path) -> str:
    """What is wrong with the folder's files; empty where every collection can be read.

    They are read in a fork, as a library in C may crash over them, and nothing of it stays open. Where another process
    has the folder, or the machine is at fault, the server will say so itself.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            os.write(writer, _read_all(data_dir).encode("utf-8", "replace")[:2000])
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        reason = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in CRASHES:
        return f"reading it ended with {signal.Signals(os.WTERMSIG(status)).name}"
    return reason


def _read_all(data_dir: Path) -> str:
    try:
        with contextlib.closing(MilvusLite(str(data_dir))) as store:
            for database in store.list_databases():
                for alias in store.list_aliases(database_name=database):
                    if not store.has_collection(alias, database_name=database):
                        return f"the collection of {alias} is missing"
                for name in store.list_collections(database_name=database):
                    collection = store.get_collection(name, database_name=database)
                    collection.load()
                    collection.query("", output_fields=["*"], limit=1)
        halves = [
            path
            for path in data_dir.glob("**/collections/*")
            if not (path / "schema.json").exists()
        ]
        if halves:  # Milvus Lite does not see it, and can't make one of this name
            return f"{halves[0].name} has no schema"
    except DataDirLockedError:
        return ""
    except OSError as error:
        return "" if error.errno in MACHINE else f"{type(error).__name__}: {error}"
    except MemoryError:
        return ""
    except Exception as error:  # noqa: BLE001 - whatever its libraries raise for bytes that make no sense to them
        return f"{type(error).__name__}: {error}"
    return ""


def set_aside(data_dir: Path, reason: str) -> str:
    """Move the folder away, and delete the one that was moved away before it. The line for the operator."""
    aside = data_dir.with_name(f"{data_dir.name}{SET_ASIDE}{time.strftime('%Y%m%d-%H%M%S')}")
    for former in data_dir.parent.glob(f"{data_dir.name}{SET_ASIDE}*"):
        shutil.rmtree(former, ignore_errors=True)
    data_dir.rename(aside)
    return (
        f"The search index in {data_dir} is damaged and was set aside as {aside.name}; it is rebuilt from the database "
        f"now. ({' '.join(reason.split())[:300]})"
    )


if __name__ == "__main__":
    notice = Path(sys.argv.pop(1))
    folder = Path(sys.argv[sys.argv.index("--data-dir") + 1])
    if folder.exists() and (reason := damage(folder)):
        line = set_aside(folder, reason)
        notice.write_text(line)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    Collection._search_sparse = search_collection
    SparseInvertedIndex.search = search_with_statistics
    code = main()  # comes back once the data is closed
    os._exit(code)  # freeing every object would take seconds more
