"""An excerpt of a passage as it stands in its document: Markdown for an answer, with one statement marked.

Paragraphs stay paragraphs, code stays code, and a table is a table with the names of its columns, also where the file
is a sheet whose rows are searched as `column: cell; …` (`retrieval.engine.text.statements`). The marked statement is
bold, and of a table the cells of its row. What is left out around it is "…".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePosixPath

from retrieval.engine.text.excerpt_tables import (
    MarkdownTable,
    labelled_table,
    lines_of,
    markdown_table,
    row_line,
)
from retrieval.engine.text.languages import HAN_CHARACTER
from retrieval.engine.text.statements import (
    CELL_END,
    Kind,
    TextBlock,
    blocks_of,
    list_sign,
    sentence_spans,
    without_emphasis,
)

MARKDOWN_ENDINGS = (".md", ".markdown")
CUT = "…"
ENOUGH = 0.3  # of the characters that an excerpt may have, from which it begins with its section
MOST_CELL_CHARS = 300  # of a cell that is not marked
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,300})\]\((?!https?://|mailto:)[^()\s]{0,500}(?: \"[^\"\n]{0,200}\")?\)"
)
_BRACKETED_NUMBER = re.compile(r"\[(\d{1,3})\]")
_ESCAPED_NUMBER = re.compile(r"\\\[(\d{1,3})\\\]")
OWN_BRACKETS = r"&#91;\1&#93;"  # else they would be taken for a citation
_SIGNS = re.compile(r"([\\`*\[\]<~$&]|(?<![^\W_])_|_(?![^\W_]))")
_LINE_SIGN = re.compile(r"^([#>=+|])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PassagePiece:
    """A sentence, a row or a line of code: `source[start:end]` of the passage's text. words: what it says, without the
    names of a table's columns. block: the number of the block that it is a part of."""

    start: int
    end: int
    words: str
    block: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class PassageExcerpt:
    """markdown: what is shown. start, end: of the marked statement in the passage's text."""

    markdown: str
    start: int
    end: int


class ReadPassage:
    """A passage's text, read for an excerpt.

    file_name: by its ending the text is Markdown, or plain. head: the two lines that begin a table of Markdown whose
    rows the passage begins with; empty: it begins with none, or they are not known.
    """

    def __init__(self, text: str, *, file_name: str = "", head: Sequence[str] = ()) -> None:
        self.text = text
        self._is_markdown = (
            PurePosixPath(file_name).suffix.lower() in MARKDOWN_ENDINGS or not file_name
        )
        self._blocks = blocks_of(text)
        self._tables: dict[int, MarkdownTable] = {}
        for number, block in enumerate(self._blocks):
            source = text[block.start : block.end]
            if block.kind == "table":
                above = tuple(head) if number == 0 else ()
                self._tables[number] = markdown_table(source, block.start, above)
            elif block.kind == "text" and (table := labelled_table(source, block.start)):
                self._tables[number] = table
        self.pieces = tuple(self._pieces())

    def _pieces(self) -> Iterator[PassagePiece]:
        for number, block in enumerate(self._blocks):
            if number in self._tables:
                for start, end, cells in self._tables[number].rows:
                    yield PassagePiece(
                        start, end, CELL_END.join(filter(None, cells)), number, "table"
                    )
            elif block.kind == "code":
                for start, end in _code_lines(self.text, block):
                    yield PassagePiece(start, end, self.text[start:end], number, "code")
            else:
                source = self.text[block.start : block.end]
                sign = len(source) - len(source.lstrip())
                sign += list_sign(source[sign:])
                for sentence in sentence_spans(source[sign:]):
                    start = block.start + sign + sentence.start
                    yield PassagePiece(
                        start, start + len(sentence.text), sentence.text, number, block.kind
                    )

    def said(self, at: int) -> str:
        """The words of a piece; of a row with the names of its columns."""
        table = self._tables.get(self.pieces[at].block)
        return (
            f"{' '.join(table.columns)} {self.pieces[at].words}" if table else self.pieces[at].words
        )

    def excerpt(self, best: int, *, chars: int, above: Collection[str] = ()) -> PassageExcerpt:
        """Around `pieces[best]`: as much of what stands before and after as `chars` hold, its own block first. A
        statement that is longer is cut.

        chars: of which a Chinese one counts two. above: the title and headings that are shown already, which the
        excerpt does not begin with.
        """
        chosen = self.pieces[best]
        first, last = self.around(best, chars)
        while first < best and self.pieces[first].words.strip("# ") in above:
            first += 1
        markdown = ""
        for number in dict.fromkeys(piece.block for piece in self.pieces[first : last + 1]):
            pieces = [piece for piece in self.pieces[first : last + 1] if piece.block == number]
            at = pieces.index(chosen) if chosen in pieces else None
            markdown += self._gap_before(number) if markdown else ""
            markdown += self._drawn(number, pieces, at, chars)
        begins = self.pieces[first - 1] if first > 0 else None
        if begins and begins.kind != "heading" and begins.block != self.pieces[first].block:
            markdown = f"{CUT}\n\n{markdown}"
        if last + 1 < len(self.pieces) and self.pieces[last + 1].block != self.pieces[last].block:
            markdown += f"\n\n{CUT}"
        return PassageExcerpt(markdown, chosen.start, chosen.end)

    def _gap_before(self, number: int) -> str:
        """Items of a list stay close to each other."""
        before, block = self._blocks[number - 1 : number + 1]
        is_item = block.kind == "text" and list_sign(self.text[block.start : block.end].lstrip())
        return "\n" if is_item and block.start - before.end <= 1 else "\n\n"

    def around(self, best: int, chars: int) -> tuple[int, int]:
        """The first and the last piece of an excerpt around `pieces[best]`: its block, its section, what follows, and
        where that is little, what stands before. A heading stands only above what it announces."""
        first = last = best
        left = chars - self._length(best) - self._head_length(self.pieces[best].block)
        sections = list(accumulate(piece.kind == "heading" for piece in self.pieces))
        section = range(*self._ends(sections, best))
        within = (
            range(*self._ends([piece.block for piece in self.pieces], best)),
            section,
            range(section.start, len(self.pieces)),
            range(len(self.pieces)),
        )
        for reach in within:
            if reach is within[-1] and chars - left >= ENOUGH * chars:
                break
            grows = True
            while grows:
                grows = False
                for at in (last + 1, first - 1):
                    if at not in reach:
                        continue
                    cost = self._length(at)
                    beside = self.pieces[last if at > last else first].block
                    if self.pieces[at].block != beside:
                        cost += self._head_length(self.pieces[at].block)
                    if cost <= left:
                        left -= cost
                        first = min(first, at)
                        last = max(last, at)
                        grows = True
        while last > best and self.pieces[last].kind == "heading":
            last -= 1
        return first, last

    @staticmethod
    def _ends(numbers: Sequence[int], at: int) -> tuple[int, int]:
        """Where the run of equal numbers begins and ends that `at` is in."""
        start = numbers.index(numbers[at])
        return start, start + numbers.count(numbers[at])

    def _length(self, at: int) -> int:
        """Of a piece as it is shown, about."""
        words = self.pieces[at].words
        return len(words) + len(HAN_CHARACTER.findall(words)) + 1

    def _head_length(self, block: int) -> int:
        table = self._tables.get(block)
        return len(" ".join(table.columns)) if table else 0

    # -------------------------------------------------------------------------------------------- drawing
    def _drawn(
        self, number: int, pieces: Sequence[PassagePiece], at: int | None, chars: int
    ) -> str:
        """The Markdown of these pieces of a block. at: of them, which is marked."""
        if table := self._tables.get(number):
            return self._drawn_table(table, pieces, at)
        block = self._blocks[number]
        source = self.text[block.start : block.end]
        if block.kind == "code":
            lines = [self.text[piece.start : piece.end] for piece in pieces]
            return "\n".join([_fence_line(source), *lines, "```"])
        if block.kind == "heading":
            return self._plain(source.strip())
        return self._drawn_text(number, pieces, at, chars)

    def _drawn_text(
        self, number: int, pieces: Sequence[PassagePiece], at: int | None, chars: int
    ) -> str:
        block = self._blocks[number]
        own = [piece for piece in self.pieces if piece.block == number]
        begins = block.start if pieces[0] == own[0] else pieces[0].start
        ends = block.end if pieces[-1] == own[-1] else pieces[-1].end
        before = "" if pieces[0] == own[0] else f"{CUT} "
        after = "" if pieces[-1] == own[-1] else f" {CUT}"
        if at is None:
            return before + self._plain(self.text[begins:ends]) + after
        best = pieces[at]
        words = self.text[best.start : best.end]
        if self._is_markdown:
            words = without_emphasis(words)
        if len(words) > chars:
            words = words[:chars].rstrip() + CUT
        marked = f"**{self._plain(words).strip()}**"
        shown = (
            self._plain(self.text[begins : best.start])
            + marked
            + self._plain(self.text[best.end : ends])
        )
        return before + shown + after

    def _drawn_table(
        self, table: MarkdownTable, pieces: Sequence[PassagePiece], at: int | None
    ) -> str:
        rows = {start: cells for start, _, cells in table.rows}
        lines = [row_line([self._cell(name) for name in table.columns]), table.delimiter]
        for number, piece in enumerate(pieces):
            cells = [self._cell(cell) for cell in rows[piece.start]]
            if number == at:
                cells = [
                    f"**{without_emphasis(cell) if self._is_markdown else cell}**" if cell else ""
                    for cell in cells
                ]
            lines.append(row_line(cells))
        left_out = len(table.rows) - len(pieces)
        caption = [self._plain(table.caption), ""] if table.caption else []
        return "\n".join([*caption, *lines, *(["", CUT] if left_out else [])])

    def _cell(self, cell: str) -> str:
        shortened = cell if len(cell) <= MOST_CELL_CHARS else cell[:MOST_CELL_CHARS].rstrip() + CUT
        return self._plain(shortened).replace("|", "\\|").replace("\n", " ")

    def _plain(self, text: str) -> str:
        """So that the text is shown as it is: of Markdown without links into nothing, with its own [1] as text."""
        if self._is_markdown:
            return _BRACKETED_NUMBER.sub(OWN_BRACKETS, _LINK.sub(r"\1", text))
        lines = "\n".join(line.strip() for line in text.split("\n")) if "\n" in text else text
        shown = _LINE_SIGN.sub(r"\\\1", _SIGNS.sub(r"\\\1", lines)).replace("\n", "  \n")
        return _ESCAPED_NUMBER.sub(OWN_BRACKETS, shown)


def escaped(text: str) -> str:
    """A title on one line, as text in Markdown."""
    return _SIGNS.sub(r"\\\1", " ".join(text.split()))


def quoted(markdown: str) -> str:
    """As a quotation of Markdown."""
    return "\n".join(
        f"> {line}".rstrip(" ") if not line.strip() else f"> {line}"
        for line in markdown.split("\n")
    )


def _code_lines(text: str, block: TextBlock) -> Iterator[tuple[int, int]]:
    """Of a piece of code, without its fences and blank lines."""
    for start, end, line in lines_of(text[block.start : block.end], block.start):
        if line.strip() and not line.strip().startswith(("```", "~~~")):
            yield start, end


def _fence_line(source: str) -> str:
    """The line that begins the code, with its language."""
    first = source.split("\n", 1)[0].strip()
    return f"```{first.lstrip('`~')}" if first.startswith(("```", "~~~")) else "```"
