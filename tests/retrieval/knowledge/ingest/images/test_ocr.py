"""Scans: read by Tesseract where it is installed, else refused with the reason."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.images import ocr
from retrieval.knowledge.ingest.parts import boxes_between
from retrieval.knowledge.ingest.pdf.document import SCANNED
from retrieval.knowledge.ingest.read_document import ReadDocument
from tests.retrieval.read_documents import read

needs_tesseract = pytest.mark.skipif(
    shutil.which("tesseract") is None, reason="Tesseract is not installed"
)
LINES = ["Students may borrow ten books", "for a period of four weeks."]


def scan(*pages: list[str]) -> bytes:
    """A PDF whose pages are pictures of these lines."""
    pictures = []
    for lines in pages:
        picture = Image.new("L", (1240, 1754), 255)
        draw = ImageDraw.Draw(picture)
        for at, line in enumerate(lines):
            draw.text((150, 200 + at * 70), line, fill=0, font=ImageFont.load_default(48))
        pictures.append(picture)
    data = io.BytesIO()
    pictures[0].save(data, "PDF", save_all=True, append_images=pictures[1:], resolution=150)
    return data.getvalue()


def text_of(document: ReadDocument) -> str:
    return " ".join(" ".join(chunk.text for chunk in document.chunks).split())


@needs_tesseract
def test_a_scan_is_read_with_its_pages_and_the_place_of_each_word() -> None:
    document = read(scan(LINES, ["Fines are twenty cents a day."]), "scan.pdf")
    assert text_of(document) == " ".join([*LINES, "Fines are twenty cents a day."])
    assert (document.page_count, [part.page for part in document.parts]) == (2, [1, 2])
    start = text_of(document).index("ten books")
    [(left, top, right, bottom)] = boxes_between(
        document.parts[0].lines, start, start + len("ten books")
    )
    assert 0.3 < left < right < 0.8 and 0.1 < top < bottom < 0.17


@needs_tesseract
def test_too_slow_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "TIMEOUT_S", -1.0)
    with pytest.raises(DocumentUnreadableError, match="takes too long"):
        read(scan(LINES), "scan.pdf")


def test_a_slow_page_does_not_keep_the_others_from_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tesseract"
    program.write_text(f"""#!/bin/sh
[ "$1" = --list-langs ] && echo eng && exit
cat >/dev/null
mkdir {tmp_path}/second && exec sleep 60
printf 'level\\tblock_num\\tpar_num\\tline_num\\tleft\\ttop\\twidth\\theight\\tconf\\ttext\\n'
printf '5\\t1\\t1\\t1\\t150\\t200\\t90\\t40\\t96\\tBooks\\n'
""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(ocr, "PAGE_TIMEOUT_S", 2.0)
    document = read(scan(LINES, LINES), "scan.pdf")
    assert text_of(document) == "Books"
    assert [str(what) for what in document.unread] == [
        "1 page that could not be recognised (page 1)"
    ]


def test_a_page_that_tesseract_fails_on_is_told_from_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tesseract"
    program.write_text(f"""#!/bin/sh
[ "$1" = --list-langs ] && echo eng && exit
cat >/dev/null
mkdir {tmp_path}/second || exit 1
printf 'level\\tblock_num\\tpar_num\\tline_num\\tleft\\ttop\\twidth\\theight\\tconf\\ttext\\n'
printf '5\\t1\\t1\\t1\\t150\\t200\\t90\\t40\\t96\\tBooks\\n'
""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    document = read(scan(LINES, LINES), "scan.pdf")
    assert text_of(document) == "Books"
    assert [part.width > 0 for part in document.parts if part.width is not None] == [True, False]


def test_without_tesseract_a_scan_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ocr.shutil, "which", lambda _: None)
    with pytest.raises(DocumentUnreadableError) as error:
        read(scan(LINES), "scan.pdf")
    assert error.value.message == SCANNED
