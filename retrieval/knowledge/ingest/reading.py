"""One file in, its chunks, language and summary out: each kind of file has a parser that gives blocks.

Hostile files can crash, hang or bloat every one of the parsers, and damaged ones make them raise anything: on a site
this runs in a process of its own, with limits (`retrieval.knowledge.ingest.reader`). Plain Python without Django.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from lxml import etree

from ragsite.core.messages import Sentence, joined, worded
from ragsite.core.text import strip_for_reading
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.engine.text.languages import detect_language
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.text.sentences import split_sentences
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument
from retrieval.knowledge.ingest.chunk_size import ChunkSize
from retrieval.knowledge.ingest.chunking import Chunker
from retrieval.knowledge.ingest.images.pictures import parse_picture
from retrieval.knowledge.ingest.mail import MailReader
from retrieval.knowledge.ingest.markup.epub import parse_epub
from retrieval.knowledge.ingest.markup.html import parse_html
from retrieval.knowledge.ingest.markup.markdown import parse_markdown
from retrieval.knowledge.ingest.parts import document_parts
from retrieval.knowledge.ingest.pdf.document import parse_pdf
from retrieval.knowledge.ingest.read_document import ReadDocument
from retrieval.knowledge.ingest.sheets.delimited import parse_csv
from retrieval.knowledge.ingest.sheets.excel import parse_xlsx
from retrieval.knowledge.ingest.sheets.ods import parse_ods
from retrieval.knowledge.ingest.slides import parse_pptx
from retrieval.knowledge.ingest.sniff import PICTURES, FileKind, check_content, damaged
from retrieval.knowledge.ingest.text import parse_text
from retrieval.knowledge.ingest.word_processing.odf_text import parse_odt
from retrieval.knowledge.ingest.word_processing.rtf import parse_rtf
from retrieval.knowledge.ingest.word_processing.word import parse_docx

TEXT_PARSERS: dict[FileKind, Callable[[bytes], ParsedDocument]] = {
    "text": parse_text,
    "markdown": parse_markdown,
    "html": parse_html,
    "csv": parse_csv,
    "rtf": parse_rtf,
    "eml": lambda data: MailReader(_parsed).parse_eml(data),
    "mhtml": lambda data: MailReader(_parsed).parse_mhtml(data),
}
FILE_PARSERS: dict[FileKind, Callable[[Path], ParsedDocument]] = {
    "pdf": parse_pdf,
    "docx": parse_docx,
    "pptx": parse_pptx,
    "xlsx": parse_xlsx,
    "ods": parse_ods,
    **dict.fromkeys(PICTURES, parse_picture),
    "odt": parse_odt,
    "epub": parse_epub,
    "msg": lambda path: MailReader(_parsed).parse_msg(path),
}
# As people count: characters of Chinese and Japanese, else what stands between blanks.
_WORD = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
MAX_CHUNKS = 50_000
# Of an archive.
MAX_UNPACKED_MIB = 400
MAX_ENTRIES = 20_000
MAX_PART_MIB = 48  # of a part of an archive that is read whole
LOOKED_AT_CHARS = 20_000
# Of a sentence that is quoted.
MIN_CHARS = 12
MAX_CHARS = 600
SUMMARY_TOKENS = 160  # of a document's summary, by which hierarchical search finds it


def read_document(path: Path, *, kind: FileKind, size: ChunkSize) -> ReadDocument:
    """Raises DocumentUnreadableError, and for a damaged Office file whatever its library raises."""
    parsed = parse_file(path, kind=kind)
    text = parsed.text
    chunker = Chunker(
        chunk_tokens=size.tokens,
        overlap_tokens=size.overlap,
        count_tokens=size.count_tokens,
        table_tokens=size.table_tokens,
    )
    chunks = chunker.split(parsed)
    if len(chunks) > MAX_CHUNKS:
        raise DocumentUnreadableError(
            worded(
                "The document makes more than {max_chunks:,} chunks; split it.",
                max_chunks=MAX_CHUNKS,
            )
        )
    summary = ""
    if len(chunks) > 1:  # a single one stands for its document
        headings = (block.label for block in parsed.blocks if block.kind == "heading")
        summary = summarize(text, headings=headings, tokens=SUMMARY_TOKENS)
    return ReadDocument(
        title=parsed.title,
        page_count=parsed.page_count,
        language=detect_language(text),
        summary=summary,
        chunks=tuple(chunks),
        parts=document_parts(parsed),
        unread=parsed.unread,
        word_count=len(_WORD.findall(text)),
    )


def parse_file(path: Path, *, kind: FileKind) -> ParsedDocument:
    """The document's blocks, after a look at what the file really is. Raises as `read_document`."""
    check_content(path, kind, is_text=kind in TEXT_PARSERS)
    if kind not in TEXT_PARSERS and zipfile.is_zipfile(path):
        _check_archive(path)
    try:
        document = (
            TEXT_PARSERS[kind](path.read_bytes())
            if kind in TEXT_PARSERS
            else FILE_PARSERS[kind](path)
        )
    except etree.XMLSyntaxError as error:  # of a part of an archive
        raise damaged(kind) from error
    document = _as_seen(document)
    if not document.blocks:
        raise DocumentUnreadableError(_no_text(document))
    return document


def _no_text(document: ParsedDocument) -> Sentence:
    if not document.unread:
        return worded("The file holds no text.")
    return worded(
        "The file holds no text that could be read. Not read: {parts}.",
        parts=joined("; ", document.unread),
    )


def _parsed(path: Path, kind: FileKind) -> ParsedDocument:
    return parse_file(path, kind=kind)


def _check_archive(path: Path) -> None:
    """Refuse one that unpacks to more than the limit, before it is unpacked. Raises DocumentUnreadableError."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    # Declared sizes can lie, but zipfile reads no more of an entry than it declares.
    largest = max(
        (entry.file_size for entry in entries if _is_read_whole(entry.filename)), default=0
    )
    if largest > MAX_PART_MIB * 1024**2:
        raise DocumentUnreadableError(
            worded(
                "A part of the file unpacks to more than {max_part_mib} MiB; split it.",
                max_part_mib=MAX_PART_MIB,
            )
        )
    if (
        sum(entry.file_size for entry in entries) > MAX_UNPACKED_MIB * 1024**2
        or len(entries) > MAX_ENTRIES
    ):
        raise DocumentUnreadableError(
            worded(
                "The file unpacks to more than {max_unpacked_mib} MiB; split it.",
                max_unpacked_mib=MAX_UNPACKED_MIB,
            )
        )


def _is_read_whole(part: str) -> bool:
    """Whether all of a part is in memory at once, in ten times its size. A workbook's sheets are read row by row."""
    return part.endswith((".xml", ".rels")) and not part.startswith(
        ("xl/worksheets/", "xl/sharedStrings")
    )


def _as_seen(document: ParsedDocument) -> ParsedDocument:
    """Without what no reader sees: it parts words that are searched for. A PDF's reader leaves it out itself, since the
    places of a page's words are counted in its text."""
    blocks = tuple(block for block in map(_block_as_seen, document.blocks) if block.text.strip())
    return replace(document, blocks=blocks, title=strip_for_reading(document.title))


def _block_as_seen(block: Block) -> Block:
    table = block.table
    if table is not None:
        rows = tuple(tuple(map(strip_for_reading, row)) for row in table.rows)
        table = replace(table, rows=rows, caption=strip_for_reading(table.caption))
    return replace(
        block, text=strip_for_reading(block.text), label=strip_for_reading(block.label), table=table
    )


# ------------------------------------------------------------------------------------------------ summary
def summarize(text: str, *, headings: Iterable[str], tokens: int) -> str:
    """A summary without a model: headings, then the first sentences. At most about `tokens` tokens, half of them
    headings; "" where no sentence will do."""
    headings = list(dict.fromkeys(headings))
    sentences = (sentence.strip() for sentence in split_sentences(text[:LOOKED_AT_CHARS]))
    quotable = [s for s in sentences if MIN_CHARS <= len(s) <= MAX_CHARS and s not in headings]
    outline = _fitting(headings, "; ", tokens // 2)
    return "\n".join(
        filter(None, (outline, _fitting(quotable, " ", tokens - estimate_tokens(outline))))
    )


def _fitting(parts: Iterable[str], separator: str, tokens: int) -> str:
    """As many as there is room for, from the first on."""
    text = ""
    for part in parts:
        longer = separator.join(filter(None, (text, part)))
        if estimate_tokens(longer) > tokens:
            break
        text = longer
    return text
