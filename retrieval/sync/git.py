"""A branch of a Git repository over HTTP, by dulwich: it talks through our guarded connections, where the git program
would resolve names by itself. Blobs are read from the pack; nothing is checked out, so no link or path leads anywhere.
"""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ragsite.core.errors import TooLargeError
from ragsite.core.wording import worded
from retrieval.sync.source import TOO_LARGE, Entry, Source, SourceAwayError, check_installed


@dataclass(slots=True)
class GitSource(Source):
    repository: Any = None
    folder: Any = None

    def version(self) -> str:
        """The commit's id. Raises SourceAwayError."""
        check_installed("dulwich")
        branch = str(self.options.get("branch") or "")
        with _as_source_error():
            refs = self._client().get_refs(b"").refs
        commit = refs.get(f"refs/heads/{branch}".encode() if branch else b"HEAD")
        if not commit:
            raise SourceAwayError(worded("The repository has no such branch, or no commit."))
        return bytes(commit).decode()

    def entries(self, known: Mapping[str, str]) -> Iterator[Entry]:
        from dulwich.objects import Commit
        from dulwich.repo import Repo

        commit_id = self.version().encode()
        self.folder = tempfile.TemporaryDirectory(prefix="ragsite-git-")
        self.repository = Repo.init_bare(self.folder.name)
        with _as_source_error():
            self._client().fetch(b"", self.repository, determine_wants=lambda *_, **__: [commit_id], depth=1)
            commit = self.repository[commit_id]
        assert isinstance(commit, Commit)
        for item in self.repository.object_store.iter_tree_contents(commit.tree):
            if stat.S_ISREG(item.mode):  # neither links nor other repositories
                key = item.path.decode("utf-8", "replace")
                yield Entry(key, item.sha.decode(), PurePosixPath(key).name)

    def read(self, entry: Entry, most_bytes: int) -> bytes:
        blob = self.repository[entry.fingerprint.encode()]
        if blob.raw_length() > most_bytes:
            raise TooLargeError(TOO_LARGE)
        return bytes(blob.data)

    def close(self) -> None:
        if self.repository is not None:
            self.repository.close()
            self.folder.cleanup()
        self.pools.clear()

    def _client(self) -> Any:
        from dulwich.client import HttpGitClient

        names: dict[str, Any] = {name: self.credentials.get(name) or None for name in ("username", "password")}
        return HttpGitClient(self.address, pool_manager=self.pools, **names)


class _as_source_error:
    """What dulwich raises, as a sentence."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        from dulwich.errors import GitProtocolError, NotGitRepository
        from urllib3.exceptions import HTTPError

        if isinstance(error, GitProtocolError | NotGitRepository | HTTPError | OSError | KeyError):
            raise SourceAwayError(
                worded("The repository cannot be read. Check its address and the credentials.")
            ) from error
