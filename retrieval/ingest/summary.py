"""A document's summary without a model, by which hierarchical search finds it: its headings and its first sentences."""

from __future__ import annotations

from collections.abc import Iterable

from retrieval.text.sentences import split_sentences
from retrieval.text.tokens import estimate_tokens

LOOKED_AT_CHARS = 20_000
MIN_CHARS, MAX_CHARS = 12, 600  # of a sentence that is quoted


def summarize(text: str, *, headings: Iterable[str], tokens: int) -> str:
    """At most about `tokens` tokens, half of them headings; "" where no sentence will do."""
    headings = list(dict.fromkeys(headings))
    sentences = (sentence.strip() for sentence in split_sentences(text[:LOOKED_AT_CHARS]))
    said = [s for s in sentences if MIN_CHARS <= len(s) <= MAX_CHARS and s not in headings]
    outline = _fitting(headings, "; ", tokens // 2)
    return "\n".join(filter(None, (outline, _fitting(said, " ", tokens - estimate_tokens(outline)))))


def _fitting(parts: Iterable[str], separator: str, tokens: int) -> str:
    """As many as there is room for, from the first on."""
    kept = ""
    for part in parts:
        longer = separator.join(filter(None, (kept, part)))
        if estimate_tokens(longer) > tokens:
            break
        kept = longer
    return kept
