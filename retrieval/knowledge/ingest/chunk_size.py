"""How much a chunk holds: what its embedding model reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ragsite.core.search_settings import IngestSettings
from retrieval.engine.text.quoting import estimate_tokens, estimate_word_pieces

# Of a model's context. The rest is for title and headings, which are embedded with every chunk, and for what the
# estimate of word pieces falls short of: 19 % at the 99th percentile of technical documentation.
READ_SHARE = 0.85
# A model that reads so many times the wanted size reads every chunk: tables drawn with dashes have 3.5 tokens where
# `estimate_tokens` sees one, and nothing real has more.
SURELY_READ = 3.5
LEAST_TOKENS = 16
TABLE_TOKENS = 400  # of a table that is one chunk
Unit = Literal["tokens", "word_pieces"]
COUNTERS: dict[Unit, Callable[[str], int]] = {
    "tokens": estimate_tokens,
    "word_pieces": estimate_word_pieces,
}


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """tokens: what a chunk holds at most, `overlap` tokens of the one before included, counted in `unit`; table_tokens:
    what one that is a table does.

    A plain value: it goes to the process that cuts the document.
    """

    tokens: int
    overlap: int
    unit: Unit = "tokens"
    table_tokens: int = 0

    @property
    def count_tokens(self) -> Callable[[str], int]:
        return COUNTERS[self.unit]


def chunk_size(settings: IngestSettings, *, context: int | None) -> ChunkSize:
    """context: how many tokens of a text the embedding model reads; None: all, or it isn't known.

    A model of small context is of BERT's kind, so for it tokens are counted as word pieces: technical documents have up
    to twice as many as `estimate_tokens` thinks.
    """
    target = settings.chunk_tokens
    if context is None or context * READ_SHARE >= target * SURELY_READ:
        most = (
            TABLE_TOKENS
            if context is None
            else min(TABLE_TOKENS, int(context * READ_SHARE / SURELY_READ))
        )
        return ChunkSize(target, settings.chunk_overlap_tokens, table_tokens=most)
    tokens = max(LEAST_TOKENS, min(target, int(context * READ_SHARE)))
    most = min(TABLE_TOKENS, int(context * READ_SHARE))
    return ChunkSize(tokens, settings.chunk_overlap_tokens * tokens // target, "word_pieces", most)
