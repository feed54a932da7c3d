"""How many texts go to an embedding model at once: whoever splits its work by it need not load LangChain."""

from __future__ import annotations

EMBED_BATCH_SIZE = 32  # texts in one call; halved where a call takes too long
