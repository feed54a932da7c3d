"""The vector index: the only package that speaks to Milvus.

Lite and a server are asked alike; they differ in `schema.backend_options` and in the sign of BM25 (`search_bm25`).
pymilvus, whose import takes a second, is imported in a thread at the first use.
"""

from retrieval.search.index.connection import import_client
from retrieval.search.index.milvus import Generation, MilvusIndex, WriteRight, only_writer

__all__ = ["Generation", "MilvusIndex", "WriteRight", "import_client", "only_writer"]
