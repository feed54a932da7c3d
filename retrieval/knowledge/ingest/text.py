"""Plain text and comma-separated values; headings in text that has no markup for them; and which encoding a file is in:
by its mark, by what it declares, UTF-8 where it is valid, else by chardet."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

import chardet
from chardet import EncodingEra

from ragsite.core.messages import worded
from ragsite.core.text import clean_text, unix_lines
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument, first_title

# ------------------------------------------------------------------------------------------------ encodings
SAMPLE_BYTES = 65_536
ERAS = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO | EncodingEra.LEGACY_REGIONAL
MIN_CONFIDENCE = 0.02  # of chardet; a file with a broken byte gets less
OFTEN_BROKEN = (
    "utf-8",
    "gb18030",
    "big5hkscs",
    "cp932",
    "euc_jp",
    "cp949",
)  # what such a file may be in
MAX_BROKEN_SHARE = 0.01  # of the bytes
NEVER_IN_UTF8 = frozenset(b"\0\x1b")  # in text files: they speak for UTF-16 and ISO 2022
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its first half
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What a label means in practice: the superset that everybody writes under that name
WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "euc_kr": "cp949",
}
WEB_NAMES = {
    "utf-8-sig": "utf-8",
    "big5hkscs": "big5-hkscs",
    "cp932": "windows-31j",
    "cp949": "windows-949",
}
DECLARED = re.compile(
    rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)|<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]+)""",
    re.I,
)


def detect_encoding(data: bytes, *, declared: str = "") -> str:
    """Python's name of the encoding that `data` is most likely in."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return encoding
    is_plain = not NEVER_IN_UTF8.intersection(data)
    for encoding in (_known(declared), "utf-8" if is_plain else ""):
        try:
            data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        return encoding
    sample = data[:SAMPLE_BYTES]
    guess = chardet.detect(sample, encoding_era=ERAS)
    if guess["confidence"] >= MIN_CONFIDENCE and (known := _known(guess["encoding"] or "")):
        return known
    broken = {
        encoding: sample.decode(encoding, "replace").count("\ufffd") for encoding in OFTEN_BROKEN
    }
    best = min(broken, key=broken.__getitem__)
    return best if broken[best] <= MAX_BROKEN_SHARE * len(sample) else "cp1252"


def decode_text(data: bytes, *, declared: str = "") -> str:
    """Broken bytes become U+FFFD. declared: what the file says of itself, used when it fits."""
    return data.decode(detect_encoding(data, declared=declared), errors="replace").removeprefix(
        "\ufeff"
    )


def declared_encoding(data: bytes) -> str:
    """The encoding that an XML declaration or an HTML meta tag names, else ""."""
    match = DECLARED.search(data[:4096])
    return (match[1] or match[2]).decode("ascii") if match else ""


def web_name(encoding: str) -> str:
    """What browsers call one of Python's encodings (https://encoding.spec.whatwg.org)."""
    if encoding.startswith("cp125"):
        return f"windows-{encoding[2:]}"
    return WEB_NAMES.get(encoding, encoding.replace("_", "-"))


def _known(label: str) -> str:
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return ""
    return WIDER.get(name, name)


# ------------------------------------------------------------------------------------------------ headings
_NUMERAL = r"[0-9０-９〇零一二三四五六七八九十百千两]{1,6}"
# Levels follow the order in which Chinese regulations nest: 编, 章, 节. Articles (条) are text, not headings.
_CHINESE = re.compile(
    rf"第{_NUMERAL}(编|編|部分|章|节|節)(?:[\s\u3000:：]+\S.{{0,40}}|\S{{0,20}})?$"
)
_CHINESE_LEVELS = {"编": 1, "編": 1, "部分": 1, "章": 2, "节": 3, "節": 3}
_ENGLISH = re.compile(
    r"(part|chapter|section|article|appendix)\s+([0-9]{1,3}|[ivxlc]{1,7}|[a-z])\b[.:]?(\s+\S.{0,80})?$",
    re.I,
)
_ENGLISH_LEVELS = {"part": 1, "chapter": 2, "appendix": 2, "article": 3, "section": 3}
_DECIMAL = re.compile(r"(\d{1,2}(?:\.\d{1,2}){1,3})\.?\s+[^\W\d_a-z].{0,80}$")
_ATX = re.compile(r"(#{1,6})\s+(\S.{0,200}?)\s*#*$")
_SENTENCE_END = tuple("。！？；，、.!?;,")
MAX_HEADING_CHARS = 100
BLANK_LINES = re.compile(r"\n[ \t\u3000]*(?:\n[ \t\u3000]*)+")


def heading_level(line: str) -> int:
    """1–6 if the line reads like a heading of a chapter or a numbered section, else 0."""
    line = line.strip()
    if not line or len(line) > MAX_HEADING_CHARS or line.endswith(_SENTENCE_END):
        return 0
    if match := _CHINESE.match(line):
        return _CHINESE_LEVELS[match[1]]
    if match := _ENGLISH.match(line):
        return _ENGLISH_LEVELS[match[1].lower()]
    if match := _DECIMAL.match(line):
        return min(6, match[1].count(".") + 2)
    return 0


def plain_blocks(text: str) -> Iterator[Block]:
    """Paragraphs of unmarked text, parted by blank lines; a heading line is a block of its own."""
    for paragraph in BLANK_LINES.split(text):
        lines: list[str] = []
        whole = paragraph.strip("\n")
        if (match := _ATX.match(whole.strip())) and "\n" not in whole.strip():
            yield Block(text=whole.strip(), kind="heading", level=len(match[1]), label=match[2])
            continue
        for line in whole.split("\n"):
            if not (level := heading_level(line)):
                lines.append(line.rstrip())
                continue
            yield from _paragraph(lines)
            lines = []
            yield Block(text=line.strip(), kind="heading", level=level, label=line.strip())
        yield from _paragraph(lines)


def _paragraph(lines: list[str]) -> Iterator[Block]:
    if text := "\n".join(lines).strip():
        yield Block(text=text)


# ------------------------------------------------------------------------------------------------ text and tables
CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # of which text has next to none
SEEN_CHARS = 20_000


def readable_text(data: bytes, *, markup: bool = False, declared: str = "") -> str:
    """Decoded, with Unix line ends and without NUL. markup: it may declare its own encoding; declared: by what else.

    Raises DocumentUnreadableError for what never was text.
    """
    text = decode_text(data, declared=declared_encoding(data) if markup else declared)
    if len(CONTROL.findall(text[:SEEN_CHARS])) > max(2, len(text[:SEEN_CHARS]) // 200):
        raise DocumentUnreadableError(worded("This is not a text file: it holds binary data."))
    return clean_text(unix_lines(text)).replace("\f", "\n\n")


def parse_text(data: bytes) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    blocks = tuple(plain_blocks(readable_text(data)))
    return ParsedDocument(blocks=blocks, title=first_title(blocks))
