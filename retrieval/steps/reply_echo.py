"""A reply that only gives back what stands in its own instructions says nothing: small models copy an example, or the
sentence that explains a field. Nor does one that repeats itself until its room is full.

Only texts that the model was free to word are looked at; a verdict out of a list stands in the instructions anyway. A
field that may repeat what the prompt quotes (`quotes`: a question that stands on its own is returned unchanged) may be
one of its lines.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ragsite.core.wording import worded
from retrieval.errors import ModelOutputError
from retrieval.ports import Prompt, Schema

COPIED = 16  # letters in a row that are no chance
_NUMBER = re.compile(r"^\s*\d{1,2}\s*[.、)）]")  # of an entry of a list
CIRCLE, TIMES = 12, 3  # letters at the end, and how often they have to follow each other with the same between
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
        raise ModelOutputError(worded("the model repeated its instructions, or itself"))
    return cleaned


def letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def in_circles(plain: str) -> bool:
    """Whether a text says the same three times over at its end, word for word. `plain`: its letters.

    Sentences that only end alike ("… are not reimbursed") go in no circle.
    """
    end = len(plain) - CIRCLE
    before = plain.rfind(plain[-CIRCLE:], 0, -1)
    while before >= 0:
        period = end - before
        length = max((TIMES - 1) * period + CIRCLE, TIMES * CIRCLE)
        if length > len(plain):
            return False
        if plain[-length:-period] == plain[period - length :]:
            return True
        before = plain.rfind(plain[-CIRCLE:], 0, before + CIRCLE - 1)
    return False


class _Sieve:
    def __init__(self, prompt: Prompt) -> None:
        self.copied = self.kept = 0
        self._prompt = prompt
        self._names: set[str] = set()  # of fields, which small models give as their values

    @cached_property
    def _instructions(self) -> str:
        return letters(self._prompt.system)

    @cached_property
    def _lines(self) -> set[str]:
        """Not looked at for a reply of numbers: with passages it takes milliseconds."""
        *lines, _question = self._prompt.user.splitlines() or [""]
        return {letters(line) for line in lines}

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
