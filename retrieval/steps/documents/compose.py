"""Answers about whole documents that quote: the outline, the rows of a list, the sentences that differ.

Every line ends with the marker of its passage; passages are numbered in the order in which they are first cited, and
there are at most MOST_SOURCES. What did not find room is counted, and the text says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from retrieval.steps.documents.compare import Comparison
from retrieval.steps.documents.excerpts import Excerpt, WholeDocument
from retrieval.steps.documents.parts import MOST_SOURCES
from retrieval.steps.documents.phrases import phrase
from retrieval.text.answer_language import Language, in_script_of
from retrieval.text.quoting import one_line
from retrieval.values import Scores, Source, StoredChunk

MOST_LINES = 120
OUTLINE_LINES = 10  # that an outline has at least, where its documents have so many paragraphs

RowKind = Literal["deadline", "amount", "contact"]
ROW_KINDS: tuple[RowKind, ...] = ("deadline", "amount", "contact")


@dataclass(frozen=True, slots=True)
class Quoted:
    """`text`: with markers. `sources`: cited, in the order of their markers. lines: how many."""

    text: str
    sources: tuple[Source, ...]
    lines: int


@dataclass(frozen=True, slots=True)
class Line:
    """What is quoted under a heading. lead: the site's own words before it."""

    heading: str
    lead: str
    statements: Sequence[Excerpt]


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a list. words: the date, sum or address, as it stands in the statement."""

    kind: RowKind
    words: str
    statement: Excerpt


def outline(documents: Sequence[WholeDocument], language: Language) -> Quoted:
    """Each section with its first sentence; of a document of few sections with some more."""
    lines = []
    for document in documents:
        title = f"{titles([document], language)}: " if len(documents) > 1 else ""
        for _, section in groupby(document.excerpts, key=lambda excerpt: excerpt.section):
            leads = [lead for excerpt in section for lead in excerpt.statements][
                : max(1, OUTLINE_LINES // document.sections)
            ]
            lines += [Line(title + _heading(lead, language), "", [lead]) for lead in leads]
    return quoted(phrase("outline", language, names=titles(documents, language)), lines, language)


def listing(rows: Iterable[Row], documents: Sequence[WholeDocument], language: Language) -> Quoted:
    """By document and kind; what one sentence says of a kind is one line."""
    words: dict[tuple[int, int, Excerpt], list[str]] = {}
    places = {document.ref.id: at for at, document in enumerate(documents)}
    for row in rows:
        key = (places[row.statement.chunk.document_id], ROW_KINDS.index(row.kind), row.statement)
        words.setdefault(key, []).append(row.words)
    lines = []
    for place, kind, statement in sorted(words, key=lambda key: key[:2]):
        title = f"{titles([documents[place]], language)}: " if len(documents) > 1 else ""
        named = _plain(", ".join(dict.fromkeys(words[place, kind, statement])), language)
        lines.append(Line(title + phrase(ROW_KINDS[kind], language), f"**{named}**:", [statement]))
    return quoted("", lines, language)


def differences(comparison: Comparison, older: WholeDocument, newer: WholeDocument, language: Language) -> Quoted:
    """Under each heading the older and the newer wording."""
    head = phrase(
        "differences",
        language,
        old=titles([older], language),
        new=titles([newer], language),
        changed=comparison.count("changed"),
        added=comparison.count("new"),
        gone=comparison.count("gone"),
    )
    lines = [
        Line(
            _plain(change.heading, language) or phrase("beginning", language),
            phrase(change.kind, language),
            change.statements,
        )
        for change in comparison.changes
    ]
    return quoted(head, lines, language, marks="「」" if language == "zh-hant" else "“”")


def quoted(head: str, lines: Sequence[Line], language: Language, *, marks: Sequence[str] = ("", "")) -> Quoted:
    """marks: quotation marks. Up to the first line without room for its sources."""
    chunks: dict[str, StoredChunk] = {}
    text, shown, heading = [head], 0, ""
    for line in lines[:MOST_LINES]:
        wanted = chunks | {one.chunk.chunk_id: one.chunk for one in line.statements}
        if len(wanted) > MOST_SOURCES:
            break
        chunks, numbers = wanted, {key: number for number, key in enumerate(wanted, start=1)}
        text += ["", f"**{line.heading}**", ""] if line.heading != heading else []
        quotes = [
            f"{marks[0]}{in_script_of(one.text, language)}{marks[1]} [{numbers[one.chunk.chunk_id]}]"
            for one in line.statements
        ]
        blank = "" if not line.lead or line.lead.endswith("：") else " "
        text.append(f"- {line.lead}{blank}{' → '.join(quotes)}")
        heading, shown = line.heading, shown + 1
    if shown < len(lines):
        text += ["", phrase("shown", language, shown=shown, count=len(lines))]
    sources = [
        Source(marker=number, chunk=chunk, scores=Scores(), cited=True)
        for number, chunk in enumerate(chunks.values(), start=1)
    ]
    return Quoted("\n".join(text).strip(), tuple(sources), shown)


def _heading(excerpt: Excerpt, language: Language) -> str:
    if excerpt.heading or excerpt.chunk.page is None:
        return _plain(excerpt.heading, language) or phrase("beginning", language)
    return phrase("page", language, page=excerpt.chunk.page)


def titles(documents: Sequence[WholeDocument], language: Language) -> str:
    return ", ".join(_plain(document.ref.title, language) for document in documents)


def _plain(text: str, language: Language) -> str:
    return in_script_of(one_line(text).replace("*", ""), language)
