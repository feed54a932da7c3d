"""A reply that only gives back what stands in its own instructions says nothing: small models copy an example, or the
sentence that explains a field. Nor does one that repeats itself until its room is full.

Only texts that the model was free to word are looked at; a verdict out of a list stands in the instructions anyway. A
field that may repeat what the prompt quotes (`quotes`: a question that stands on its own is returned unchanged) may be
one of its lines.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from retrieval.errors import ModelOutputError
from retrieval.ports import Prompt, Schema

COPIED = 16  # letters in a row that are no chance
_NUMBER = re.compile(r"^\s*\d{1,2}\s*[.、)）]")  # of an entry of a list
CIRCLE, TIMES = 12, 3  # letters at the end that are there so many times
EAST_ASIAN_LETTER = 3  # letters that one Chinese character counts for
_EAST_ASIAN_FROM = "\u2e80"


def without_echo(reply: Schema, prompt: Prompt) -> Schema:
    """The reply without the texts that are copied from the prompt's instructions, go in circles, or are dots alone:
    fields become empty, entries of lists fall out. Raises ModelOutputError where nothing else is left."""
    sieve = _Sieve(prompt)
    cleaned = sieve.model(reply)
    if not sieve.copied:
        return reply
    if not sieve.kept:
        raise ModelOutputError("the model repeated its instructions, or itself")
    return cleaned


def letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def in_circles(plain: str) -> bool:
    """Whether the end of a text stood there twice before. `plain`: its letters."""
    return len(plain) > CIRCLE and plain.count(plain[-CIRCLE:]) >= TIMES


class _Sieve:
    def __init__(self, prompt: Prompt) -> None:
        self.copied = self.kept = 0
        self._instructions = letters(prompt.system)
        *lines, _question = prompt.user.splitlines() or [""]
        self._names: set[str] = set()  # of fields, which small models give as their values
        self._lines = {letters(line) for line in lines}

    def model(self, reply: Schema) -> Schema:
        fields = type(reply).model_fields
        self._names = self._names | {letters(name) for name in fields}
        return reply.model_copy(update={name: self._field(getattr(reply, name), fields[name]) for name in fields})

    def _field(self, value: Any, info: FieldInfo) -> Any:
        extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        if isinstance(value, str) and ("enum" in extra or info.annotation is not str):
            self.kept += 1
            return value
        if isinstance(value, str) and extra.get("quotes"):
            return "" if self._is_copied(value, lines=False) else value
        return self._value(value)

    def _value(self, value: Any) -> Any:
        match value:
            case BaseModel():
                return self.model(value)
            case list():
                return [
                    self._value(entry) for entry in value if not isinstance(entry, str) or not self._is_copied(entry)
                ]
            case str():
                return "" if self._is_copied(value) else value
            case None:
                return None
            case _:
                self.kept += 1
                return value

    def _is_copied(self, text: str, *, lines: bool = True) -> bool:
        if not text.strip():
            return False
        plain = letters(_NUMBER.sub("", text))
        weight = sum(EAST_ASIAN_LETTER if char >= _EAST_ASIAN_FROM else 1 for char in plain)
        known = weight >= COPIED and (plain in self._instructions or (lines and plain in self._lines))
        copied = not plain or known or plain in self._names or in_circles(plain)
        self.copied += copied
        self.kept += not copied
        return copied
