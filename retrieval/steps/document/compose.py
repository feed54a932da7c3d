"""Answers about whole documents that quote: the outline, the list of what was found, the sentences that differ.

Every line ends with the marker of its passage; passages are numbered in the order in which they are first cited, and
there are at most MOST_SOURCES. What did not find room is counted, and the text says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from retrieval.steps.document.changes import Change, Comparison
from retrieval.steps.document.excerpts import MOST_SOURCES
from retrieval.steps.document.phrases import phrase
from retrieval.steps.document.read import WholeDocument
from retrieval.steps.document.sections import Section, Statement
from retrieval.text.answer_language import Language, in_script_of
from retrieval.text.quoting import neutralise, one_line
from retrieval.values import Scores, Source, StoredChunk

MOST_LINES = 120  # of a list
MOST_CHANGES = 80
OUTLINE_LINES = 10  # that an outline has at least, where its document has so many paragraphs
LEAD_WORDS = 3  # of a sentence that can stand for a section; a shorter one does where there is no other


@dataclass(frozen=True, slots=True)
class Quoted:
    """`text`: with markers. `sources`: cited, in the order of their markers. shown, count: lines of all."""

    text: str
    sources: tuple[Source, ...]
    shown: int
    count: int


@dataclass(frozen=True, slots=True)
class Found:
    """Something to be listed: what it says, under which heading, and where."""

    text: str
    heading: str
    chunk: StoredChunk


@dataclass(slots=True)
class _Citations:
    chunks: dict[str, StoredChunk] = field(default_factory=dict)

    def marker(self, chunk: StoredChunk) -> str:
        """Empty where there is no room for another source."""
        if chunk.chunk_id not in self.chunks:
            if len(self.chunks) == MOST_SOURCES:
                return ""
            self.chunks[chunk.chunk_id] = chunk
        return f"[{list(self.chunks).index(chunk.chunk_id) + 1}]"

    def sources(self) -> tuple[Source, ...]:
        return tuple(
            Source(marker=number, chunk=chunk, scores=Scores(), cited=True)
            for number, chunk in enumerate(self.chunks.values(), start=1)
        )


# ------------------------------------------------------------------------------------------------ the outline
def outline(document: WholeDocument, language: Language) -> Quoted:
    """Each part with its first sentence. Of a document of very many sections the parts are the larger ones."""
    cited = _Citations()
    lines, covered = _outlined(document, cited, MOST_SOURCES, language)
    whole = document.is_whole and covered == len(document.sections)
    head = phrase(
        "outline" if whole else "outline_in_part",
        language,
        name=_title(document, language),
        sections=document.total,
        read=covered,
    )
    return Quoted("\n".join([head, "", *lines]), cited.sources(), covered, document.total)


def side_by_side(first: WholeDocument, second: WholeDocument, *, language: Language) -> Quoted:
    """The outlines of both."""
    cited = _Citations()
    text = [phrase("side_by_side", language, old=_title(first, language), new=_title(second, language))]
    covered = 0
    for number, document in enumerate((first, second), start=1):
        lines, some = _outlined(document, cited, number * MOST_SOURCES // 2, language)
        text += ["", f"**{_title(document, language)}**", "", *lines]
        covered += some
    return Quoted("\n".join(text), cited.sources(), covered, first.total + second.total)


def _outlined(document: WholeDocument, cited: _Citations, most: int, language: Language) -> tuple[list[str], int]:
    """Lines, and how many sections they stand for. most: sources that there may be after it."""
    lines, covered = list[str](), 0
    parts = parts_of(document.sections, most - len(cited.chunks))
    for number, part in enumerate(parts, start=1):
        leads = [(lead, cited.marker(lead.chunk)) for lead in leads_of(part, OUTLINE_LINES // len(parts))]
        if leads and (not leads[0][1] or len(cited.chunks) > most):
            break
        covered += len(part)
        quotes = [f"{in_script_of(lead.text, language)} {marker}" for lead, marker in leads if marker]
        if quotes:
            name = name_of(part, number, language, parts)
            colon = "：" if language.startswith("zh") else ": "
            lines.append(f"- **{name}**{colon}{quotes[0]}" if len(quotes) == 1 else f"- **{name}**")
            lines += [f"    - {quote}" for quote in quotes] if len(quotes) > 1 else []
    return lines, covered


def parts_of(sections: Sequence[Section], most: int) -> list[list[Section]]:
    """Neighbouring sections together, as deep in their headings as there is room for sources; where even the
    outermost headings are too many, runs of equal length."""
    deepest = max((len(section.path) for section in sections), default=0)
    for depth in range(deepest, 0, -1):
        parts = _grouped(sections, depth)
        if len(parts) <= most:
            return parts
    outermost = _grouped(sections, 1)
    length = -(-len(outermost) // max(1, most))
    runs = (outermost[at : at + length] for at in range(0, len(outermost), length))
    return [[section for part in run for section in part] for run in runs]


def _grouped(sections: Sequence[Section], depth: int) -> list[list[Section]]:
    parts: list[list[Section]] = []
    for section in sections:
        if parts and section.path and parts[-1][0].path[:depth] == section.path[:depth]:
            parts[-1].append(section)
        else:
            parts.append([section])
    return parts


def _depth(parts: Sequence[Sequence[Section]]) -> int:
    """How deep the headings are that tell the parts apart."""
    return max((len(part[0].path) for part in parts if len(part) == 1), default=1)


def leads_of(part: Sequence[Section], most: int) -> list[Statement]:
    """One at least, where there is any; of a document of few sections the leads of their paragraphs."""
    leads = [lead for section in part for lead in section.leads()]
    telling = [lead for lead in leads if len(lead.text.split()) > LEAD_WORDS or not lead.text.isascii()]
    return (telling or leads)[: max(1, most)]


def _named(section: Section, number: int, language: Language, *, depth: int) -> str:
    if section.path:
        return _heading(section.path[: max(1, depth)][-1], language)
    page = section.pieces[0].chunk.page
    if page is not None:
        return phrase("page", language, page=page)
    return phrase("beginning", language) if number == 1 else phrase("part", language, number=number)


def name_of(part: Sequence[Section], number: int, language: Language, parts: Sequence[Sequence[Section]]) -> str:
    """What one of `parts`, the `number`th, is called."""
    name = _named(part[0], number, language, depth=_depth(parts))
    last = _named(part[-1], number, language, depth=1)
    return f"{name} – {last}" if part[-1].path[:1] != part[0].path[:1] else name


def _heading(heading: str, language: Language) -> str:
    return in_script_of(one_line(heading).replace("*", ""), language)


def _title(document: WholeDocument, language: Language) -> str:
    return in_script_of(one_line(document.ref.title).replace("*", ""), language)


# ------------------------------------------------------------------------------------------------ the list
def listing(document: WholeDocument, found: Sequence[Found], *, read: int, language: Language) -> Quoted:
    """In the document's order. read: sections that were looked through, of `document.total`."""
    cited, lines = _Citations(), list[str]()
    heading = ""
    shown = 0
    for one in found[:MOST_LINES]:
        marker = cited.marker(one.chunk)
        if not marker:
            break
        if one.heading and one.heading != heading:
            lines += ["", f"**{_heading(one.heading, language)}**", ""]
        heading = one.heading
        lines.append(f"- {in_script_of(one.text, language)} {marker}")
        shown += 1
    name = "list" if shown == len(found) else "list_in_part"
    head = phrase(
        name if read >= document.total else "list_unread",
        language,
        name=_title(document, language),
        count=len(found),
        shown=shown,
        read=read,
        sections=document.total,
    )
    text = "\n".join([head, *([""] if lines and lines[0] else []), *lines])
    return Quoted(text, cited.sources(), shown, len(found))


# ------------------------------------------------------------------------------------------------ what differs
def differences(comparison: Comparison, older: WholeDocument, newer: WholeDocument, *, language: Language) -> Quoted:
    cited = _Citations()
    shown, lines = _change_lines(comparison.changes[:MOST_CHANGES], cited.marker, language)
    count = len(comparison.changes)
    head = phrase(
        "differences",
        language,
        old=_title(older, language),
        new=_title(newer, language),
        changed=comparison.count("changed"),
        added=comparison.count("new"),
        gone=comparison.count("gone"),
    )
    notes = list(compared_in_part(older, newer, language))
    notes += [phrase("changes_in_part", language, count=count, shown=shown)] if shown < count else []
    told = [part for note in notes for part in ("", note)]
    # The first change without room may have taken the last place for one of its two passages.
    sources = tuple(one for one in cited.sources() if any(f"[{one.marker}]" in line for line in lines))
    return Quoted("\n".join([head, *told, *lines]), sources, shown, count)


def change_lines(changes: Sequence[Change], markers: Mapping[str, int], language: Language) -> list[str]:
    """Those whose chunks have a marker, under their headings, as in `differences`."""
    known = [
        change
        for change in changes[:MOST_CHANGES]
        if all(one is None or one.chunk.chunk_id in markers for one in (change.old, change.new))
    ]
    return _change_lines(known, lambda chunk: f"[{markers[chunk.chunk_id]}]", language)[1]


def paired(changes: Sequence[Change], markers: Mapping[str, int], language: Language) -> str:
    """What a model is given of a comparison: under each heading the older wording and the newer one below it."""
    lines = list[str]()
    heading: str | None = None
    for change in changes:
        if change.heading != heading:
            name = _heading(change.heading, language) if change.heading else phrase("beginning", language)
            lines += ["", f"## {name}"]
        heading = change.heading
        for statement, both, alone in ((change.old, "older", "only_older"), (change.new, "newer", "only_newer")):
            if statement is not None:
                side = phrase(both if change.kind == "changed" else alone, language)
                text = in_script_of(neutralise(statement.text), language)
                lines.append(f"{side} [{markers[statement.chunk.chunk_id]}]: {text}")
    return "\n".join(lines).strip()


def compared_in_part(older: WholeDocument, newer: WholeDocument, language: Language) -> Iterator[str]:
    if not (older.is_whole and newer.is_whole):
        read, total = (sum(sizes) for sizes in ((len(older.sections), len(newer.sections)), (older.total, newer.total)))
        yield phrase("compared_in_part", language, read=read, sections=total)


def _change_lines(
    changes: Sequence[Change], marker: Callable[[StoredChunk], str], language: Language
) -> tuple[int, list[str]]:
    """How many are shown, and their lines; up to the first without room for its sources (an empty marker)."""
    lines = list[str]()
    heading: str | None = None
    for shown, change in enumerate(changes):
        markers = [(one, marker(one.chunk)) for one in (change.old, change.new) if one is not None]
        if not all(told for _, told in markers):
            return shown, lines
        if change.heading != heading:
            name = _heading(change.heading, language) if change.heading else phrase("beginning", language)
            lines += ["", f"**{name}**", ""]
        heading = change.heading
        parts = [f"{_in_quotes(in_script_of(one.text, language), language)} {told}" for one, told in markers]
        lines.append(f"- {phrase(change.kind, language)} " + " → ".join(parts))
    return len(changes), lines


def _in_quotes(text: str, language: Language) -> str:
    return f"「{text}」" if language == "zh-hant" else f"“{text}”"
