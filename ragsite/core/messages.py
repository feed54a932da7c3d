"""Sentences for people, made where no language is known yet. Plain Python, no Django.

The engine, its errors and its decision path speak English. A `Sentence` is such a text that still knows the template
and the values it was made of, so that the edge (a page, an API answer, a socket, a command) can say it in its reader's
language: `ragsite.core.localized`. Templates are collected into the catalogues by `make messages`.

    worded("{passed} of {total} documents are relevant", passed=3, total=10)
    counted("{count} query", "{count} queries", len(queries))
    joined("; ", sentences)

Sentences may be added to each other. Anything else that is done to one as a string (slicing, formatting it into
another one) gives a plain string, which stays English.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from gettext import NullTranslations
from typing import Any, Self

from ragsite.core.text import clean_json, clean_text

Wording = dict[
    str, Any
]  # as JSON: {"text", "values"}, {"one", "many", "count", "values"} or {"separator", "parts"}
Wordings = dict[str, Wording]  # English text → what it was made of
ENGLISH = NullTranslations()  # the templates as they are


class Sentence(str):
    """An English text and its wording."""

    wording: Wording

    def __new__(cls, text: str, wording: Wording | None = None) -> Self:
        sentence = super().__new__(cls, text)
        sentence.wording = wording or {"text": text, "values": {}}
        return sentence

    def __add__(self, more: str) -> Sentence:
        return joined("", [self, more])


def worded(template: str, **values: Any) -> Sentence:
    """A sentence with `{name}` for each value; values may be sentences themselves."""
    return _sentence({"text": template, "values": _plain(values)})


def counted(one: str, many: str, count: int, **values: Any) -> Sentence:
    """`one` for a count of 1, else `many`; both may hold `{count}`."""
    return _sentence({"one": one, "many": many, "count": int(count), "values": _plain(values)})


def joined(separator: str, parts: Iterable[str]) -> Sentence:
    """Like `separator.join(parts)`, with a separator that is translated, too."""
    return _sentence({"separator": separator, "parts": [_part(part) for part in parts]})


def say(wording: Wording, catalogue: Any = ENGLISH) -> str:
    """The text of a wording in the language of a catalogue: what has `gettext` and `ngettext`."""
    if "parts" in wording:
        parts = [
            say(part, catalogue) if isinstance(part, dict) else part for part in wording["parts"]
        ]
        return (catalogue.gettext(wording["separator"]) if wording["separator"] else "").join(parts)
    values = {
        name: say(value, catalogue) if isinstance(value, dict) else value
        for name, value in wording["values"].items()
    }
    if "one" in wording:
        count = wording["count"]
        return catalogue.ngettext(wording["one"], wording["many"], count).format(
            count=count, **values
        )
    text = (
        catalogue.gettext(wording["text"]) if wording["text"] else ""
    )  # of "" a catalogue tells about itself
    return text.format(**values) if values else text


def wordings_of(*values: Any) -> Wordings:
    """Of all sentences in nested mappings and lists, by their English text as it is stored (`clean_text`)."""
    found: Wordings = {}
    for value in values:
        match value:
            case Sentence():
                found[clean_text(value)] = value.wording
            case str() | float() | int() | None:
                pass  # before it is asked for an abstract class
            case Mapping():
                found |= wordings_of(*value.values())
            case list() | tuple():
                found |= wordings_of(*value)
    return found


def wording_of(text: str) -> Wording | None:
    """Of a sentence; None of a plain text."""
    return text.wording if isinstance(text, Sentence) else None


def _sentence(wording: Wording) -> Sentence:
    return Sentence(say(wording), wording)


def _part(value: str) -> str | Wording:
    return value.wording if isinstance(value, Sentence) else clean_text(str(value))


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON: sentences as their wordings, foreign types as clean_json has them."""
    return {
        name: value.wording
        if isinstance(value, Sentence)
        else value
        if isinstance(value, float)
        else clean_json(value)
        for name, value in values.items()
    }
