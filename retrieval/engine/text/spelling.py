"""One spelling of a text, for comparing names and phrases."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from ragsite.core.text import strip_invisible
from retrieval.engine.text.languages import to_simplified


def folded(text: str) -> str:
    """NFKC, Simplified, lower case, single blanks, without what is not seen."""
    seen = unicodedata.normalize("NFKC", strip_invisible(text))
    spelt = seen if seen.isascii() else to_simplified(seen)
    return " ".join(spelt.casefold().split())


def folded_places(text: str) -> tuple[str, list[int]]:
    """A text folded character by character, and of each character of it the place of the one that it comes from. Where
    accents are written as characters of their own, it may differ from `folded`."""
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for spelt in _folded_character(character):
            if spelt == " " and (not characters or characters[-1] == " "):
                continue
            characters.append(spelt)
            places.append(place)
    return "".join(characters), places


@lru_cache(maxsize=20_000)
def _folded_character(character: str) -> str:
    if character.isspace():
        return " "
    seen = unicodedata.normalize("NFKC", strip_invisible(character))
    spelt = seen if seen.isascii() else to_simplified(seen)
    return " ".join(spelt.casefold().split())
