"""Greetings and thanks: messages that are nothing else, compared as a whole. No word inside a question is read."""

from __future__ import annotations

import unicodedata
from typing import Literal

from retrieval.text.language import to_simplified

Kind = Literal["small_talk", "thanks"]
WHOLE_MESSAGES: dict[str, Kind] = {
    "hi": "small_talk", "hello": "small_talk", "hey": "small_talk", "good morning": "small_talk",
    "good afternoon": "small_talk", "good evening": "small_talk", "你好": "small_talk", "您好": "small_talk",
    "大家好": "small_talk", "thanks": "thanks", "thank you": "thanks", "bye": "thanks", "goodbye": "thanks",
    "谢谢": "thanks", "谢谢你": "thanks", "谢谢您": "thanks", "再见": "thanks",
}  # fmt: skip


def small_talk_kind(text: str) -> Kind | None:
    """None for everything that might be a question."""
    folded = to_simplified(unicodedata.normalize("NFKC", text[:40])).casefold()
    return WHOLE_MESSAGES.get(" ".join("".join(c if c.isalnum() else " " for c in folded).split()))
