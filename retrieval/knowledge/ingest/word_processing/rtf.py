"""Rich text: `striprtf` gives its words. Before it, what it leaves out is put where it finds it (notes, headers, text
boxes, labels), what nobody sees is taken out, and headings and labels get marks, which are read again behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from striprtf.striprtf import PATTERN, rtf_to_text

from retrieval.knowledge.ingest import unread
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument, first_title, table_block
from retrieval.knowledge.ingest.sniff import damaged
from retrieval.knowledge.ingest.tables import TableRow, tables_of
from retrieval.knowledge.ingest.text import heading_level

SIGNATURE = b"{\\rtf"
LEVELS = 6
HEADING = 0xE000  # private characters: HEADING + level before a heading's words, the others around a label
LABEL_START = "\ue010"
LABEL_END = "\ue011"
NOTE_START = "\ue012"
NOTE_END = "\ue013"
# In a cell that goes on with another one.
ABOVE = "\ue014"
BESIDE = "\ue015"
CELL = "|"
WHITE = "\\red255\\green255\\blue255"
UNSEEN_HALF_POINTS = 4
MAX_HEAD_CHARS = 20_000
_COLORS = re.compile(r"\{\s*\\colortbl([^{}]{0,20000})\}")
RUNNING = ("header", "headerf", "headerl", "headerr", "footer", "footerf", "footerl", "footerr")
MARKED = {
    "footnote": (NOTE_START, NOTE_END),
    "listtext": (LABEL_START, LABEL_END),
    "pntext": (LABEL_START, LABEL_END),
}
# Groups that hold no words; those of pictures are long.
SKIPPED = frozenset(
    (
        "pict",
        "objdata",
        "themedata",
        "datastore",
        "colorschememapping",
        "stylesheet",
        "listtable",
        "fldinst",
        "nonshppict",
        "rsidtbl",
        "generator",
        "latentstyles",
        "annotation",
        "listoverridetable",
        "xmlnstbl",
    )
)
_BRACE = re.compile(r"[{}]|\\.", re.S)
_TITLE = re.compile(r"\{\\title ([^{}]{1,300})\}")
_GROUP = re.compile(r"\{\s*(?:\\\*\s*)?\\([a-z]{1,32})")


def parse_rtf(data: bytes) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    if not data.lstrip().startswith(SIGNATURE):
        raise damaged("rtf")
    source = data.decode("latin-1")
    shown = _Shown()
    text = rtf_to_text(shown.read(source), errors="ignore")
    title = _TITLE.search(source[:MAX_HEAD_CHARS])
    blocks = tuple(_blocks(text))
    name = rtf_to_text(f"{{\\rtf1 {title[1]}}}", errors="ignore").strip() if title else ""
    told = (unread.pictures(shown.pictures),) if shown.pictures else ()
    return ParsedDocument(blocks=blocks, title=name or first_title(blocks), unread=told)


# ------------------------------------------------------------------------------------------------ before striprtf
@dataclass(slots=True)
class _Group:
    is_hidden: bool = False
    is_in_table: bool = False
    is_white: bool = False
    is_tiny: bool = False
    has_ground: bool = False  # a colour behind it
    closing: str = ""  # what comes after it
    lifts: bool = False  # text boxes in it are put behind it

    @property
    def is_unseen(self) -> bool:
        return (
            self.is_hidden
            or self.is_tiny
            or (self.is_white and not self.has_ground and not self.is_in_table)
        )


@dataclass(slots=True)
class _Shown:
    """The file as striprtf can read all that is seen of it."""

    pictures: int = 0
    _out: list[str] = field(default_factory=list)
    _groups: list[_Group] = field(default_factory=lambda: [_Group()])
    _boxes: list[str] = field(default_factory=list)
    _whites: frozenset[int] = frozenset()  # numbers of colours
    _merged: list[str] = field(default_factory=list)  # of the row's cells: what each repeats
    _cell: int = 0

    def read(self, source: str) -> str:
        at = 0
        if colors := _COLORS.search(source[:MAX_HEAD_CHARS]):
            listed = enumerate(colors[1].split(";"))
            self._whites = frozenset(
                number for number, color in listed if WHITE in color.replace(" ", "")
            )
        while at < len(source):
            token = PATTERN.match(source, at)
            if token is None:  # a control character
                at += 1
                continue
            at = token.end()
            if token[5] == "{":
                at = self._open(source, token.start())
            elif token[5] == "}":
                self._close()
            elif token[1]:
                self._word(token)
            elif not self._groups[-1].is_unseen:
                self._out.append(token[0])
        return "".join(self._out)

    def _open(self, source: str, start: int) -> int:
        """Where reading goes on."""
        around = self._groups[-1]
        match = _GROUP.match(source, start)
        name = match[1] if match else ""
        if name in SKIPPED:
            self.pictures += name == "pict"
            return _group_end(source, start)
        if match and name == "shptxt":  # within groups that striprtf leaves out
            return self._read_box(source, start, match.end())
        group = replace(around, closing="", lifts=False)
        self._groups.append(group)
        self._out.append("{")
        if match and name in RUNNING:
            group.is_in_table = False
            self._out.append("\\par ")
            group.closing = "\\par "
        elif match and name in MARKED:
            before, after = MARKED[name]
            self._out.append(f"\\u{ord(before)}?")
            group.closing = f"\\u{ord(after)}?"
        else:
            group.lifts = name in ("shp", "do")
            return start + 1
        return match.end()

    def _read_box(self, source: str, start: int, inner_start: int) -> int:
        end = _group_end(source, start)
        inner = _Shown()
        inner._whites = frozenset()  # what lies behind a box is not known
        inner._groups[-1].is_hidden = self._groups[-1].is_hidden
        self._boxes.append("{\\par " + inner.read(source[inner_start : end - 1]) + "\\par}")
        self.pictures += inner.pictures
        return end

    def _close(self) -> None:
        if len(self._groups) == 1:
            return
        group = self._groups.pop()
        self._out.append(group.closing + "}")
        if group.lifts and not any(other.lifts for other in self._groups):
            self._out += self._boxes
            self._boxes.clear()

    def _word(self, token: re.Match[str]) -> None:
        group = self._groups[-1]
        name = token[1].lower()
        self._change_look(group, name, token[2])
        self._change_row(name)
        if name == "par" and group.is_in_table:
            self._out.append(" ")
            return
        if name == "u" and group.is_unseen:
            return
        if name == "outlinelevel" and token[2] and int(token[2]) < LEVELS:
            self._out.append(f"\\u{HEADING + int(token[2]) + 1}?")
        self._out.append(token[0])
        if not token[0].endswith(" "):
            self._out.append(" ")

    def _change_look(self, group: _Group, name: str, number: str | None) -> None:
        """By a word that says how what follows in the group is shown."""
        match name:
            case "v" | "deleted":
                group.is_hidden = number != "0"
            case "plain":
                group.is_hidden = False
                group.is_white = False
                group.is_tiny = False
                group.has_ground = False
            case "fs":
                group.is_tiny = int(number or 24) <= UNSEEN_HALF_POINTS
            case "cf":
                group.is_white = int(number or 0) in self._whites
            case "highlight" | "cb" | "chcbpat" | "cbpat":
                ground = int(number or 0)
                group.has_ground = ground != 0 and ground not in self._whites
            case "pard":
                group.is_in_table = False
            case "intbl":
                group.is_in_table = True

    def _change_row(self, name: str) -> None:
        """By a word that begins or ends a row or one of its cells."""
        match name:
            case "trowd":
                self._merged = [""]
                self._cell = 0
            case "clvmrg" | "clmrg" if self._merged:
                self._merged[-1] = ABOVE if name == "clvmrg" else BESIDE
            case "cellx":
                self._merged.append("")
            case "cell":
                if self._cell < len(self._merged) and self._merged[self._cell]:
                    self._out.append(f"\\u{ord(self._merged[self._cell])}?")
                self._cell += 1
            case "row":
                self._cell = 0


def _group_end(source: str, start: int) -> int:
    """Behind the group that begins there."""
    depth = 0
    for brace in _BRACE.finditer(source, start):
        if brace[0] == "{":
            depth += 1
        elif brace[0] == "}":
            depth -= 1
            if depth == 0:
                return brace.end()
    return len(source)


# ------------------------------------------------------------------------------------------------ after striprtf
def _blocks(text: str) -> Iterator[Block]:
    rows: list[list[str]] = []
    for line in text.split("\n"):
        words = line.strip()
        if words.endswith(CELL):
            rows.append(_cells(words[:-1].split(CELL), rows[-1] if rows else []))
            continue
        yield from _tables(rows)
        rows = []
        if words:
            yield from _paragraph(words)
    yield from _tables(rows)


def _cells(written: list[str], above: list[str]) -> list[str]:
    """A row; merged cells hold what they go on with."""
    cells: list[str] = []
    for at, cell in enumerate(written):
        if ABOVE in cell and at < len(above):
            cells.append(above[at])
        elif BESIDE in cell and cells:
            cells.append(cells[-1])
        else:
            cells.append(" ".join(_unmarked(cell).split()))
    return cells


def _tables(rows: list[list[str]]) -> Iterator[Block]:
    width = max(map(len, rows), default=0)
    grid = [TableRow((*row, *[""] * (width - len(row)))) for row in rows]
    yield from map(table_block, tables_of(grid, expects_head=False))


def _paragraph(words: str) -> Iterator[Block]:
    words, *notes = words.split(NOTE_START)
    for at, note in enumerate(notes):
        inner, _, rest = note.partition(NOTE_END)
        words += rest
        notes[at] = " ".join(_unmarked(inner).split())
    level = next((ord(one) - HEADING for one in words if HEADING < ord(one) <= HEADING + LEVELS), 0)
    label = ""
    if LABEL_START in words:
        label = words.partition(LABEL_START)[2].partition(LABEL_END)[0].strip()
        words = words.partition(LABEL_END)[2]
    words = " ".join(_unmarked(words).split())
    shown = f"{label} {words}".strip()
    level = level or (0 if label else heading_level(words))
    if level and words:
        yield Block(text=shown, kind="heading", level=level, label=shown)
    elif label and words:
        yield Block(text=shown, kind="list_item", level=1, label=label)
    elif words:
        yield Block(text=shown)
    for note in filter(None, notes):
        yield Block(text=note, kind="note")


def _unmarked(text: str) -> str:
    return "".join(one for one in text if not HEADING <= ord(one) <= ord(BESIDE))
