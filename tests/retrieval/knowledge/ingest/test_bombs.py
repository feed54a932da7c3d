"""Small files that unfold to much end with a clear reason, in the process that the site reads files in."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.chunk_size import ChunkSize
from retrieval.knowledge.ingest.reader import DAMAGED, read_file
from tests.retrieval.knowledge.ingest.files import (
    drawn_pdf,
    epub_bytes,
    odt_bytes,
    pptx_bytes,
    word_bytes,
    zip_bytes,
    zip_entries,
)
from tests.retrieval.knowledge.ingest.outlook import Tree, compound_file, message_tree

SIZE = ChunkSize(480, 64)
MIB = 1024**2
ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
LAUGHS = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "ha">{ENTITIES}]>'.encode()

pytestmark = pytest.mark.timeout(180)


def with_part(archive: bytes, name: str, part: bytes) -> bytes:
    return zip_bytes(zip_entries(archive) | {name: part})


def laughing(archive: bytes, name: str, root: str) -> bytes:
    """The archive, with entities that multiply where the words of a part stand."""
    return with_part(archive, name, LAUGHS + f"<{root}>&e11;</{root}>".encode())


def empty_picture(side: int) -> bytes:
    """A PNG of one colour."""
    rows = zlib.compress(bytes(1000))
    head = struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)
    chunks = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    )
    return b"\x89PNG\r\n\x1a\n" + chunks


def nested_table(depth: int) -> bytes:
    return b"<!doctype html>" + b"<table><tr><td>a<td>" * depth


BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "word part": ("a.docx", lambda: with_part(word_bytes(""), "word/document.xml", bytes(60 * MIB)), "48 MiB"),
    "odt part": ("a.odt", lambda: with_part(odt_bytes(""), "content.xml", bytes(60 * MIB)), "48 MiB"),
    "many parts": ("a.epub", lambda: zip_bytes({
        **zip_entries(epub_bytes({}, {})), **{f"{n}.xhtml": b"" for n in range(20_001)}
    }), "400 MiB"),
    "entities of Word": ("a.docx", lambda: laughing(word_bytes(""), "word/document.xml", "document"), ""),
    "entities of an ODT": ("a.odt", lambda: laughing(odt_bytes(""), "content.xml", "text"), ""),
    "entities of a slide": ("a.pptx", lambda: laughing(pptx_bytes(), "ppt/slides/slide1.xml", "sld"), ""),
    "entities of a book": ("a.epub", lambda: laughing(epub_bytes({}, {}), "META-INF/container.xml", "c"), ""),
    "cells": ("a.csv", lambda: b"1,2,3,4\n" * 250_000, "500,000 cells"),
    "pages": ("a.pdf", lambda: drawn_pdf(*[""] * 5_000), "3,000 pages"),
    "pixels": ("a.png", lambda: empty_picture(60_000), ""),
    "tables in tables": ("a.html", lambda: nested_table(3_000), "too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_is_refused_with_a_reason(tmp_path: Path, name: str) -> None:
    file_name, data, words = BOMBS[name]
    path = tmp_path / "stored"
    path.write_bytes(data())
    with pytest.raises(DocumentUnreadableError) as caught:
        await read_file(path, file_name=file_name, size=SIZE)
    assert words in caught.value.message
    assert caught.value.message != DAMAGED  # it was not the limits of the process that ended it


async def test_outlook_messages_in_each_other_are_read_as_far_as_allowed(tmp_path: Path) -> None:
    tree: Tree = message_tree(
        subject="innermost", sender="a@example.org", body="text at 0", is_attached=True
    )
    for depth in range(1, 11):
        files = {"inner.msg": tree}
        body = f"text at {depth}"
        tree = message_tree(
            subject="", sender="a@example.org", body=body, files=files, is_attached=depth < 10
        )
    path = tmp_path / "stored"
    path.write_bytes(compound_file(tree))
    document = await read_file(path, file_name="a.msg", size=SIZE)
    text = "\n".join(chunk.text for chunk in document.chunks)
    assert [f"text at {depth}" in text for depth in (10, 7, 6)] == [True, True, False]
    assert "it lies in too many e-mails" in str(document.unread[0])


async def test_layers_that_refer_to_themselves_hide_nothing(tmp_path: Path) -> None:
    path = tmp_path / "stored"
    stream = "/OC /L1 BDC BT /F1 12 Tf 60 700 Td (The fee is 40 euros.) Tj ET EMC"
    layers = "/OCProperties << /OCGs 6 0 R /D << /OFF 6 0 R >> >>"
    data = drawn_pdf(
        stream,
        resources="/Properties << /L1 5 0 R >>",
        catalog=layers,
        objects=["<< /Type /OCG >>", "[6 0 R]"],
    )
    path.write_bytes(data)
    assert "40 euros" in (await read_file(path, file_name="a.pdf", size=SIZE)).chunks[0].text
