"""`manage.py ingest`."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from retrieval.models import Chunk, Collection, Document
from tests.factories import CollectionFactory, UserFactory
from tests.retrieval.knowledge.ingest.files import pdf_bytes

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("milvus", "offline", "uploads"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two readable files, one of them in a folder of its own, a scan, a hidden file and a program."""
    folder = tmp_path / "docs"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.md").write_text("# Loans\n\nTen books.\n")
    (folder / "inner" / "规定.txt").write_bytes("学生可借十册图书。".encode("gbk"))
    (folder / ".hidden.md").write_text("hidden")
    (folder / "tool.exe").write_bytes(b"MZ")
    return folder


def ingest(*paths: object, **options: str) -> tuple[int, str]:
    """Exit status and output."""
    out = StringIO()
    try:
        call_command("ingest", *map(str, paths), stdout=out, **{"collection": "rules", **options})
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_folder_is_brought_in_with_its_metadata(folder: Path) -> None:
    status, output = ingest(
        folder, department="Library", doc_type="rule", policy_year="2025", tags="a, b"
    )
    assert (status, output) == (0, "rules: 2 added, 0 unchanged, 0 failed\n")
    assert {document.status for document in Document.objects.all()} == {"ready"}
    document = Document.objects.get(file_name="规定.txt")
    assert (document.department, document.doc_type, document.policy_year) == (
        "Library",
        "rule",
        2025,
    )
    assert document.tags == ["a", "b"]
    assert Chunk.objects.get(document=document).text == "学生可借十册图书。"


def test_second_time_everything_is_unchanged(folder: Path) -> None:
    ingest(folder)
    assert ingest(folder) == (0, "rules: 0 added, 2 unchanged, 0 failed\n")


def test_failures_are_named_and_the_rest_is_kept(folder: Path) -> None:
    (folder / "scan.pdf").write_bytes(pdf_bytes([""]))
    status, output = ingest(folder, folder / "tool.exe", folder / "nothere*.md")
    assert status == 1
    assert "2 added, 0 unchanged, 3 failed" in output
    assert "scan.pdf: The PDF has no text" in output
    assert "tool.exe: This kind of file cannot be read" in output
    assert "nothere*.md: no such file or folder" in output


def test_collection_without_owner_is_public_and_with_one_private(folder: Path) -> None:
    user = UserFactory(username="ada")
    ingest(folder / "a.md")
    ingest(folder / "a.md", owner="ada")
    found = {
        collection.owner: collection.visibility
        for collection in Collection.objects.filter(name="rules")
    }
    assert found == {None: "public", user: "private"}


def test_an_address_names_the_collection_of_its_owner(folder: Path) -> None:
    collection = CollectionFactory(name="rules", owner=UserFactory(username="ada"))
    for address in ("ada/rules", str(collection.pk)):
        assert ingest(folder / "a.md", collection=address)[0] == 0
    ingest(folder / "a.md", collection="site:rules")
    assert (
        collection.documents.count()
        == Collection.objects.get(name="rules", owner=None).documents.count()
        == 1
    )


@pytest.mark.parametrize(
    "options",
    [{"owner": "nobody"}, {"owner": "ada", "collection": "bob/rules"}, {"policy_year": "soon"}],
)
def test_wrong_options_are_refused(folder: Path, options: dict[str, str]) -> None:
    with pytest.raises(CommandError):
        ingest(folder, **options)
    assert not Document.objects.exists()
