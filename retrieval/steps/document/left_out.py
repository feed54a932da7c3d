"""What a model's text about whole documents does not tell: sections of a summary, differences of a comparison.

Small models summarise the beginning, or drop a section in the middle; a comparison of forty sentences becomes eight
lines. What is left out is found by the check that sets citations, and quoted behind the model's text, so that the
answer holds at least what the one without a model does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from retrieval.steps.cite.align import align
from retrieval.steps.cite.overlap import same_language
from retrieval.steps.cite.support import support
from retrieval.steps.document.changes import Change
from retrieval.steps.document.compose import change_lines, leads_of, name_of, parts_of
from retrieval.steps.document.phrases import phrase
from retrieval.steps.document.read import WholeDocument
from retrieval.steps.document.sections import Section
from retrieval.text.answer_language import Language, in_script_of
from retrieval.text.numbers import known_numbers
from retrieval.text.sentences import split_sentences
from retrieval.values import Scores, Source, StoredChunk

MOST_PARTS = 16  # that a summary is asked to go by
TOLD = 0.6  # share of a difference's words that one line of the text must have


def part_names(document: WholeDocument, language: Language) -> list[str]:
    """Of the parts that a summary goes by; empty where the document has no headings, or is one part."""
    parts = parts_of(document.sections, MOST_PARTS)
    named = [name_of(part, number, language, parts) for number, part in enumerate(parts, start=1) if part[0].path]
    return named if len(named) > 1 else []


def part_leads(document: WholeDocument) -> list[StoredChunk]:
    """The chunks that `parts_left_out` may cite."""
    return [lead.chunk for part in parts_of(document.sections, MOST_PARTS) for lead in leads_of(part, 1)]


def parts_left_out(document: WholeDocument, text: str, markers: Mapping[str, int], language: Language) -> str:
    """The names and first sentences of the parts of which no sentence of `text` tells; "" where there are none, or the
    text is in another language."""
    parts = parts_of(document.sections, MOST_PARTS)
    whole = "\n".join(piece.text for section in document.sections for piece in section.pieces)
    if len(parts) < 2 or not same_language(text, whole):
        return ""
    told = _parts_told(parts, text)
    lines = []
    for number, part in enumerate(parts, start=1):
        lead = next((one for one in leads_of(part, 1) if one.chunk.chunk_id in markers), None)
        if number not in told and part[0].path and lead is not None:
            name = name_of(part, number, language, parts)
            colon = "：" if language.startswith("zh") else ": "
            quote = in_script_of(lead.text, language)
            lines.append(f"- **{name}**{colon}{quote} [{markers[lead.chunk.chunk_id]}]")
    return "\n".join([phrase("left_out", language), "", *lines]) if lines else ""


def _parts_told(parts: Sequence[Sequence[Section]], text: str) -> set[int]:
    sources = tuple(Source(marker=at, chunk=_as_chunk(part), scores=Scores()) for at, part in enumerate(parts, start=1))
    told: set[int] = set()
    for line in text.split("\n"):
        for sentence in split_sentences(line):
            told |= set(align(sentence, sources, question=""))
    return told


def _as_chunk(part: Sequence[Section]) -> StoredChunk:
    pieces = [piece for section in part for piece in section.pieces]
    return replace(pieces[0].chunk, heading=part[0].heading, text="\n".join(piece.text for piece in pieces))


def changes_left_out(changes: Sequence[Change], text: str, markers: Mapping[str, int], language: Language) -> str:
    """The differences that no line of `text` tells, quoted."""
    if not changes:
        return ""
    lines = [line for line in text.split("\n") if line.strip()]
    left = [change for change in changes if not _tells(lines, change)]
    quoted = change_lines(left, markers, language)
    return "\n".join([phrase("left_out_changes", language), *quoted]) if quoted else ""


def _tells(lines: Sequence[str], change: Change) -> bool:
    """Whether a line has most of the newer sentence's words and its figures; of one that is gone the older's. Figures
    that were replaced have to stand in it as well: by itself the older wording reads as if it held."""
    statement = change.new or change.old
    if statement is None or not same_language(lines[0] if lines else "", statement.text):
        return True
    replaced = known_numbers(change.old.text) - known_numbers(statement.text) if change.old else frozenset()
    return any(
        replaced <= known_numbers(line)
        and _holds(replace(statement.chunk, title="", heading="", text=line), statement.text)
        for line in lines
    )


def _holds(line: StoredChunk, statement: str) -> bool:
    found = support(statement, [line], question="")
    return found.score is None or found.score >= TOLD
