"""Books: the pages of an EPUB in the order in which they are read, through the reader of HTML."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from ragsite.core.messages import Sentence, worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest import unread
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument, first_title
from retrieval.knowledge.ingest.markup.html import read_html
from retrieval.knowledge.ingest.markup.trees import MAX_STYLE_BYTES, embed_styles, tree_of
from retrieval.knowledge.ingest.sniff import damaged
from retrieval.knowledge.ingest.text import readable_text
from retrieval.knowledge.ingest.word_processing.word_styles import PARSER

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
PAGES = ("application/xhtml+xml", "text/html", "image/svg+xml")
LOCKED = worded("The book is protected against copying; it cannot be read.")


def parse_epub(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        package_name = _package_name(archive)
        if package_name not in names:
            raise damaged("epub")
        package = etree.fromstring(archive.read(package_name), PARSER)
        pages = [name for name in _spine(package, posixpath.dirname(package_name)) if name in names]
        if _encrypted(archive, names).intersection(pages):
            raise DocumentUnreadableError(LOCKED)
        blocks: list[Block] = []
        told: list[Sentence] = []
        for name in pages:
            inner, missing = _read_page(archive, name, names)
            blocks += inner
            told += missing
    title = package.findtext(".//{http://purl.org/dc/elements/1.1/}title") or ""
    return ParsedDocument(
        blocks=tuple(blocks), title=title.strip() or first_title(blocks), unread=unread.summed(told)
    )


def _package_name(archive: zipfile.ZipFile) -> str:
    try:
        container = etree.fromstring(archive.read(CONTAINER), PARSER)
    except (KeyError, etree.XMLSyntaxError) as error:
        raise damaged("epub") from error
    root = container.find(".//{*}rootfile")
    return "" if root is None else root.get("full-path") or ""


def _spine(package: etree._Element, folder: str) -> Iterator[str]:
    """The names of the pages, in order, without the one of contents."""
    items = {item.get("id"): item for item in package.iterfind(".//{*}manifest/{*}item")}
    for reference in package.iterfind(".//{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if (
            item is None
            or item.get("media-type") not in PAGES
            or "nav" in (item.get("properties") or "").split()
        ):
            continue
        yield posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))


def _encrypted(archive: zipfile.ZipFile, names: set[str]) -> set[str]:
    if ENCRYPTION not in names:
        return set()
    listed = etree.fromstring(archive.read(ENCRYPTION), PARSER).iter("{*}CipherReference")
    return {unquote(reference.get("URI") or "") for reference in listed}


def _read_page(
    archive: zipfile.ZipFile, name: str, names: set[str]
) -> tuple[list[Block], tuple[Sentence, ...]]:
    try:
        root = tree_of(readable_text(archive.read(name), markup=True))
    except DocumentUnreadableError:  # a page without anything
        return [], ()
    embed_styles(root, lambda link: _sheet(archive, link, posixpath.dirname(name), names))
    return read_html(root)


def _sheet(archive: zipfile.ZipFile, link: str, folder: str, names: set[str]) -> bytes | None:
    """A book's style sheets are files of its own."""
    sheet = posixpath.normpath(posixpath.join(folder, unquote(link)))
    if sheet not in names:
        return None
    with archive.open(sheet) as file:
        return file.read(MAX_STYLE_BYTES)
