"""The terms of a word with blanks around it, and of codes and numbers."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from retrieval.engine.text.stop_words import ENGLISH as STOP_WORDS

MAX_TERM_CHARS = 64
MAX_CODE_PARTS = 12
CACHED_WORDS = 30_000
_NOT_WORD = re.compile(r"\W+")
_CONNECTORS = re.compile(r"[\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL = re.compile(r"v?\d+(?:[.:]\d+)+", re.IGNORECASE)
_STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}


@lru_cache(maxsize=CACHED_WORDS)
def known_word_terms(token: str, language: str, shouting: bool) -> tuple[str, ...]:
    """Texts say the same words again and again."""
    return tuple(filter(None, map(cleaned, word_terms(token, language, shouting))))


def word_terms(token: str, language: str, shouting: bool) -> Iterator[str]:
    token = _THOUSANDS.sub("", token)
    if token.isalpha() and token[1:].islower():  # by far the most frequent case
        yield from _stems(token.lower(), language)
        return
    whole = _whole_code(token)
    if whole:
        yield whole
    if _DECIMAL.fullmatch(token):
        return
    parts = [part for piece in _CONNECTORS.split(token) for part in _CAMEL.split(piece) if part]
    for part in parts[:MAX_CODE_PARTS]:
        term = part.lower()
        if term == whole:
            continue
        if part.isupper() and len(part) > 1 and not shouting:
            yield fold_accents(term)  # an acronym: never a stop word (WHO, IT), never stemmed
        else:
            yield from _stems(term, language)


def _whole_code(token: str) -> str:
    """The token as one term when it is a code or a number: has a digit, an underscore, a dot or inner capitals, or ends
    in ++ or #."""
    if token.endswith(("++", "#")):
        return token.lower().replace("++", "_plus_plus").replace("#", "_sharp")
    if token.startswith("."):  # .NET, .env
        return "dot_" + _CONNECTORS.sub("_", token[1:].lower())
    inner = token[1:]
    is_code = (
        any(char.isdigit() for char in token)
        or any(connector in inner for connector in "_.@")
        or ("-" in inner and token.isupper())
        or bool(_CAMEL.search(token) and not token.isupper())
    )
    return _CONNECTORS.sub("_", token.lower()).strip("_") if is_code else ""


def _stems(word: str, language: str) -> Iterator[str]:
    if word in STOP_WORDS and (language == "en" or language not in _STEMMERS):
        return
    if not word.isalpha():
        yield word
        return
    own = _stem(word, language if language in _STEMMERS else "en")
    yield own
    if language in _STEMMERS and language != "en":
        english = _stem(word, "en")
        if english != own:
            yield english


_stemming = threading.Lock()


@lru_cache(maxsize=100_000)
def _stem(word: str, language: str) -> str:
    if language == "en":
        word = fold_accents(word)
    with _stemming:  # a stemmer keeps its state in itself
        return fold_accents(_stemmer(language).stemWord(word))


@lru_cache(maxsize=len(_STEMMERS))
def _stemmer(language: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(_STEMMERS[language])


def fold_accents(term: str) -> str:
    """résumé → resume; letters of other scripts keep their marks' base."""
    if term.isascii():
        return term
    return "".join(
        char for char in unicodedata.normalize("NFKD", term) if not unicodedata.combining(char)
    )


def cleaned(term: str) -> str:
    """Lower case and word characters alone, also where Unicode's lower-casing adds a mark."""
    if term.isascii() and term.isalnum():
        return term.lower()[:MAX_TERM_CHARS]
    return _NOT_WORD.sub("", term.lower())[:MAX_TERM_CHARS]
