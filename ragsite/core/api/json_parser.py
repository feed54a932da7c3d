"""JSON from outside: request bodies, WebSocket frames and uploaded lines are all read here.

What is refused, each with one sentence and never with an exception of Python's own: nesting beyond the interpreter's
stack, numbers that no double or no `int` can hold (1e400, NaN, Infinity, thousands of digits), a name that stands
twice in one object (parsers disagree which value counts), and more than MOST_NAMES names in all objects together: the
checks behind go through them one by one. Text is left as it is: a field that takes no NUL character or half of a
surrogate pair says so under its own name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer

from ragsite.core.wording import worded

MOST_NAMES = 1000


class InvalidJsonError(ValueError):
    """The text is not JSON that we take. The message is one sentence for the sender."""


def parse_json(text: str) -> Any:
    """The value. Raises InvalidJsonError."""
    names = 0

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal names
        names += len(pairs)
        if names > MOST_NAMES:
            raise InvalidJsonError(worded("This JSON has too many names; it may have {most}.", most=MOST_NAMES))
        return _object(pairs)

    try:
        return json.loads(text, object_pairs_hook=object_of, parse_float=_finite, parse_constant=_no_constant)
    except InvalidJsonError:
        raise
    except RecursionError as error:
        raise InvalidJsonError(worded("This JSON is nested too deeply.")) from error
    except json.JSONDecodeError as error:
        sentence = worded(
            "This is not JSON: line {line}, column {column}: {problem}.",
            line=error.lineno,
            column=error.colno,
            problem=error.msg,
        )
        raise InvalidJsonError(sentence) from error
    except ValueError as error:  # `int` limits the digits that it reads
        raise InvalidJsonError(worded("This JSON holds a number that is too long.")) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise InvalidJsonError(worded("This JSON has an object with the same name twice."))
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidJsonError(worded("This JSON holds a number that is too large."))
    return value


def _no_constant(name: str) -> Any:
    raise InvalidJsonError(worded("This is not JSON: {name} is not a JSON value.", name=name))


class SafeJSONParser(BaseParser):
    """Bodies up to DATA_UPLOAD_MAX_MEMORY_SIZE, in UTF-8. Raises ParseError, RequestDataTooBig."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise RequestDataTooBig
        try:
            return parse_json(body.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ParseError(worded("This body is not UTF-8.")) from error
        except InvalidJsonError as error:
            raise ParseError(str(error)) from error
