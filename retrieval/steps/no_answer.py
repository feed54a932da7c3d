"""No answer: says so, says why, and names the nearest documents."""

from __future__ import annotations

import re

from retrieval.steps.answer_language import Language
from retrieval.steps.judge import Assessment
from retrieval.steps.phrases import phrase

NEAREST = 3
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


def no_answer_text(assessment: Assessment | None, language: Language) -> str:
    """`assessment` None: there was nothing to search in."""
    if assessment is None:
        return phrase("no_documents", language)
    titles = list(dict.fromkeys(candidate.chunk.title for candidate in assessment.candidates if candidate.chunk.title))
    if not titles:
        return phrase("nothing_found", language)
    separator, stop = ("、", "。") if language.startswith("zh") else ("; ", ".")
    nearest = phrase("nearest", language) + separator.join(titles[:NEAREST]) + stop
    return f"{phrase('found_but_weak', language)}\n\n{nearest}"


def reads_as_refusal(text: str) -> bool:
    """Whether an answer without citations says that the documents don't hold the answer."""
    return len(text) <= REFUSAL_CHARS and bool(_REFUSAL.search(text))
