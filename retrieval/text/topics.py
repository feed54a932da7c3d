"""What a document is about, by its own headings: what somebody could ask of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

MIN_CHARS, MAX_CHARS = 2, 60
_DIGITS = "0-9一二三四五六七八九十百"
_NUMBER = re.compile(
    r"(?:#{1,6}[ \t]+)?"
    r"(?:(?:§[ \t]*)?\d{1,3}(?:\.\d{1,3}){0,4}[.)、]?[ \t]+|§[ \t]*\d{1,3}[ \t]*"
    rf"|第[{_DIGITS}]{{1,5}}[章节節条條款][ \t]*|[{_DIGITS}]{{1,3}}、|[(（][{_DIGITS}]{{1,3}}[)）])?"
)
_NO_HEADING = re.compile(r"[|*>\-•–]|https?:|[0-9]+[.)](?![0-9])")
_STOPS = tuple(".。:：;；,，?？!！")
# They stand in many documents and say nothing about this one.
_COMMON = frozenset({
    "contents", "table of contents", "introduction", "preface", "foreword", "abstract", "summary", "overview", "scope",
    "purpose", "conclusion", "conclusions", "references", "bibliography", "appendix", "annex", "index", "notes",
    "general", "miscellaneous", "contact", "acknowledgements", "目录", "目錄", "前言", "引言", "摘要", "总则", "總則",
    "附则", "附則", "附录", "附錄", "参考文献", "參考文獻", "结论", "結論", "概述", "简介", "簡介", "目的", "适用范围",
    "適用範圍",
})  # fmt: skip


def topics(title: str, texts: Iterable[tuple[str, str]]) -> list[str]:
    """Headings without their numbers, each once, in order. `texts`: heading (its path) and text of each chunk."""
    found: dict[str, None] = {}
    for n, (path, text) in enumerate(texts):
        # What a document begins with is its title.
        lines = [path.rpartition(" › ")[2], *_heading_lines(text if n else text.strip().partition("\n\n")[2])]
        for line in lines:
            topic = _without_number(line)
            if _says_something(topic, title):
                found.setdefault(topic)
    return list(found)


def _heading_lines(text: str) -> list[str]:
    """Lines that are marked as headings, or that stand alone above other text and are no sentence."""
    paragraphs = [paragraph.strip() for paragraph in text.split("\n\n")]
    first = [paragraph.partition("\n")[0].strip() for paragraph in paragraphs]
    return [
        line
        for n, (line, paragraph) in enumerate(zip(first, paragraphs, strict=True), start=1)
        if line.startswith("#")
        or (line == paragraph and n < len(first) and not line.endswith(_STOPS) and not _NO_HEADING.match(line))
    ]


def _without_number(line: str) -> str:
    line = line.strip()
    return line[match.end() :].strip() if (match := _NUMBER.match(line)) else line


def _says_something(topic: str, title: str) -> bool:
    if not MIN_CHARS <= len(topic) <= MAX_CHARS or topic.lower() in _COMMON or topic.endswith(_STOPS):
        return False
    return sum(map(str.isalpha, topic)) >= MIN_CHARS and topic.lower() not in title.lower() and title not in topic
