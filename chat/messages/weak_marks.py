"""Marks the weakly supported sentences in an answer's rendered Markdown.

A sentence is found by its letters and digits alone, so emphasis, links and citations inside it do not matter; each
piece of text that belongs to it is wrapped by itself, so the marks never cross another element.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from retrieval.text.markdown import is_row, row_cells

_MARKER = re.compile(r"\[\d{1,3}\]")
_TEXT = ("text", "code_inline")
_MIN_CELL = 3  # letters of a table cell that is looked for


def needles(sentences: Iterable[str]) -> list[tuple[str, bool]]:
    """What to look for: (letters and digits, whether they must be the whole block, as a table's cell is)."""
    found = []
    for sentence in sentences:
        plain = _MARKER.sub("", sentence)
        if is_row(plain):
            found += [(cell, True) for cell in map(_squeezed, row_cells(plain)) if len(cell) >= _MIN_CELL]
        elif squeezed := _squeezed(plain):
            found.append((squeezed, False))
    return found


def mark_weak(state: StateCore) -> None:
    """A core rule of markdown-it: reads `needles` from the environment and takes out those that it found."""
    wanted: list[tuple[str, bool]] = state.env.get("weak", [])
    for block in state.tokens:
        if wanted and block.type == "inline" and block.children:
            marked = _places(block.children, wanted)
            block.children = [
                piece for at, token in enumerate(block.children) for piece in _wrap(token, marked.get(at))
            ]


def _places(tokens: Sequence[Token], wanted: list[tuple[str, bool]]) -> dict[int, list[tuple[int, int]]]:
    """Token → character ranges in it that belong to weak sentences."""
    letters = [
        (at, position)
        for at, token in enumerate(tokens)
        if token.type in _TEXT
        for position, char in enumerate(token.content)
        if char.isalnum()
    ]
    text = "".join(tokens[at].content[position] for at, position in letters)
    marked: dict[int, list[tuple[int, int]]] = {}
    searched = 0
    for needle in list(wanted):
        letter, whole = needle
        start = (0 if text == letter else -1) if whole else text.find(letter, searched)
        if start < 0:
            continue
        wanted.remove(needle)
        searched = start + len(letter)
        for at in dict.fromkeys(token for token, _ in letters[start:searched]):
            own = [position for token, position in letters[start:searched] if token == at]
            marked.setdefault(at, []).append((own[0], _with_stop(tokens[at].content, own[-1] + 1)))
    return marked


def _wrap(token: Token, ranges: list[tuple[int, int]] | None) -> Iterator[Token]:
    if not ranges:
        yield token
    elif token.type != "text":
        yield from (_html("<mark>"), token, _html("</mark>"))
    else:
        position = 0
        for start, end in ranges:
            yield _text(token.content[position:start])
            yield from (_html("<mark>"), _text(token.content[start:end]), _html("</mark>"))
            position = end
        yield _text(token.content[position:])


def _with_stop(content: str, end: int) -> int:
    """With the punctuation that follows at once."""
    while end < len(content) and not content[end].isalnum() and not content[end].isspace():
        end += 1
    return end


def _squeezed(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _html(content: str) -> Token:
    return Token("html_inline", "", 0, content=content)
