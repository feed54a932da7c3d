"""Sentences of `ragsite.core.messages` in the language of whoever reads them: the active one of Django."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.utils import translation

from ragsite.core.messages import Sentence, Wording, Wordings, counted, say, worded


def _is_english() -> bool:
    return (translation.get_language() or settings.LANGUAGE_CODE).startswith("en")


def translate(template: str, **values: Any) -> str:
    """`worded` in the active language."""
    return str(localized(worded(template, **values)))


def translate_count(one: str, many: str, count: int, **values: Any) -> str:
    """`counted` in the active language."""
    return str(localized(counted(one, many, count, **values)))


def localized_text(text: str, wording: Wording | None) -> str:
    """A stored text in the active language, where it is known what it was made of."""
    return text if wording is None or not text or _is_english() else say(wording, translation)


def localized(value: Any, wordings: Wordings | None = None) -> Any:
    """`value` with every sentence in it said in the active language.

    A sentence is a `Sentence`, or a string that `wordings` has. Other strings (names, what users and models wrote)
    stay as they are, and so does everything in English.
    """
    if _is_english():
        return value
    match value:
        case Sentence():
            return say(value.wording, translation)
        case str():
            return say(wordings[value], translation) if wordings and value in wordings else value
        case Mapping():
            return {name: localized(item, wordings) for name, item in value.items()}
        case list() | tuple():
            return [localized(item, wordings) for item in value]
        case _:
            return value


def language_of(scope: Mapping[str, Any]) -> str:
    """Of who sent an ASGI scope: the cookie of the language switch, else `Accept-Language`."""
    return translation.get_language_from_request(
        ASGIRequest({"method": "GET", **scope}, io.BytesIO())
    )
