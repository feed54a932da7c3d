"""How large chunks are: as the settings say, but never longer than what the embedding model reads of a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ragsite.core.rag_settings import IngestSettings
from retrieval.text.tokens import estimate_tokens, estimate_word_pieces

# Of a model's context. The rest is for title and headings, which are embedded with every chunk, and for what the
# estimate of word pieces falls short of: 19 % at the 99th percentile of technical documentation.
READ_SHARE = 0.85
# A model that reads so many times the wanted size reads every chunk: tables drawn with dashes have 3.5 tokens where
# `estimate_tokens` sees one, and nothing real has more.
SURELY_READ = 3.5
LEAST_TOKENS = 16
Unit = Literal["tokens", "word_pieces"]
COUNTERS: dict[Unit, Callable[[str], int]] = {"tokens": estimate_tokens, "word_pieces": estimate_word_pieces}


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """tokens: what a chunk holds at most, `overlap` tokens of the one before included, counted in `unit`.

    A plain value: it goes to the process that cuts the document.
    """

    tokens: int
    overlap: int
    unit: Unit = "tokens"

    @property
    def count_tokens(self) -> Callable[[str], int]:
        return COUNTERS[self.unit]


def chunk_size(settings: IngestSettings, *, context: int | None) -> ChunkSize:
    """context: how many tokens of a text the embedding model reads; None: all, or it isn't known.

    A model of small context is of BERT's kind, so for it tokens are counted as word pieces: technical documents have up
    to twice as many as `estimate_tokens` thinks.
    """
    wanted = settings.chunk_tokens
    if context is None or context * READ_SHARE >= wanted * SURELY_READ:
        return ChunkSize(wanted, settings.chunk_overlap_tokens)
    tokens = max(LEAST_TOKENS, min(wanted, int(context * READ_SHARE)))
    return ChunkSize(tokens, settings.chunk_overlap_tokens * tokens // wanted, "word_pieces")
