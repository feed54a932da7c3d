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
_WHOLE = re.compile(r'(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*+')  # characters and escapes of a JSON string
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


def marked_shape(*, may_ask_back: bool) -> Mapping[str, Any]:
    """The JSON schema of a marked reply."""
    marks = MARKS if may_ask_back else MARKS[:-1]
    items = [{"enum": list(marks)}, {"type": "string", "description": "the answer"}]
    return {"type": "array", "prefixItems": items, "minItems": 2, "maxItems": 2}


class MarkReader:
    """Takes pieces of a reply and gives back the text in them. `mark`: None until it is read.

    All pieces put together give the same text however they are cut.
    """

    def __init__(self) -> None:
        self.mark: Mark | None = None
        self._held = ""
        self._is_json = self._ended = False

    def feed(self, piece: str) -> str:
        self._held += piece
        if self.mark is None and not self._read_mark():
            return ""
        return self._string() if self._is_json else self._taken(len(self._held))

    def finish(self) -> str:
        """What was held back at the end: of a reply that ends before its mark, all of it."""
        self.mark = self.mark or "answer"
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

    def _string(self) -> str:
        """Of the JSON string, up to its closing quotation mark or an escape that is not whole."""
        if self._ended:
            return ""
        whole = _WHOLE.match(self._held)
        raw = whole[0] if whole else ""
        self._ended = self._held[len(raw) : len(raw) + 1] == '"'
        if not self._ended and (half := _HIGH_SURROGATE.search(raw)):  # its other half is still to come
            raw = raw[: half.start()]
        self._taken(len(raw))
        known = _ESCAPE.sub(lambda escape: escape[0] if escape[1] in '"\\/bfnrtu' else "", raw)
        text = str(json.loads(f'"{known}"', strict=False))
        return text.encode("utf-8", "replace").decode()  # half a pair can't be stored

    def _taken(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        return text
