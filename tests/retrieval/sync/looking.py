"""What tests of sources share: runs, what they found, and what servers give."""

from __future__ import annotations

from typing import Any

from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

from retrieval.knowledge.sync.run import Report, source_run
from retrieval.models import Document
from tests.web_server import Page

ADDRESS = "/api/sync-sources"


def look(source_id: str, **options: Any) -> Report:
    report = source_run(source_id=source_id, **options)  # type: ignore[arg-type]
    assert report is not None
    return report


def found(report: Report) -> dict[str, int]:
    names = ("added", "changed", "unchanged", "deleted", "missing", "skipped", "failed", "left")
    return {name: count for name in names if (count := getattr(report, name))}


def names() -> list[str]:
    return sorted(Document.objects.filter(superseded_at=None).values_list("file_name", flat=True))


def page(text: str, links: str = "") -> Page:
    main = f"<article><h1>{text}</h1><p>{text} is told here in a sentence that is long enough to be one.</p></article>"
    return (
        200,
        {"Content-Type": "text/html"},
        f"<title>{text}</title><nav>Menu {links}</nav>{main}".encode(),
    )


def commit(repo: Repo, files: dict[str, tuple[int, bytes]]) -> None:
    tree = Tree()
    for name, (mode, data) in files.items():
        blob = Blob.from_string(data)
        repo.object_store.add_object(blob)
        tree.add(name.encode(), mode, blob.id)
    committed(repo, tree)


def committed(repo: Repo, tree: Tree) -> None:
    made = Commit()
    made.tree, made.message, made.author, made.committer = tree.id, b"x", b"A <a@b>", b"A <a@b>"
    made.author_time = made.commit_time = 0
    made.author_timezone = made.commit_timezone = 0
    for one in (tree, made):
        repo.object_store.add_object(one)
    repo.refs[b"refs/heads/main"] = made.id
    repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/main")


def listed(folder: str, *items: str) -> Page:
    folder_type = "<d:resourcetype><d:collection/></d:resourcetype>"
    rows = "".join(
        f"<d:response><d:href>{folder}{item}</d:href><d:propstat><d:prop>"
        f"{'<d:getetag>1</d:getetag>' if item[-1:] not in ('', '/') else folder_type}"
        "</d:prop></d:propstat></d:response>"
        for item in items
    )
    return 207, {}, f'<d:multistatus xmlns:d="DAV:">{rows}</d:multistatus>'.encode()
