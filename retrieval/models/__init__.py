"""Knowledge: collections, documents, chunks, the jobs that bring them in, and what is remembered for each user.

The database is the truth; Milvus is derived from it.
"""

from retrieval.models.chunks import Chunk, KeptVector
from retrieval.models.collections import (
    MAX_REVIEW_MONTHS,
    SITE,
    Collection,
    CollectionPerson,
    ShareReply,
    name_validator,
)
from retrieval.models.documents import (
    MAX_KEY_CHARS,
    MAX_SOURCE_CHARS,
    Document,
    DocumentChange,
    DocumentKey,
    DocumentPart,
    upload_path,
)
from retrieval.models.jobs import IngestJob, Reembedding
from retrieval.models.memory import Memory, MemoryOrigin, MemoryPreference
from retrieval.models.samples import SamplePreference
from retrieval.models.sources import SyncSource

__all__ = [
    "MAX_KEY_CHARS",
    "MAX_REVIEW_MONTHS",
    "MAX_SOURCE_CHARS",
    "SITE",
    "Chunk",
    "Collection",
    "CollectionPerson",
    "Document",
    "DocumentChange",
    "DocumentKey",
    "DocumentPart",
    "IngestJob",
    "KeptVector",
    "Memory",
    "MemoryOrigin",
    "MemoryPreference",
    "Reembedding",
    "SamplePreference",
    "ShareReply",
    "SyncSource",
    "name_validator",
    "upload_path",
]
