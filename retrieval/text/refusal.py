"""Sentences that say that the documents don't hold the answer: what they say is borne out by no passage."""

from __future__ import annotations

import re

REFUSAL_CHARS = 400  # a longer text says something beside "I don't know"
_REFUSAL = re.compile(
    r"\b(?:do(?:es)?|did|is|are|can) ?(?:not|n['’]t)"
    r" (?:say|state|mention|contain|provide|specify|answer|include|find|hold|know)"
    r"|\bcannot (?:answer|find|be (?:answered|found))|\bno (?:information|answer|mention)\b"
    r"|\bnot (?:mentioned|stated|specified)\b"
    r"|不知道|没有(?:提到|提及|说明|找到|相关|提供|包含|答案)|沒有(?:提到|提及|說明|找到|相關|提供|包含|答案)"
    r"|未(?:提到|提及|说明|說明|找到|提供|包含)|无法(?:回答|确定|找到)|無法(?:回答|確定|找到)",
    re.IGNORECASE,
)


def reads_as_refusal(text: str) -> bool:
    """Whether an answer without citations says that the documents don't hold the answer."""
    return len(text) <= REFUSAL_CHARS and bool(_REFUSAL.search(text))
