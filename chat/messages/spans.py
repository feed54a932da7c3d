"""Where in its source a cited sentence stands: characters of the source's text, and of a PDF its page and boxes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chat import models
from retrieval.ingest.parts import Box
from retrieval.services.document_content import MOST_SPANS, page_spans
from retrieval.text.language import to_simplified
from retrieval.values import Source

LEAST_LETTERS = 8  # of a line of the answer that is looked for in a source: less stands anywhere
_MARKER = re.compile(r"\[(\d{1,3})\]")
Place = tuple[int, int]


def cited_places(answer: str, grounding: Sequence[Mapping[str, Any]], *, marker: int, text: str) -> list[Place]:
    """(start, end) in a source's text, in order: what of it bears out the sentences that cite it.

    grounding: as a message keeps it. Without any, as of answers that quote, the lines that stand in the source word for
    word are found, in either script of Chinese.
    """
    checked = [
        (place["start"], place["end"])
        for sentence in grounding
        for place in sentence.get("evidence", ())
        if place["marker"] == marker
    ]
    return sorted(set(checked or _quoted(answer, marker, text)))[:MOST_SPANS]


def source_spans(source: Source, *, answer: str, grounding: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`spans` of a cited source as it is stored: {page, boxes, start, end} each. Asks the database."""
    chunk = source.chunk
    if not source.cited:
        return []
    spans: list[dict[str, Any]] = []
    for start, end in cited_places(answer, grounding, marker=source.marker, text=chunk.text):
        begin = chunk.char_start
        pieces = page_spans(document_id=chunk.document_id, start=begin + start, end=begin + end) if chunk.page else []
        spans += [
            _span(piece.start - begin, piece.end - begin, piece.page or chunk.page, piece.boxes) for piece in pieces
        ] or [_span(start, end, chunk.page, ())]
    return spans[:MOST_SPANS]


def cited_page(row: models.Source) -> int | None:
    """The page of what is cited first of a stored source: a passage may begin on an earlier one."""
    return next((span["page"] for span in row.spans or () if span.get("page")), row.page)


def _span(start: int, end: int, page: int | None, boxes: Sequence[Box]) -> dict[str, Any]:
    return {"page": page, "boxes": [[round(side, 4) for side in box] for box in boxes], "start": start, "end": end}


def _quoted(answer: str, marker: int, text: str) -> Iterator[Place]:
    places = [at for at, character in enumerate(text) if character.isalnum()]
    letters = _letters(text)
    begin = 0
    for match in _MARKER.finditer(answer):
        if int(match[1]) == marker:
            for line in answer[begin : match.start()].split("\n"):
                if place := _found(letters, _letters(line)) or _found(letters, _letters(_cells(line))):
                    yield places[place[0]], _with_stop(text, places[place[1] - 1] + 1)
        begin = match.end()


def _found(letters: str, said: str) -> Place | None:
    found = letters.find(said) if len(said) >= LEAST_LETTERS else -1
    return (found, found + len(said)) if found >= 0 else None


def _cells(line: str) -> str:
    """A row that is quoted as `column: cell; column: cell`: its cells, as they follow each other in the table."""
    return " ".join(pair.partition(": ")[2] or pair for pair in line.split("; "))


def _letters(text: str) -> str:
    letters = "".join(character.lower()[:1] for character in text if character.isalnum())
    folded = to_simplified(letters)  # a quote is shown in its reader's script
    return folded if len(folded) == len(letters) else letters  # places are counted by letters


def _with_stop(text: str, end: int) -> int:
    """With the punctuation that follows at once."""
    while end < len(text) and not text[end].isalnum() and not text[end].isspace():
        end += 1
    return end
