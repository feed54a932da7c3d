"""The kinds of sources by name."""

from __future__ import annotations

from ragsite.core.sealed import unseal
from retrieval.models import SyncSource
from retrieval.sync.folder import FolderSource
from retrieval.sync.git import GitSource
from retrieval.sync.s3 import S3Source
from retrieval.sync.source import Source
from retrieval.sync.web import WebSource
from retrieval.sync.webdav import WebDavSource

Kind = SyncSource.Kind
KINDS: dict[str, type[Source]] = {
    Kind.FOLDER: FolderSource, Kind.WEB: WebSource, Kind.GIT: GitSource, Kind.S3: S3Source, Kind.WEBDAV: WebDavSource,
}  # fmt: skip
PACKAGES = {Kind.WEB: "trafilatura", Kind.GIT: "dulwich"}  # of the extra `sources`


def source_open(row: SyncSource) -> Source:
    """Raises SealBrokenError."""
    credentials = unseal(row.credentials) if row.credentials else {}
    return KINDS[row.kind](address=row.address, options=row.options, credentials=credentials)
