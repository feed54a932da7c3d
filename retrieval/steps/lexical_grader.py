"""The model-free grader: how probably a passage answers a question, from what retrieval already knows.

The fallback of rerank, grade and assess, and the judge of "the first search is clearly good". Signals: the share of the
question's terms that the passage, and its best two neighbouring sentences, hold, rare terms weighing more; numbers and
years of the question that are missing; dense similarity and BM25 beside those of the other candidates. A logistic
function turns them into a probability. `WEIGHTS` were set by hand and checked against the sample handbook's questions,
answerable and not, in three scripts; they are not fitted to labelled data.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from retrieval.analysis import analyze, query_terms
from retrieval.sentences import split_sentences
from retrieval.values import ScoredChunk, StoredChunk

# Words that a question needs and its answer seldom repeats.
WEAK_WORDS = (
    "many much long often need want happen allow apply get cost mean possible require take make use work find tell"
    " explain describe maximum minimum usually late early exactly number amount people person kind type name called"
    " 多少 多久 什么 怎么 怎样 如何 可以 需要 应该 能否 是否 必须 最多 最少 多长 时间 时候 几天 几个 哪些 哪个"
    " 规定 要求 办理 情况 发生 进行 允许"
)
WEAK_WEIGHT = 0.15
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


@dataclass(frozen=True, slots=True)
class Signals:
    """All 0..1 but `dense_gap`, which is in standard deviations above the pool's mean (0 without vectors)."""

    sentence_coverage: float
    passage_coverage: float
    title_coverage: float
    missing_number: float
    bm25_share: float
    dense_gap: float


@dataclass(frozen=True, slots=True)
class Weights:
    bias: float
    sentence_coverage: float
    passage_coverage: float
    title_coverage: float
    missing_number: float
    bm25_share: float
    dense_gap: float


WEIGHTS = Weights(
    bias=-5.6,
    sentence_coverage=5.4,
    passage_coverage=3.6,
    title_coverage=0.8,
    missing_number=-2.0,
    bm25_share=0.6,
    dense_gap=0.35,
)


def grade(question: str, candidates: Sequence[ScoredChunk]) -> list[float]:
    """P(the passage answers the question), 0..1, in the candidates' order."""
    return [probability(signals) for signals in read_signals(question, candidates)]


def probability(signals: Signals) -> float:
    total = WEIGHTS.bias + sum(getattr(WEIGHTS, name) * getattr(signals, name) for name in Signals.__slots__)
    return 1.0 / (1.0 + math.exp(-total))


def read_signals(question: str, candidates: Sequence[ScoredChunk]) -> list[Signals]:
    texts = [_terms(full_text(candidate.chunk)) for candidate in candidates]
    weights = term_weights(question, texts)
    numbers = set(_NUMBER.findall(question))
    best_bm25 = max((candidate.scores.bm25 or 0.0 for candidate in candidates), default=0.0)
    gaps = _dense_gaps(candidates)
    signals = []
    for candidate, terms, gap in zip(candidates, texts, gaps, strict=True):
        held = set(_NUMBER.findall(full_text(candidate.chunk))) | {str(candidate.chunk.policy_year or "")}
        signals.append(
            Signals(
                sentence_coverage=best_sentence_coverage(candidate.chunk, weights),
                passage_coverage=coverage(terms, weights),
                title_coverage=coverage(_terms(f"{candidate.chunk.title} {candidate.chunk.heading}"), weights),
                missing_number=len(numbers - held) / len(numbers) if numbers else 0.0,
                bm25_share=(candidate.scores.bm25 or 0.0) / best_bm25 if best_bm25 else 0.0,
                dense_gap=gap,
            )
        )
    return signals


def full_text(chunk: StoredChunk) -> str:
    return f"{chunk.title}\n{chunk.heading}\n{chunk.text}"


def term_weights(question: str, pool: Sequence[Set[str]]) -> dict[str, float]:
    """The question's terms and what each weighs: inverse document frequency among the candidates.

    A term that no candidate holds weighs most: that is how a question which the documents don't answer shows itself.
    """
    weights = {}
    for term in dict.fromkeys(query_terms(question)):
        found_in = sum(term in terms for terms in pool)
        weight = math.log(1 + (len(pool) + 1) / (found_in + 0.5))
        weights[term] = weight * WEAK_WEIGHT if term in _weak_terms() else weight
    return weights


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    """The same chunks come up again and again, within one answer and from one answer to the next."""
    return frozenset(analyze(text))


def strong_terms(question: str) -> list[str]:
    """The question's terms that say what it is about."""
    return [term for term in dict.fromkeys(query_terms(question)) if term not in _weak_terms()]


@lru_cache(maxsize=1)
def _weak_terms() -> frozenset[str]:
    return frozenset(query_terms(WEAK_WORDS))


def coverage(terms: Set[str], weights: dict[str, float]) -> float:
    """The weighted share, 0..1, of the question's terms that are among `terms`."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in terms) / total if total else 0.0


def best_sentence_coverage(chunk: StoredChunk, weights: dict[str, float]) -> float:
    """Coverage of the best two neighbouring sentences, helped by the title, which says what they are about."""
    head = _terms(f"{chunk.title} {chunk.heading}")
    sentences = [_terms(sentence) for sentence in split_sentences(chunk.text)]
    pairs = [left | right for left, right in zip(sentences, sentences[1:] or [frozenset()], strict=False)]
    return max((coverage(pair | head, weights) for pair in pairs), default=0.0)


def _dense_gaps(candidates: Sequence[ScoredChunk]) -> list[float]:
    known = [candidate.scores.dense for candidate in candidates if candidate.scores.dense is not None]
    spread = statistics.pstdev(known) if len(known) > 1 else 0.0
    if spread < 1e-6:
        return [0.0] * len(candidates)
    mean = statistics.fmean(known)
    dense = (mean if candidate.scores.dense is None else candidate.scores.dense for candidate in candidates)
    return [max(-3.0, min(3.0, (value - mean) / spread)) for value in dense]
