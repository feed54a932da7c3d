"""The terms of a run of Han characters: words by jieba, and bigrams, which survive wrong segmentation."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from retrieval.engine.text.languages import HAN_CHARACTER
from retrieval.engine.text.stop_words import CHINESE as STOP_WORDS

MAX_RUN = 400  # characters without a mark between them that are segmented at once


def words(run: str) -> list[str]:
    return [
        word for part in _parts(run) for word in _segmenter().lcut(part) if word not in STOP_WORDS
    ]


def search_terms(run: str) -> Iterator[str]:
    """Words of the dictionary as they are. Single characters and guessed words that stand beside each other may be one
    name, cut wrongly: all of it as bigrams, and the single characters as well."""
    known = _segmenter().FREQ
    loose: list[str] = []
    for word in (word for part in _parts(run) for word in _segmenter().lcut(part)):
        if word not in STOP_WORDS and (len(word) == 1 or not known.get(word)):
            loose.append(word)
            continue
        yield from _loose_terms(loose)
        loose = []
        if word not in STOP_WORDS:
            yield word
    yield from _loose_terms(loose)


def held_terms(terms: Iterable[str]) -> list[str]:
    """The shorter words that Chinese words of `search_terms` hold, by jieba's search mode: 加班 of 加班费. The index
    has them beside the words."""
    held: list[str] = []
    for term in terms:
        if len(term) > 2 and HAN_CHARACTER.match(term):
            held += [
                word
                for word in _segmenter().lcut_for_search(term)
                if word != term and word not in STOP_WORDS
            ]
    return held


def _loose_terms(pieces: Sequence[str]) -> Iterator[str]:
    """The index holds no bigram with a stop word in it; a name of which nothing else is left may be a word of its."""
    span = "".join(pieces)
    yield from (piece for piece in pieces if len(piece) == 1)
    if len(span) > 1:
        yield from [pair for pair in bigrams(span) if _is_indexed(pair)] or bigrams(span)


def _is_indexed(pair: str) -> bool:
    return pair[0] not in STOP_WORDS and pair[1] not in STOP_WORDS


def index_terms(run: str) -> Iterator[str]:
    """Words, the words within long words, and bigrams: a query's word matches however the text was cut."""
    for part in _parts(run):
        yield from (word for word in _segmenter().lcut_for_search(part) if word not in STOP_WORDS)
    if len(run) > 1:
        yield from filter(_is_indexed, bigrams(run))


def field_terms(run: str) -> Iterator[str]:
    yield from index_terms(run)
    if len(run) > 1:
        yield from (char for char in run if char not in STOP_WORDS)


def _parts(run: str) -> Iterator[str]:
    """The segmenter takes quadratic time; Chinese that means something has punctuation long before."""
    return (run[start : start + MAX_RUN] for start in range(0, len(run), MAX_RUN))


def bigrams(run: str) -> Iterator[str]:
    if len(run) < 2:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]


_loading = threading.Lock()


def _segmenter() -> Any:
    with _loading:
        return _load_segmenter()


@lru_cache(maxsize=1)
def _load_segmenter() -> Any:
    """jieba with its own dictionary, read without the cache that it keeps in /tmp, where anybody could have put it."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
