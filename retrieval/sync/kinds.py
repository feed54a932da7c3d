"""The kinds of sources, by the names that `SyncSource.Kind` gives them. No model is imported here: the process that
reads a source has none."""

from __future__ import annotations

from retrieval.sync.folder import FolderSource
from retrieval.sync.git import GitSource
from retrieval.sync.s3 import S3Source
from retrieval.sync.source import Source
from retrieval.sync.web import WebSource
from retrieval.sync.webdav import WebDavSource

KINDS: dict[str, type[Source]] = {
    "folder": FolderSource,
    "web": WebSource,
    "git": GitSource,
    "s3": S3Source,
    "webdav": WebDavSource,
}
PACKAGES = {"web": "trafilatura", "git": "dulwich"}  # of the extra `sources`
