"""What can't be read says why, in words for the person who uploaded it."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

import pytest

from ragsite.core.errors import UnsupportedFileError
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest import reading
from retrieval.knowledge.ingest.chunk_size import ChunkSize
from retrieval.knowledge.ingest.reader import read_file
from tests.retrieval.knowledge.ingest.files import (
    docx_bytes,
    pdf_bytes,
    pptx_bytes,
    xlsx_bytes,
    zip_bytes,
)
from tests.retrieval.read_documents import read

SIZE = ChunkSize(480, 64)
HTML = b"<!DOCTYPE html><html><body><p>Hello</p></body></html>"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000)


async def reason(tmp_path: Path, name: str, data: bytes) -> str:
    path = tmp_path / f"stored{Path(name).suffix}"
    path.write_bytes(data)
    with pytest.raises(DocumentUnreadableError) as caught:
        await read_file(path, file_name=name, size=SIZE)
    return caught.value.message


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.pdf", b"", "empty"),
        ("empty.txt", b"", "empty"),
        ("blank.txt", b" \n\t\n", "no text"),
        ("page.pdf", HTML, "not really a PDF file; its content is HTML"),
        ("noise.pdf", os.urandom(5000), "not really a PDF"),
        ("half.pdf", pdf_bytes(["Hello"])[:60], "damaged"),
        ("locked.pdf", pdf_bytes(["Hello"], encrypted=True), "protected by a password"),
        ("scan.pdf", pdf_bytes(["", ""]), "scan"),
        ("cut.docx", docx_bytes()[:9000], "incomplete"),
        ("sheet.docx", zip_bytes({"xl/workbook.xml": b"<workbook/>"}), "its content is XLSX"),
        ("odd.docx", zip_bytes({"word/document.xml": b"<not-word/>"}), "damaged"),
        ("odd.xlsx", zip_bytes({"xl/workbook.xml": b"<not-a-workbook/>"}), "damaged"),
        ("odd.pptx", zip_bytes({"ppt/presentation.xml": b"<not-slides/>"}), "damaged"),
        ("blank.xlsx", xlsx_bytes({"Sheet": []}), "no text"),
        ("cut.pptx", pptx_bytes()[:9000], "incomplete"),
        ("locked.docx", OLE, "protected by a password"),
        ("locked.xlsx", OLE, "protected by a password"),
        ("locked.pptx", OLE, "protected by a password"),
        ("picture.html", b"<p></p><img src=plan.png>", "Not read: 1 picture without text."),
        ("binary.txt", bytes(range(256)) * 20, "binary"),
        ("deep.html", b"<div>" * 5000 + b"words", "too deeply"),
        ("really-a.txt", pdf_bytes(["Hello"]), "not really a TEXT file; its content is PDF"),
    ],
)
async def test_reason_is_understandable(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    assert words in await reason(tmp_path, name, data)


@pytest.mark.parametrize("entry", ["word/document.xml", "xl/workbook.xml", "ppt/presentation.xml"])
def test_zip_bomb_is_refused_before_it_is_unpacked(entry: str) -> None:
    name = {"w": "bomb.docx", "x": "bomb.xlsx", "p": "bomb.pptx"}[entry[0]]
    bomb = zip_bytes({entry: bytes(3 * 1024 * 1024)})
    assert len(bomb) < 10_000
    with (
        patch.multiple(reading, MAX_UNPACKED_MIB=2),
        pytest.raises(DocumentUnreadableError, match="more than 2 MiB"),
    ):
        read(bomb, name)


def test_too_many_chunks_are_refused() -> None:
    with (
        patch.multiple(reading, MAX_CHUNKS=2),
        pytest.raises(DocumentUnreadableError, match="more than 2 chunks"),
    ):
        read(b"Students may borrow ten books. " * 500, "long.txt")


@pytest.mark.parametrize("name", ["a.exe", "noextension", "old.doc", "slides.pptx.zip"])
async def test_unknown_type_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsupportedFileError):
        await read_file(tmp_path, file_name=name, size=SIZE)
