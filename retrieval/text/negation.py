"""Words that negate, English and Chinese. Three lists, since three things are asked of them."""

from __future__ import annotations

import re

# Any word that may turn a sentence round. A signal of the trained model: a change here means training it anew.
NEGATION = re.compile(
    r"\b(?:not|never|no|without|none|neither|nor|except|unable|fail(?:s|ed)?|lack(?:s|ed)?)\b|n['’]t\b|不|没|无|未|非|否",
    re.IGNORECASE,
)
# Counted, to tell apart two texts that are nearly the same; Traditional forms as well, since texts are not converted.
NEGATING_WORD = re.compile(
    r"\b(?:no|not|never|none|neither|nor|without|except|unless)\b|n['’]t\b|[不没沒无無未非勿禁]", re.IGNORECASE
)
# By which a statement denies something; not what only limits it or adds to it ("not only", 不仅). Of simplified text.
DENIAL = re.compile(
    r"\b(?:not(?! (?:only|just|least)\b|[^.;]{0,40}\buntil\b)|never|cannot|no longer|neither|nor)\b|n['’]t\b"
    # "No interest is paid", not "no later than"; in front of a number it is its abbreviation.
    r"|\bno(?! (?:later|earlier|sooner|more|less|fewer|longer|matter|doubt|further|other|\d)\b|\.)\b"
    r"|没有|无法|不得|禁止|未能|并非|不(?!仅|但|同|断|少|过|论|管|久|止|足)"
    r"|(?<!以)未(?!来)",
    re.IGNORECASE,
)
