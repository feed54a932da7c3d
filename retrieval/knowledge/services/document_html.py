"""Blocks of a document as HTML that is safe to put into a page.

Only a fixed set of elements comes out, whatever a file says: its own HTML is text, links lead to http, https or mail
alone, images are left out (their addresses would tell who reads what). Plain Python.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

import nh3
from markdown_it import MarkdownIt

from retrieval.engine.text.statements import (
    MOST_COLUMNS,
    cells_of,
    cjk_emphasis,
    head_line,
    is_delimiter_row,
    is_row,
    row_cells,
)

TAGS = {
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "td": {"dir"}, "th": {"dir"}}
LEVELS_ABOVE = 2  # of the page that shows it: its own title is an h2
MOST_BRACKETS = 400  # of a block that is read for links: links in links take quadratic time
CELL_END = " | "

Block = Sequence[
    int | str | Sequence[str]
]  # start, end, kind, level, perhaps columns, as of `DocumentPart`
_HEADING_SIGNS = re.compile(r"^#{1,6} | #+$")  # of a line without double spaces
_HEADING_TAG = re.compile(r"<(/?)h([1-6])>")


def blocks_html(text: str, blocks: Iterable[Block], *, start: int, markdown: bool) -> str:
    """`text` is the part's, which begins at `start` in the document's; the blocks' places count from there.

    Each block is a `div` that names its place in the document's text: `data-start`, `data-end`.
    """
    return "".join(_block(text, block, start=start, markdown=markdown) for block in blocks)


def _block(text: str, block: Block, *, start: int, markdown: bool) -> str:
    begin, end, kind, level = cast("tuple[int, int, str, int]", tuple(block[:4]))
    columns = cast("Sequence[str]", block[4]) if len(block) > 4 else ()
    source = text[begin:end]
    if kind == "heading":
        inner = _heading(source, level, markdown=markdown)
    elif kind == "table":
        table = _clean(_table(source.splitlines(), columns, markdown=markdown))
        inner = f'<div class="table-frame" tabindex="0">{table}</div>'
    elif markdown:
        inner = _clean(_markdown_html(source))
    elif kind == "code":
        inner = f"<pre>{html.escape(source)}</pre>"
    else:
        inner = _lines(source)
    anchor = f' id="at-{start + begin}"' if kind == "heading" else ""
    return f'<div class="doc-block" dir="auto"{anchor} data-start="{start + begin}" data-end="{start + end}">{inner}</div>'


def _clean(inner: str) -> str:
    return nh3.clean(
        inner,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _heading(source: str, level: int, *, markdown: bool) -> str:
    tag = f"h{min(6, max(1, level) + LEVELS_ABOVE)}"
    words = _HEADING_SIGNS.sub("", " ".join(source.split()))
    return _clean(f"<{tag}>{_inline(words) if markdown else html.escape(words)}</{tag}>")


def _lines(source: str) -> str:
    return f"<p>{html.escape(source).replace(chr(10), '<br>')}</p>"


def _inline(words: str) -> str:
    if words.count("[") > MOST_BRACKETS:
        return html.escape(words)
    return _parser.renderInline(words)


def _markdown_html(source: str) -> str:
    if source.count("[") > MOST_BRACKETS:
        return _lines(source)
    return _HEADING_TAG.sub(_lower_heading, _parser.render(source))


def _lower_heading(match: re.Match[str]) -> str:
    return f"<{match[1]}h{min(6, int(match[2]) + LEVELS_ABOVE)}>"


# ------------------------------------------------------------------------------------------------ tables
def _table(lines: Sequence[str], columns: Sequence[str], *, markdown: bool) -> str:
    """A Markdown table, labelled rows under their columns, or lines whose cells ` | ` parts; of these the first line is
    the head where there are others."""
    if columns:
        return _labelled_table(lines, columns, written=_inline if markdown else html.escape)
    if markdown and lines and (is_row(lines[0]) or "|" in lines[0]):
        rows = [
            [_inline(cell) for cell in row_cells(line)]
            for line in lines
            if not is_delimiter_row(line)
        ]
        headed = len(lines) > 1 and is_delimiter_row(lines[1])
        return "".join(_rows(rows, headed=headed))
    rows = [[html.escape(cell) for cell in line.split(CELL_END)] for line in lines]
    widths = {len(row) for row in rows}
    headed = len(rows) > 1 and len(widths) == 1 and len(rows[0]) > 1
    return "".join(_rows(rows, headed=headed))


def _labelled_table(
    lines: Sequence[str], columns: Sequence[str], *, written: Callable[[str], str]
) -> str:
    """written: a cell as HTML."""
    head = head_line(columns)
    above = lines[: lines.index(head)] if head in lines else []
    rows = [[written(name) for name in columns]]
    for line in lines[len(above) :]:
        if line != head:
            rows.append([written(cell) for cell in cells_of(line, columns)])
    captions = [f"<p>{html.escape(line)}</p>" for line in above]
    return "".join([*captions, *_rows(rows, headed=True)])


def _rows(rows: Sequence[Sequence[str]], *, headed: bool) -> Iterator[str]:
    yield "<table>"
    if headed:
        yield f"<thead>{_row(rows[0], 'th')}</thead>"
    yield "<tbody>"
    for row in rows[int(headed) :]:
        yield _row(row, "td")
    yield "</tbody></table>"


def _row(cells: Sequence[str], tag: str) -> str:
    """Cells beyond the most stand together in the last one."""
    shortened = (
        [*cells[: MOST_COLUMNS - 1], CELL_END.join(cells[MOST_COLUMNS - 1 :])]
        if len(cells) > MOST_COLUMNS
        else cells
    )
    return "<tr>" + "".join(f'<{tag} dir="auto">{cell}</{tag}>' for cell in shortened) + "</tr>"


def _new_parser() -> MarkdownIt:
    """Raw HTML is text. A table inside a list is text too: its short rows would be filled up without a bound."""
    parser = MarkdownIt("commonmark", {"html": False}).use(cjk_emphasis)
    return parser.enable("strikethrough").disable(["image", "reference"])


_parser = _new_parser()
