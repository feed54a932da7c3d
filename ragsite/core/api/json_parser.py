"""JSON from outside: request bodies, WebSocket frames and uploaded lines are all read here.

What is refused, each with one sentence and never with an exception of Python's own: nesting beyond the interpreter's
stack, numbers that no double or no `int` can hold (1e400, NaN, Infinity, thousands of digits), half a surrogate pair,
which has no form in UTF-8: no answer could quote it, and more than MOST_MARKS values and names, before one is made: a
text of 5 MiB may hold two and a half million, which take a hundred times its size and a minute to be checked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer

from ragsite.core.messages import worded

MOST_MARKS = (
    50_000  # commas, colons and opening brackets; a conversation of 2000 messages has 12,000
)
MARKS = ",:[{"
_STRING = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL
)  # one that does not end goes on to the end
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class InvalidJsonError(Exception):
    """The text is not JSON that we take. The message is one sentence for the sender."""


def parse_json(text: str | bytes) -> Any:
    """The value. Raises InvalidJsonError."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        if _has_too_many_marks(text):
            raise InvalidJsonError(worded("This JSON holds too many values; send less at once."))
        value = json.loads(text, parse_float=_finite, parse_constant=_finite)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except RecursionError as error:
        raise InvalidJsonError(worded("This JSON is nested too deeply.")) from error
    except (
        ValueError
    ) as error:  # also of bytes that are not UTF-8, and of an `int` with too many digits
        raise InvalidJsonError(
            worded("This is not JSON: {problem}.", problem=str(error)[:200])
        ) from error


def _has_too_many_marks(text: str) -> bool:
    """Without those within strings, which are looked for only where there would be too many with them."""
    if _count(text) <= MOST_MARKS:
        return False
    pieces = _STRING.split(text, maxsplit=MOST_MARKS)
    return len(pieces) > MOST_MARKS or _count("".join(pieces)) > MOST_MARKS


def _count(text: str) -> int:
    return sum(text.count(mark) for mark in MARKS)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:20]} is no number that can be kept")
    return value


def bounded_body(stream: IO[Any]) -> bytes:
    """All of it. Raises RequestDataTooBig above DATA_UPLOAD_MAX_MEMORY_SIZE."""
    body: bytes = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise RequestDataTooBig
    return body


class SafeJSONParser(BaseParser):
    """Bodies up to DATA_UPLOAD_MAX_MEMORY_SIZE, in UTF-8. Raises ParseError, RequestDataTooBig."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return parse_json(bounded_body(stream))
        except InvalidJsonError as error:
            raise ParseError(str(error)) from error
