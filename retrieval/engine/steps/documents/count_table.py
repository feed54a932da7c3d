"""A count as Markdown: what was counted, how many, and a table whose rows cite where they stand. No model writes it."""

from __future__ import annotations

from collections.abc import Sequence

from ragsite.core.messages import Sentence, counted, joined, worded
from ragsite.core.text import shortened
from retrieval.engine.deps import Deps
from retrieval.engine.text.count_sentences import count_sentences
from retrieval.engine.text.mentions import Mention, mentions_of, shown_around
from retrieval.engine.text.quoting import one_line
from retrieval.engine.text.records import column_key
from retrieval.engine.values import AnswerSource, Scores
from retrieval.engine.values.counting import (
    CountedRow,
    CountEvidence,
    CountFilter,
    CountResult,
)

MAX_TABLE_COLUMNS = 5
MAX_CELL_CHARS = 160
MAX_EVIDENCE_CHARS = 320  # of a document, all its places together
MIN_PART_CHARS = 120  # of each place
_SIGNS = str.maketrans({"|": "¦", "[": "(", "]": ")", "*": "", "`": "'", "<": "‹", ">": "›"})
OPERATORS = {
    "=": worded("is"),
    "contains": worded("contains"),
    "<": worded("is less than, or before"),
    "<=": worded("is at most, or until"),
    ">": worded("is more than, or after"),
    ">=": worded("is at least, or from"),
}


def count_sources(result: CountResult) -> tuple[AnswerSource, ...]:
    """Each passage once, numbered in the order of the rows."""
    chunks = {one.chunk.chunk_id: one.chunk for row in result.rows for one in row.evidence}
    return tuple(
        AnswerSource(marker=marker, chunk=chunk, scores=Scores(), cited=True)
        for marker, chunk in enumerate(chunks.values(), start=1)
    )


def count_text(
    deps: Deps, filter_: CountFilter, result: CountResult, sources: Sequence[AnswerSource]
) -> str:
    """In the answer's language."""
    number = f"**{result.total:,}**"
    if result.unit == "row":
        found = counted("{number} row", "{number} rows", result.total, number=number)
    else:
        found = counted("{number} document", "{number} documents", result.total, number=number)
    said = [f"{deps.say(found, deps.language)} · {deps.say(_conditions(filter_), deps.language)}"]
    sentences = count_sentences(result)
    if result.rows:
        names = _columns_shown(filter_, result.rows)
        all_names = _columns_of(result.rows)
        if len(names) < len(all_names):
            sentences.append(
                worded(
                    "{shown} of {all} columns are shown; the page “Count and list” has all of them.",
                    shown=len(names),
                    all=len(all_names),
                )
            )
    said.append(" ".join(deps.say(one, deps.language) for one in sentences))
    if result.rows:
        said.append("\n".join(_table(deps, filter_, result, sources, names)))
    return "\n\n".join(said)


def _conditions(filter_: CountFilter) -> Sentence:
    parts: list[str] = []
    for rule in filter_.columns:
        named = {"column": _plain(rule.column), "value": _plain(rule.value)}
        if rule.operator == "between":
            parts.append(
                worded("{column} is between {value} and {upper}", upper=_plain(rule.upper), **named)
            )
        else:
            comparison = OPERATORS[rule.operator]
            parts.append(worded("{column} {comparison} {value}", comparison=comparison, **named))
    if filter_.words and filter_.match == "phrase":
        parts.append(worded("with the phrase “{words}”", words=_plain(filter_.words)))
    elif filter_.words:
        parts.append(worded("with the words “{words}”", words=_plain(filter_.words)))
    for value in filter_.metadata.as_dict().values():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        parts.append(_plain(shown))
    if filter_.year_from is not None:
        parts.append(worded("from {year} on", year=str(filter_.year_from)))
    if filter_.year_to is not None:
        parts.append(worded("up to {year}", year=str(filter_.year_to)))
    if filter_.metadata.documents:
        parts.append(
            counted(
                "in the {count} document chosen",
                "in the {count} documents chosen",
                len(filter_.metadata.documents),
            )
        )
    return joined("; ", parts) if parts else worded("all of them")


def _table(
    deps: Deps,
    filter_: CountFilter,
    result: CountResult,
    sources: Sequence[AnswerSource],
    names: Sequence[str],
) -> list[str]:
    """names: columns that are shown; none where documents are listed."""
    markers = {source.chunk.chunk_id: source.marker for source in sources}
    mentions = mentions_of(filter_.words, filter_.match)
    document = deps.say(worded("Document"), deps.language)
    evidence = deps.say(worded("Evidence"), deps.language)
    head = [*map(_plain, names), document] if names else [document, evidence]
    lines = [_line(["#", *head]), _line(["---"] * (len(head) + 1))]
    for number, row in enumerate(result.rows, start=1):
        cited = "".join(dict.fromkeys(f"[{markers[one.chunk.chunk_id]}]" for one in row.evidence))
        if names:
            cells = {column_key(name): value for name, value in reversed(row.cells)}
            values = [cells.get(column_key(name), "") for name in names]
            shown = [_plain(shown_around(value, mentions, MAX_CELL_CHARS)) for value in values]
            lines.append(_line([str(number), *shown, f"{_plain(row.title)} {cited}".strip()]))
        else:
            text = _evidence_text(row.evidence, mentions)
            lines.append(_line([str(number), _plain(row.title), f"{text} {cited}".strip()]))
    return lines


def _evidence_text(evidence: Sequence[CountEvidence], mentions: Sequence[Mention]) -> str:
    """Of each place a part, with the words that were counted in it."""
    most = max(MIN_PART_CHARS, MAX_EVIDENCE_CHARS // max(1, len(evidence)))
    parts = []
    for one in evidence:
        part = _plain(shown_around(one_line(one.text), mentions, most))
        heading = _plain(one.chunk.heading) if one.by_heading else ""
        parts.append(f"{heading}: {part}" if heading else part)
    return " … ".join(parts)


def _columns_of(rows: Sequence[CountedRow]) -> dict[str, str]:
    """All that a row has, by their keys."""
    return {column_key(name): name for row in rows for name, _value in row.cells}


def _columns_shown(filter_: CountFilter, rows: Sequence[CountedRow]) -> list[str]:
    """The first one, which mostly names the row, those that were compared, those that hold the words, and others as long
    as there is room."""
    names = _columns_of(rows)
    if not names:
        return []
    first = next(iter(names))
    compared = [key for rule in filter_.columns if (key := column_key(rule.column)) in names]
    needed = list(dict.fromkeys([first, *compared]))
    mentions = mentions_of(filter_.words, filter_.match)
    holding = [
        column_key(name)
        for row in rows
        for name, value in row.cells
        if any(mention.in_text(value) for mention in mentions)
    ]
    keys = list(dict.fromkeys([*needed, *holding, *names]))
    return [names[key] for key in keys[: max(MAX_TABLE_COLUMNS, len(needed))]]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """On one line, without what Markdown or a citation would be made of."""
    return shortened(one_line(text).translate(_SIGNS), MAX_CELL_CHARS)
