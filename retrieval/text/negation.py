"""Words that negate, English and Chinese."""

from __future__ import annotations

import re

# Counted, to tell apart two texts that are nearly the same; Traditional forms as well, since texts are not converted.
NEGATING_WORD = re.compile(
    r"\b(?:no|not|never|none|neither|nor|without|except|unless)\b|n['’]t\b|[不没沒无無未非勿禁]", re.IGNORECASE
)
