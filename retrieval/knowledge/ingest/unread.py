"""What was not read of a document, in words: what a viewer shows of it, and where.

unread(pictures(2), on_page(7))      "2 pictures without text (page 7)"
"""

from __future__ import annotations

from collections.abc import Iterable

from ragsite.core.messages import Sentence, counted, worded

MOST = 50  # that a document reports


def unread(what: Sentence, place: str = "") -> Sentence:
    return worded("{what} ({place})", what=what, place=place) if place else what


def pictures(count: int) -> Sentence:
    return counted("{count} picture without text", "{count} pictures without text", count)


def charts(count: int) -> Sentence:
    return counted("{count} chart", "{count} charts", count)


def drawings(count: int) -> Sentence:
    """Diagrams and embedded objects."""
    return counted("{count} drawing", "{count} drawings", count)


def formulas(count: int) -> Sentence:
    """Cells whose program stored no value."""
    return counted(
        "{count} formula without a stored value", "{count} formulas without a stored value", count
    )


def comments(count: int) -> Sentence:
    """Remarks of its reviewers."""
    return counted("{count} comment", "{count} comments", count)


def attachments(count: int) -> Sentence:
    return counted("{count} attachment", "{count} attachments", count)


def scanned_pages(count: int) -> Sentence:
    return counted(
        "{count} page that could not be recognised",
        "{count} pages that could not be recognised",
        count,
    )


def on_page(page: int) -> Sentence:
    return worded("page {page}", page=page)


def on_slide(slide: int) -> Sentence:
    return worded("slide {slide}", slide=slide)


def in_sheet(sheet: str) -> Sentence:
    return worded("sheet {sheet}", sheet=sheet)


def summed(told: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """Those that count the same are one."""
    counts: dict[tuple[str, str], int] = {}
    others: list[Sentence] = []
    for sentence in told:
        wording = sentence.wording
        if "one" in wording and not wording["values"]:
            kind = (wording["one"], wording["many"])
            counts[kind] = counts.get(kind, 0) + wording["count"]
        else:
            others.append(sentence)
    return (*(counted(one, many, count) for (one, many), count in counts.items()), *others)


def bounded(told: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """The first `MOST` of them, and how many there are besides."""
    told = tuple(told)
    if len(told) <= MOST:
        return told
    rest = len(told) - MOST
    return (
        *told[:MOST],
        counted("{count} more that is not listed", "{count} more that are not listed", rest),
    )
