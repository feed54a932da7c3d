"""JSON from outside: request bodies, WebSocket frames and uploaded lines are all read here.

What is refused, each with one sentence and never with an exception of Python's own: nesting beyond the interpreter's
stack, numbers that no double or no `int` can hold (1e400, NaN, Infinity, thousands of digits), and half a surrogate
pair, which has no form in UTF-8: no answer could quote it.
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


class InvalidJsonError(ValueError):
    """The text is not JSON that we take. The message is one sentence for the sender."""


def parse_json(text: str | bytes) -> Any:
    """The value. Raises InvalidJsonError."""
    try:
        value = json.loads(text, parse_float=_finite, parse_constant=_finite)
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except RecursionError as error:
        raise InvalidJsonError(worded("This JSON is nested too deeply.")) from error
    except ValueError as error:  # also of bytes that are not UTF-8, and of an `int` with too many digits
        raise InvalidJsonError(worded("This is not JSON: {problem}.", problem=str(error)[:200])) from error


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:20]} is no number that can be kept")
    return value


class SafeJSONParser(BaseParser):
    """Bodies up to DATA_UPLOAD_MAX_MEMORY_SIZE, in UTF-8. Raises ParseError, RequestDataTooBig."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        body = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestDataTooBig
        try:
            return parse_json(body)
        except InvalidJsonError as error:
            raise ParseError(str(error)) from error
