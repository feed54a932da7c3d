"""How probably what a search found answers the question: six signals and a logistic, without a language model.

    P = 1 / (1 + exp(-(bias + Σ weight · signal)))

It decides nothing where a model is connected: it begins calls for better words early. Without a model it is the label
of what is quoted. Weights: `weights.json`, by `benchmarks.judge.fit_estimate`; figures: docs/evaluation.md. A
cross-encoder's score takes its place where one is configured.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from retrieval.text.analysis import analyze, query_terms
from retrieval.text.statements import split_sentences
from retrieval.values import ScoredChunk

WEIGHTS = Path(__file__).with_name("weights.json")
LIST_LENGTH = 10  # passages that are looked at, best first
MOST_TERMS = 31  # of a question: a longer one counts as this long
MAX_SENTENCES = 200  # of a passage
K1, B = 0.9, 0.4  # of BM25, as the index has them
TEXT_SIGNALS = ("sentence", "frequency", "bm25_lead", "unseen", "question_length")
HYBRID_SIGNALS = (*TEXT_SIGNALS, "cosine")


def estimate_answerability(question: str, passages: Sequence[ScoredChunk], *, semantic: bool = True) -> float:
    """P(the passages, best first, answer the question), 0..1; 0 for no passage.

    semantic: whether dense scores come from an embedding model (`SearchScope.semantic`); else they are not read.
    Analyses each passage that it has not seen yet, a few ms of processor time: keep it off the event loop.
    """
    if not passages:
        return 0.0
    signals = read_signals(question, passages, semantic=semantic)
    weights = shipped_weights()["hybrid" if "cosine" in signals else "text"]
    return probability(signals, weights)


def probability(signals: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return 1.0 / (1.0 + math.exp(-(weights["bias"] + sum(weights[name] * signals[name] for name in signals))))


@lru_cache(maxsize=1)
def shipped_weights() -> dict[str, dict[str, float]]:
    """One set for lists with vectors (hybrid), one for those without (text)."""
    weights: dict[str, dict[str, float]] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return weights


def read_signals(question: str, passages: Sequence[ScoredChunk], *, semantic: bool = True) -> dict[str, float]:
    """Of at least one passage, best first; each signal 0..1, relative to the list where it can be, so that a collection
    of another size and another embedding model change little.

    sentence: the share of the question's terms that the best single sentence has, with title and heading. frequency:
    BM25's saturation of the terms in a passage, their mean, of the best passage. bm25_lead: how far the best BM25 score
    is above the mean of the next two, as a share of it: two documents that agree do not lower it much. unseen: the
    share of the terms that no passage has. question_length: of the logarithm of the number of terms. cosine: how far
    the best is above the lowest of the list, as a share of what is left to 1; left out where no passage has a dense
    score of an embedding model. Terms weighed by their rarity in the list made no difference (docs/evaluation.md).
    """
    listed = passages[:LIST_LENGTH]
    read = [_read(f"{one.chunk.title}\n{one.chunk.heading}".strip(), one.chunk.text) for one in listed]
    terms = frozenset(query_terms(question))
    mean_length = sum(passage.length for passage in read) / len(read) or 1.0
    share = 1.0 / max(1, len(terms))
    signals = {
        "sentence": share * max(passage.best_sentence(terms) for passage in read),
        "frequency": share * max(passage.frequency(terms, mean_length) for passage in read),
        "bm25_lead": _lead([one.scores.bm25 or 0.0 for one in listed]),
        "unseen": share * sum(not any(passage.count(term) for passage in read) for term in terms),
        "question_length": min(1.0, math.log1p(len(terms)) / math.log1p(MOST_TERMS)),
    }
    dense = [one.scores.dense for one in listed if semantic and one.scores.dense is not None]
    if dense:
        lowest = min(*dense, 0.99)
        signals["cosine"] = (max(dense) - lowest) / (1.0 - lowest)
    return signals


def _lead(scores: Sequence[float]) -> float:
    """0.5 where there is nothing to compare with. A third that is not there counts 0: nothing else shares a word with
    the question."""
    best, second, third = sorted((*scores, 0.0, 0.0), reverse=True)[:3]
    if len(scores) < 2 or best <= 0.0:
        return 0.5
    return 1.0 - (second + third) / (2.0 * best)


@dataclass(frozen=True, slots=True)
class _Passage:
    """Terms: of each sentence; how often each occurs in the text; of title and heading."""

    sentences: tuple[frozenset[str], ...]
    counts: Mapping[str, int]
    head: frozenset[str]
    length: int

    def count(self, term: str) -> int:
        return self.counts.get(term, 0) + (term in self.head)

    def best_sentence(self, terms: frozenset[str]) -> int:
        """The most terms that one sentence has, with title and heading."""
        own = terms - self.head
        return len(terms & self.head) + max((len(own & sentence) for sentence in self.sentences), default=0)

    def frequency(self, terms: frozenset[str], mean_length: float) -> float:
        """The sum of what BM25 makes of each term's count, each 0..1."""
        norm = K1 * (1 - B + B * self.length / mean_length)
        return sum(count / (count + norm) for count in map(self.count, terms))


@lru_cache(maxsize=4096)
def _read(head: str, text: str) -> _Passage:
    """Kept, since the passages of one collection come up again and again."""
    sentences = [analyze(sentence) for sentence in split_sentences(text)[:MAX_SENTENCES]]
    counts = Counter(term for sentence in sentences for term in sentence)
    return _Passage(tuple(map(frozenset, sentences)), counts, frozenset(analyze(head)), counts.total())
