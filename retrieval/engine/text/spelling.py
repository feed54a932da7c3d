"""One spelling of a text, for comparing names and phrases."""

from __future__ import annotations

import unicodedata

from ragsite.core.text import strip_invisible
from retrieval.engine.text.languages import to_simplified


def folded(text: str) -> str:
    """NFKC, Simplified, lower case, single blanks, without what is not seen."""
    seen = unicodedata.normalize("NFKC", strip_invisible(text))
    spelt = seen if seen.isascii() else to_simplified(seen)
    return " ".join(spelt.casefold().split())
