"""Pictures: read by Tesseract where it is installed, else refused with the reason."""

from __future__ import annotations

import io
import shutil
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.images import ocr
from retrieval.knowledge.ingest.images.pictures import NO_OCR, picture_page
from retrieval.knowledge.ingest.reading import parse_file
from retrieval.knowledge.ingest.sniff import kind_by_name

needs_tesseract = pytest.mark.skipif(
    shutil.which("tesseract") is None, reason="Tesseract is not installed"
)


def page(text: str, *, mode: str = "L", ground: object = 255, ink: object = 0) -> Image.Image:
    picture = Image.new(mode, (900, 300), ground)  # type: ignore[arg-type]
    ImageDraw.Draw(picture).text((60, 100), text, fill=ink, font=ImageFont.load_default(48))  # type: ignore[arg-type]
    return picture


def saved(*pictures: Image.Image, kind: str) -> bytes:
    data = io.BytesIO()
    more = {"save_all": True, "append_images": pictures[1:]} if len(pictures) > 1 else {}
    pictures[0].save(data, kind, **more)
    return data.getvalue()


def read(tmp_path: Path, data: bytes, name: str = "a.png") -> ParsedDocument:
    path = tmp_path / name
    path.write_bytes(data)
    return parse_file(path, kind=kind_by_name(name))


@needs_tesseract
@pytest.mark.parametrize(
    ("name", "kind"), [("a.png", "PNG"), ("a.jpg", "JPEG"), ("a.tif", "TIFF"), ("a.webp", "WEBP")]
)
def test_a_pictures_words_are_read(tmp_path: Path, name: str, kind: str) -> None:
    document = read(tmp_path, saved(page("The lift holds six people"), kind=kind), name)
    assert document.text == "The lift holds six people"
    assert (document.page_count, document.pages[0].width) == (1, 900)


@needs_tesseract
def test_words_on_a_transparent_ground_are_read(tmp_path: Path) -> None:
    picture = page(
        "The lift holds six people", mode="RGBA", ground=(0, 0, 0, 0), ink=(0, 0, 0, 255)
    )
    assert read(tmp_path, saved(picture, kind="PNG")).text == "The lift holds six people"


@needs_tesseract
def test_each_picture_of_a_file_is_a_page_and_one_without_words_is_said(tmp_path: Path) -> None:
    data = saved(page("First sheet"), page(""), page("Third sheet"), kind="TIFF")
    document = read(tmp_path, data, "a.tiff")
    assert [(block.page, block.text) for block in document.blocks] == [
        (1, "First sheet"),
        (3, "Third sheet"),
    ]
    assert [str(what) for what in document.unread] == ["1 picture without text (page 2)"]


def test_without_tesseract_a_picture_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr.shutil, "which", lambda _: None)
    with pytest.raises(DocumentUnreadableError) as error:
        read(tmp_path, saved(page("Words"), kind="PNG"))
    assert error.value.message == NO_OCR


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_head(width: int, height: int) -> bytes:
    """A PNG that claims this size and holds next to nothing."""
    fields = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", fields) + chunk(b"IDAT", zlib.compress(bytes(100)))


@pytest.mark.parametrize("size", [(8_000, 7_000), (60_000, 60_000)])
def test_a_picture_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    with pytest.raises(DocumentUnreadableError, match="50 megapixels"):
        read(tmp_path, png_head(*size))


@needs_tesseract
def test_a_damaged_picture_says_so(tmp_path: Path) -> None:
    with pytest.raises(DocumentUnreadableError, match="damaged"):
        read(tmp_path, saved(page("Words"), kind="PNG")[:400])


def test_a_page_is_drawn_no_wider_than_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(saved(page("Words"), kind="PNG"))
    assert Image.open(io.BytesIO(picture_page(path, 1, 300))).width == 300
    with pytest.raises(LookupError):
        picture_page(path, 2, 300)
