"""The kinds of sources, by the names that `SyncSource.Kind` gives them. No model is imported here: the process that
reads a source has none."""

from __future__ import annotations

from retrieval.knowledge.sync.folder import FolderSource
from retrieval.knowledge.sync.git import GitSource
from retrieval.knowledge.sync.s3 import S3Source
from retrieval.knowledge.sync.source import SourceReader
from retrieval.knowledge.sync.web import WebSource
from retrieval.knowledge.sync.webdav import WebDavSource

KINDS: dict[str, type[SourceReader]] = {
    "folder": FolderSource,
    "web": WebSource,
    "git": GitSource,
    "s3": S3Source,
    "webdav": WebDavSource,
}
PACKAGES = {"web": "trafilatura", "git": "dulwich"}  # of the extra `sources`
