"""Headings in text that has no markup for them: chapters of regulations, numbered sections, and Markdown's `#`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrieval.ingest.blocks import Block

_NUMERAL = r"[0-9０-９〇零一二三四五六七八九十百千两]{1,6}"
# Levels follow the order in which Chinese regulations nest: 编, 章, 节. Articles (条) are text, not headings.
_CHINESE = re.compile(rf"第{_NUMERAL}(编|編|部分|章|节|節)(?:[\s\u3000:：]+\S.{{0,40}}|\S{{0,20}})?$")
_CHINESE_LEVELS = {"编": 1, "編": 1, "部分": 1, "章": 2, "节": 3, "節": 3}
_ENGLISH = re.compile(
    r"(part|chapter|section|article|appendix)\s+([0-9]{1,3}|[ivxlc]{1,7}|[a-z])\b[.:]?(\s+\S.{0,80})?$", re.I
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
