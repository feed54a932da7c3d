"""The mark before an answer: the writing model says first whether the passages answer, and then writes.

The reply is a JSON array of two strings, the mark and the text, which the server's grammar enforces: `["answer", "…"]`.
So a small model can't forget the mark, and reading it costs three tokens. Text that is not of this form is an answer:
in doubt the model writes.
Source: the reflection tokens of Self-RAG (Asai et al., ICLR 2024, arXiv:2310.11511).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, cast

Mark = Literal["answer", "no_answer", "ask_back"]
MARKS: tuple[Mark, ...] = ("answer", "no_answer", "ask_back")
_HEAD = re.compile(rf'\s*\[\s*"({"|".join(MARKS)})"\s*(?:,\s*"|\])')
_HEAD_CHARS = 80  # a longer beginning without a mark is text
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[^u])")
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB]")
_SPECIAL = re.compile(r'["\\]')


def marked_shape(*, may_ask_back: bool) -> Mapping[str, Any]:
    """The JSON schema of a marked reply."""
    marks = MARKS if may_ask_back else MARKS[:2]
    items = [{"enum": list(marks)}, {"type": "string", "description": "the answer"}]
    return {"type": "array", "prefixItems": items, "minItems": 2, "maxItems": 2}


class MarkReader:
    """Takes pieces of a reply and gives back the text in them. `mark`: None until it is read.

    All pieces put together give the same text however they are cut.
    """

    def __init__(self) -> None:
        self.mark: Mark | None = None
        self._held = ""
        self._is_json = False
        self._ended = False

    def feed(self, piece: str) -> str:
        self._held += piece
        if self.mark is None and not self._read_mark():
            return ""
        return self._text() if self._is_json else self._taken(len(self._held))

    def finish(self) -> str:
        """What was held back at the end: of a reply that ends before its mark, all of it."""
        if self.mark is None:
            self.mark = "answer"
        return "" if self._is_json else self._taken(len(self._held))

    def _read_mark(self) -> bool:
        if match := _HEAD.match(self._held):
            self.mark, self._is_json = cast("Mark", match[1]), True
            self._ended = match[0].endswith("]")
            self._taken(match.end())
            return True
        begun = self._held.lstrip()
        if begun[:1] not in ("", "[") or len(begun) > _HEAD_CHARS:
            self.mark = "answer"
        return self.mark is not None

    def _text(self) -> str:
        """Of the JSON string, up to its closing quotation mark or an escape that is not whole."""
        out: list[str] = []
        while self._held and not self._ended:
            match = _SPECIAL.search(self._held)
            out.append(self._taken(match.start() if match else len(self._held)))
            if match is None:
                break
            if match[0] == '"':
                self._ended = True
                break
            character = self._escaped()
            if character is None:
                break
            out.append(character)
        return "".join(out)

    def _escaped(self) -> str | None:
        """The character of the escape at the beginning, or of two where they are one (a surrogate pair). None: more
        has to come first."""
        first = _ESCAPE.match(self._held)
        if first is None:
            return None
        end = first.end()
        if _HIGH_SURROGATE.match(first[0]):
            second = _ESCAPE.match(self._held, end)
            rest = self._held[end:]
            if second is None and (not rest or rest.startswith("\\")) and len(rest) < len(first[0]):
                return None
            end = second.end() if second else end
        try:
            text = str(json.loads(f'"{self._taken(end)}"'))
        except ValueError:  # an escape that JSON does not know
            return ""
        return text.encode("utf-8", "replace").decode()  # half a pair can't be stored

    def _taken(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        return text
