"""Which of a question's terms a text holds, rare ones weighing more: for choosing sentences and counting readings.

How probably a passage answers a question is another matter: `retrieval.answerability`, which weighs terms too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from functools import lru_cache

from retrieval.text.analysis import analyze, query_terms
from retrieval.text.sentences import sentence_spans
from retrieval.values import StoredChunk

# Words that a question needs and its answer seldom repeats.
WEAK_WORDS = (
    "many much long often need want happen allow apply get cost mean possible require take make use work find tell"
    " about against regarding concerning according despite per upon toward towards via"
    " explain describe maximum minimum usually late early exactly number amount people person kind type name called"
    " 多少 多久 什么 怎么 怎样 如何 可以 需要 应该 能否 是否 必须 最多 最少 多长 时间 时候 几天 几个 哪些 哪个"
    " 规定 要求 办理 情况 发生 进行 允许"
)
WEAK_WEIGHT = 0.15


def term_weights(question: str, pool: Sequence[Set[str]]) -> dict[str, float]:
    """The question's terms and what each weighs: inverse document frequency among the texts of `pool`.

    A term that none of them holds weighs most: that is how a question which the documents don't answer shows itself.
    """
    weights = {}
    for term in dict.fromkeys(query_terms(question)):
        weight = rarity(sum(term in terms for terms in pool), len(pool))
        weights[term] = weight * WEAK_WEIGHT if term in _weak_terms() else weight
    return weights


def rarity(holding: float, texts: int) -> float:
    """Inverse document frequency of a term that `holding` of `texts` texts have: above 0, the highest for none."""
    return math.log(1 + (texts + 1) / (holding + 0.5))


def coverage(terms: Set[str], weights: dict[str, float]) -> float:
    """The weighted share, 0..1, of the question's terms that are among `terms`."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in terms) / total if total else 0.0


def strong_terms(question: str) -> list[str]:
    """The question's terms that say what it is about."""
    return [term for term in dict.fromkeys(query_terms(question)) if term not in _weak_terms()]


def full_text(chunk: StoredChunk) -> str:
    return f"{chunk.title}\n{chunk.heading}\n{chunk.text}"


@lru_cache(maxsize=4096)
def terms_of(text: str) -> frozenset[str]:
    """The same chunks come up again and again, within one answer and from one answer to the next."""
    return frozenset(analyze(text))


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


@lru_cache(maxsize=1)
def _weak_terms() -> frozenset[str]:
    return frozenset(query_terms(WEAK_WORDS))
