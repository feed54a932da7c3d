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


def estimate_tokens(text: str) -> int:
    """An upper-leaning estimate: a CJK character is a token, four ASCII characters are one, two of any other script."""
    if text.isascii():
        return math.ceil(len(text) / LATIN_CHARS_PER_TOKEN)
    cjk = sum(map(len, _CJK.findall(text)))
    ascii_ = len(text.encode("ascii", "ignore"))
    other = len(text) - cjk - ascii_
    return math.ceil(cjk + ascii_ / LATIN_CHARS_PER_TOKEN + other / OTHER_CHARS_PER_TOKEN)
