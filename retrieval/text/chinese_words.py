"""Chinese words: jieba's segmentation with its dictionary in a trie, mapped from a file.

jieba keeps the dictionary's words and all their beginnings in a dict, 62 to 78 MiB in each process, filled from
`/tmp/jieba.cache`, where anybody on the machine may have put it. As a trie the same words are 1.2 MiB, which the
processes of a site share. What is cut is the same, in two thirds of the time: all words that begin at a place are one
look-up.

`python -m retrieval.text.chinese_words` makes the two files anew from the installed jieba's dictionary.
"""

from __future__ import annotations

import logging
import math
import sys
import warnings
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import marisa_trie

with warnings.catch_warnings():  # jieba's sources hold escapes that newer Pythons warn of
    warnings.simplefilter("ignore")
    # It opens its own files with setuptools' `pkg_resources` where that can be had, at 8 MiB, and else without.
    missing = sys.modules.setdefault("pkg_resources", None) is None  # type: ignore[arg-type]
    try:
        import jieba
    finally:
        if missing:
            del sys.modules["pkg_resources"]

FOLDER = Path(__file__).parent / "chinese_dictionary"
TRIE, FREQUENCIES = FOLDER / "words.marisa", FOLDER / "frequencies.u32"  # by the trie's ids, little-endian
LONGEST = 16  # characters of the longest word


class Frequencies(Mapping[str, int]):
    """How often each word of the dictionary was counted, 2 and more."""

    def __init__(self, trie: marisa_trie.Trie, counts: array[int]) -> None:
        self._trie = trie
        self._counts = counts

    def __getitem__(self, word: str) -> int:
        return self._counts[self._trie[word]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._trie.iterkeys())

    def __len__(self) -> int:
        return len(self._counts)

    def get(self, word: str, default: Any = None) -> Any:
        at = self._trie.get(word)
        return default if at is None else self._counts[at]


class Segmenter(jieba.Tokenizer):
    """`lcut` and `lcut_for_search` as jieba's; nothing can be added to the dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self._trie = marisa_trie.Trie()
        self._trie.mmap(str(TRIE))
        counts = _read(FREQUENCIES)
        self.FREQ = Frequencies(self._trie, counts)
        self.total = sum(counts)
        self._log = array("d", map(math.log, counts))
        self.initialized = True

    def get_DAG(self, sentence: str) -> None:
        """Nothing: `calc` looks words up where it needs them."""

    def calc(self, sentence: str, DAG: None, route: dict[int, tuple[float, int]]) -> None:
        """The likeliest words from each place to the end: `route[place]` is their log-probability and the last place of
        the first of them. Of two ways that are as likely, the one with the longer word."""
        words_at, log, all_words = self._trie.iter_prefixes_with_ids, self._log, math.log(self.total)
        best = [0.0] * (len(sentence) + 1)
        for start in range(len(sentence) - 1, -1, -1):
            likeliest, end = -math.inf, 0
            for word, at in words_at(sentence[start : start + LONGEST]):
                after = start + len(word)
                way = log[at] - all_words + best[after]
                if way >= likeliest:
                    likeliest, end = way, after
            if not end:
                end = start + 1
                likeliest = 0.0 - all_words + best[end]
            best[start] = likeliest
            route[start] = (likeliest, end - 1)


def load_segmenter() -> Segmenter:
    """A segmenter of one's own, in some 30 ms; it may be used by several threads."""
    jieba.setLogLevel(logging.WARNING)
    return Segmenter()


def _read(path: Path) -> array[int]:
    counts = array("I", path.read_bytes())
    if sys.byteorder == "big":
        counts.byteswap()
    return counts


# ------------------------------------------------------------------------------------------------ making the files
def dictionary_of_jieba() -> dict[str, int]:
    """The words of the installed jieba with their frequencies."""
    with jieba.get_module_res("dict.txt") as lines:
        pairs = (line.decode().split(" ")[:2] for line in lines)
        return {word: int(frequency) for word, frequency in pairs}


def write_dictionary(words: Mapping[str, int]) -> None:
    """Raises ValueError for what the segmenter takes for granted and does not hold."""
    if min(words.values()) < 1 or max(map(len, words)) > LONGEST:
        raise ValueError(f"A word without a frequency, or of more than {LONGEST} characters.")
    trie = marisa_trie.Trie(words)
    counts = array("I", bytes(4 * len(trie)))
    for word, frequency in words.items():
        counts[trie[word]] = frequency
    if sys.byteorder == "big":
        counts.byteswap()
    FOLDER.mkdir(exist_ok=True)
    trie.save(str(TRIE))
    FREQUENCIES.write_bytes(counts.tobytes())


if __name__ == "__main__":
    write_dictionary(dictionary_of_jieba())
