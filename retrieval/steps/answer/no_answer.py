"""No answer: says so, says why, and names the nearest documents.

What the asking user may not see counts as not found: permission is a part of every search.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from ragsite.core.wording import worded
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.judge.evaluator import Assessment
from retrieval.text.answer_language import Language
from retrieval.trace import Trace
from retrieval.values import ScoredChunk, StoredChunk

Why = Literal["no_documents", "nothing_found", "found_but_weak", "contradictory"]
WHY: dict[Why, str] = {
    "no_documents": worded("there are no documents to search in"),
    "nothing_found": worded("nothing was found"),
    "found_but_weak": worded("what was found does not answer the question"),
    "contradictory": worded("what was found contradicts itself"),
}
NEAREST = 3
PAGES = "/documents/"  # of this site; a document's is below it
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


def why_no_answer(assessment: Assessment | None) -> Why:
    """`assessment` None: there was nothing to search in."""
    if assessment is None:
        return "no_documents"
    if not assessment.candidates:
        return "nothing_found"
    return "contradictory" if assessment.contradictory else "found_but_weak"


def no_answer_text(assessment: Assessment | None, language: Language, trace: Trace) -> str:
    """trace: says whether the web was searched, too, or could not be."""
    why = phrase(why_no_answer(assessment), language)
    nearest = nearest_text(assessment.candidates if assessment else (), language)
    return "\n\n".join(part for part in (why, _web_text(trace, language), nearest) if part)


def _web_text(trace: Trace, language: Language) -> str:
    asked = [step.detail for step in trace.steps if step.name == "web_search" and step.status != "skipped"]
    if not asked:
        return ""
    return phrase("web_searched" if any("results" in detail for detail in asked) else "web_away", language)


def nearest_text(candidates: Sequence[ScoredChunk], language: Language) -> str:
    """One sentence that offers the nearest documents as links; empty when there are none."""
    nearest = _nearest(candidates).items()
    return nearest_links_text(
        [(title, chunk.url or document_page(chunk.document_id)) for title, chunk in nearest], language
    )


def nearest_links_text(documents: Sequence[tuple[str, str]], language: Language) -> str:
    """The same for titles and addresses at hand. Markdown."""
    if not documents:
        return ""
    links = [f"[{_escaped(title)}]({address})" for title, address in documents]
    separator, stop = ("、", "。") if language.startswith("zh") else ("; ", ".")
    of_web = not all(address.startswith(PAGES) for _, address in documents)
    return phrase("nearest_with_web" if of_web else "nearest", language) + separator.join(links) + stop


def document_page(document_id: str) -> str:
    """Its address on this site."""
    return f"{PAGES}{document_id}/"


def nearest_documents(candidates: Sequence[ScoredChunk]) -> list[dict[str, Any]]:
    """The best few that have a title, each title once: `{"document_id", "title"}`."""
    return [{"document_id": chunk.document_id, "title": title} for title, chunk in _nearest(candidates).items()]


def _nearest(candidates: Sequence[ScoredChunk]) -> dict[str, StoredChunk]:
    """Title → its best chunk, best first."""
    by_title: dict[str, StoredChunk] = {}
    for candidate in candidates:
        if candidate.chunk.title:
            by_title.setdefault(candidate.chunk.title, candidate.chunk)
    return dict(list(by_title.items())[:NEAREST])


def _escaped(title: str) -> str:
    """Of a link's text; a title is one line."""
    return re.sub(r"([\\\[\]`*_<])", r"\\\1", title)


def reads_as_refusal(text: str) -> bool:
    """Whether an answer without citations says that the documents don't hold the answer."""
    return len(text) <= REFUSAL_CHARS and bool(_REFUSAL.search(text))
