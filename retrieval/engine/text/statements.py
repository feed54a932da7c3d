"""What a text states: its sentences, list items, table rows and pieces of code, each with its place and its heading.

The text may be a piece of any file, or an answer: a page's lines are indented, a table lacks its head, a dash stands
below a sentence. So it is read line by line (`retrieval.knowledge.ingest.markup.markdown` reads whole Markdown files).
A heading says nothing by itself, and a row without its header says nothing either: headings are left out, and the row
`| Undergraduates | 12 |` under `| Borrower | Items |` becomes "Borrower: Undergraduates; Items: 12". Spreadsheets and
CSV files are read, searched and cited in this form, and shown as the table that they are.

Bold words in Chinese, Japanese and Korean text: CommonMark takes a `**` between a letter and a punctuation mark for
text, as it goes by the spaces of Western languages. Here such a mark beside a CJK character begins and ends bold words
as one beside a space would (`依**《細則》**的規定`). A single `*` stays as it is: `5*（3+2）*4` is arithmetic.
`ragsite/web/static/js/chat/emphasis.js` has the same rule for the answer that is still being written;
tests/markdown_cases.json holds both to the same results.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token

from retrieval.engine.text.languages import HAN_CHARACTER, shown_language
from retrieval.engine.text.sentences import sentence_spans

# ------------------------------------------------------------------------------------------------ tables
MOST_COLUMNS = 200  # of a table that is shown as one
CELL_END = "; "
NAME_END = ": "
HEAD_END = " | "
QUOTE = '"'
LEVELS = " · "  # between the names of a column that several rows name
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def head_line(columns: Sequence[str]) -> str:
    return HEAD_END.join(filter(None, columns))


def column_names(head: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Of the rows of a head, from the top: "Winter" above "Week" is "Winter · Week"; what is repeated is said once."""
    return tuple(
        LEVELS.join(dict.fromkeys(filter(None, names))) for names in zip(*head, strict=True)
    )


def labelled_row(columns: Sequence[str], cells: Sequence[str]) -> str:
    """Empty cells are left out; a cell of a column without a name stands alone. A cell whose words could be taken for a
    cell of another column stands in quotation marks."""
    ends = tuple(f"{CELL_END}{name}{NAME_END}" for name in columns if name)
    pairs = []
    for at, cell in enumerate(cells):
        if not cell:
            continue
        shown = f"{QUOTE}{cell}{QUOTE}" if any(end in cell for end in ends) else cell
        pairs.append(
            f"{columns[at]}{NAME_END}{shown}" if at < len(columns) and columns[at] else shown
        )
    return CELL_END.join(pairs)


def cells_of(line: str, columns: Sequence[str]) -> list[str]:
    """The cells of a labelled row, one for each column; what has no name belongs to the cell before it."""
    cells = [""] * len(columns)
    at = -1
    pieces = line.split(CELL_END)
    for number, piece in enumerate(pieces):
        later = enumerate(columns[at + 1 :], start=at + 1)
        named = next(
            (column for column, name in later if name and piece.startswith(name + NAME_END)), None
        )
        if named is None or (at >= 0 and _is_open(cells[at], pieces[number:])):
            cells[max(at, 0)] += (CELL_END if cells[max(at, 0)] else "") + piece
        else:
            at = named
            cells[at] = piece[len(columns[at]) + len(NAME_END) :]
    return [
        cell[1:-1] if CELL_END in cell and cell[0] == cell[-1] == QUOTE else cell for cell in cells
    ]


def _is_open(cell: str, pieces: Sequence[str]) -> bool:
    """Whether a quoted cell goes on in the pieces of the line that follow."""
    begins = cell.startswith(QUOTE) and not (len(cell) > 1 and cell.endswith(QUOTE))
    return begins and any(piece.endswith(QUOTE) for piece in pieces)


def labelled_lines(lines: Sequence[str]) -> frozenset[int]:
    """Which lines are rows: they begin with a name that another one begins with, or that the head line holds."""
    firsts = [_first_name(line) for line in lines]
    count = Counter(firsts)
    head = set(lines[0].split(HEAD_END)) if lines and HEAD_END in lines[0] else set()
    return frozenset(
        at for at, name in enumerate(firsts) if name and (count[name] > 1 or name in head)
    )


def _first_name(line: str) -> str:
    name, end, _ = line.lstrip().partition(NAME_END)
    return name if end else ""


# ------------------------------------------------------------------------------------------------ of Markdown
def is_row(line: str) -> bool:
    """Whether a line looks like a row of a table."""
    return line.lstrip().startswith("|")


def is_delimiter_row(line: str) -> bool:
    """`|---|:--:|`: what stands between a table's head and its rows."""
    return "--" in line and not line.strip().strip("|:- \t")


def row_cells(line: str) -> list[str]:
    """`| a | b \\| c |` → ["a", "b | c"]."""
    row = line.strip().removeprefix("|")
    cells = [cell.strip().replace("\\|", "|") for cell in _CELL_BORDER.split(row)]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


# ------------------------------------------------------------------------------------------------ bold words
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)


def cjk_emphasis(parser: MarkdownIt) -> None:
    """A plugin of markdown-it."""
    parser.inline.ruler.before("emphasis", "cjk_emphasis", _bold)


def _bold(state: StateInline, silent: bool) -> bool:
    start = state.pos
    if silent or state.src[start] != "*":
        return False
    scanned = state.scanDelims(start, True)
    end = start + scanned.length
    before = state.src[start - 1] if start else " "
    after = state.src[end] if end < state.posMax else " "
    if scanned.length < 2 or not (_CJK.match(before) or _CJK.match(after)):
        return False
    for _ in range(scanned.length):
        state.push("text", "", 0).content = "*"
        state.delimiters.append(
            Delimiter(
                marker=ord("*"),
                length=scanned.length,
                token=len(state.tokens) - 1,
                end=-1,
                open=not after.isspace(),
                close=not before.isspace(),
            )
        )
    state.pos = end
    return True


# ------------------------------------------------------------------------------------------------ statements
Kind = Literal["heading", "text", "table", "code"]
_FENCE = re.compile(r"\s*(?:(?:[-*•+]|\d{1,3}[.)、])\s+)?(```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S")
MAX_LABEL_CHARS = 300  # characters of a heading that are read for inline markup: links in links take quadratic time
_ANCHOR = re.compile(r"\{:? ?#[^{}\s]* ?\}\Z")
# Wider than Markdown's own: "•" and "3、" are what people and models write.
_LIST_SIGN = re.compile(r"(?:[-*•+]|\d{1,3}[.)、])\s+")
_SIGNS = re.compile(r"\s*(?:(?:[-*•+]|\d{1,3}[.)、]|>|#{1,6})\s+)+")
_MARKUP = frozenset("\\`*_[]<>&!{}")
_EMPHASIS = re.compile(r"\*\*|__|`")
_inline = MarkdownIt("commonmark").use(cjk_emphasis)


@dataclass(frozen=True, slots=True)
class TextBlock:
    """`text[start:end]`: whole lines."""

    kind: Kind
    start: int
    end: int


class Statement(NamedTuple):
    """text: on one line and without markup. heading: that it stands under in this text; empty where there is none.
    start, end, kind: its place in the text, and what stands there."""

    heading: str
    text: str
    start: int = 0
    end: int = 0
    kind: Kind = "text"


def blocks_of(text: str) -> list[TextBlock]:
    """Runs of lines of one kind, in order; a heading and a list item begin one of their own. Together they hold every
    line that is not blank."""
    blocks: list[TextBlock] = []
    start = 0
    fence = ""
    goes_on = False
    for line in text.split("\n"):
        end = start + len(line)
        kind = _kind_of(line)
        opening = _FENCE.match(line)
        if fence:
            kind = "code"
            fence = "" if line.strip().startswith(fence) else fence
        elif opening:
            kind = "code"
            fence = opening[1]
            goes_on = False
        if kind is not None:
            begins = not goes_on or kind != blocks[-1].kind or kind == "heading"
            if begins or (kind == "text" and list_sign(line.lstrip())):
                blocks.append(TextBlock(kind, start, end))
            else:
                blocks[-1] = replace(blocks[-1], end=end)
        goes_on = kind is not None and (kind != "code" or bool(fence))
        start = end + 1
    return blocks


def _kind_of(line: str) -> Kind | None:
    if not line.strip():
        return None
    if _HEADING.match(line):
        return "heading"
    return "table" if is_row(line) else "text"


def heading_label(line: str) -> str:
    """A heading's words without markup."""
    return inline_text(line.strip().strip("#").strip())


def headed_statements_of(text: str) -> list[Statement]:
    """Each statement of a Markdown or plain text, in order."""
    statements: list[Statement] = []
    heading = ""
    for block in blocks_of(text):
        source = text[block.start : block.end]
        if block.kind == "heading":
            heading = heading_label(source)
            continue
        found = _rows(source) if block.kind == "table" else _code(source)
        if block.kind == "text":
            found = _sentences(source, language=shown_language(text))
        for start, end, words in found:
            plain = " ".join(without_emphasis(words).split())
            if any(map(str.isalnum, plain)):
                statements.append(
                    Statement(heading, plain, block.start + start, block.start + end, block.kind)
                )
    return statements


def _code(source: str) -> Iterator[tuple[int, int, str]]:
    yield 0, len(source), source.replace("```", "").replace("~~~", "")


def _rows(source: str) -> Iterator[tuple[int, int, str]]:
    """Rows with the header's names where the table has a header, else the cells alone."""
    lines = list(_lines(source))
    headed = len(lines) > 1 and is_delimiter_row(lines[1][2])
    header = row_cells(lines[0][2]) if headed else []
    for start, end, line in lines[2:] if headed else lines:
        cells = row_cells(line)
        if len(cells) == len(header):
            yield start, end, _in_own_script(labelled_row(header, cells))
        elif not is_delimiter_row(line):
            yield start, end, _in_own_script(CELL_END.join(filter(None, cells)))


def _sentences(source: str, *, language: str) -> Iterator[tuple[int, int, str]]:
    """Sentences of a paragraph whose lines may be wrapped, without a list's sign; of a file that is a table, its rows,
    but not the names of its columns."""
    lines = list(_lines(source))
    labelled = labelled_lines([line for _, _, line in lines])
    if labelled or any(HEAD_END in line for _, _, line in lines):
        for at, (start, end, line) in enumerate(lines):
            if at in labelled or at or not labelled:
                yield start, end, _in_own_script(line.replace(HEAD_END, CELL_END))
        return
    sign = len(source) - len(source.lstrip())
    sign += list_sign(source[sign:])
    for sentence in sentence_spans(source[sign:], language=language):
        yield sign + sentence.start, sign + sentence.end, sentence.text


def _lines(source: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    for line in source.split("\n"):
        yield start, start + len(line), line
        start += len(line) + 1


def _in_own_script(row: str) -> str:
    """The row with the signs of its own script behind names and cells."""
    if not HAN_CHARACTER.search(row):
        return row.strip()
    return "；".join(piece.replace(NAME_END, "：", 1) for piece in row.strip().split(CELL_END))


# ------------------------------------------------------------------------------------------------ inside a line
def list_sign(line: str) -> int:
    """The length of the sign that begins a list item, with the blanks after it; 0 where there is none."""
    match = _LIST_SIGN.match(line)
    return match.end() if match else 0


def leading_signs(text: str) -> int:
    """The length of all signs in front of a line's words: of lists, quotations and headings, and the blanks between."""
    match = _SIGNS.match(text)
    return match.end() if match else 0


def without_emphasis(text: str) -> str:
    """Without `**`, `__` and backticks."""
    return _EMPHASIS.sub("", text)


def without_emphasis_places(text: str) -> tuple[str, list[int]]:
    """The same, and of each of its characters the place in the text."""
    places = list(range(len(text)))
    for signs in reversed(list(_EMPHASIS.finditer(text))):
        del places[signs.start() : signs.end()]
    return without_emphasis(text), places


def inline_text(markdown: str) -> str:
    """A line's words: links by their text, without emphasis, HTML and a closing `{#anchor}`."""
    line = markdown[:MAX_LABEL_CHARS].rstrip()
    if _MARKUP.isdisjoint(line):  # most headings
        return " ".join(line.split())
    words = "".join(map(_words, _inline.parseInline(_ANCHOR.sub("", line))[0].children or ()))
    return " ".join(words.split())


def _words(token: Token) -> str:
    if token.type == "html_inline":
        return ""
    return " " if token.type in ("softbreak", "hardbreak") else token.content
