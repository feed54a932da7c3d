"""The part of a long passage that a judge should see."""

from __future__ import annotations

from retrieval.text.analysis import analyze
from retrieval.text.sentences import sentence_spans


def best_window(text: str, question: str, length: int) -> str:
    """At most `length` characters of `text`, in one piece, around the sentence that shares most with the question."""
    if len(text) <= length:
        return text
    asked = set(analyze(question))
    spans = sentence_spans(text)
    if not asked or not spans:
        return text[:length]
    best = max(spans, key=lambda span: len(asked & set(analyze(span.text))))
    start, end = best.start, min(best.end, best.start + length)
    for span in spans:  # sentences before it, then those after it, while there is room
        if span.start < start and end - span.start <= length - length // 4:
            start = span.start
            break
    for span in spans:
        if span.end > end and span.end - start <= length:
            end = span.end
    return text[start:end]
