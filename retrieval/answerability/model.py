"""How probably a passage, and all that a search found, answer a question: a few signals and a logistic model.

    candidates ─► PASSAGE_SIGNALS of each ─► P(it answers the question)
                   └► the highest of each, and what shows in the list as a whole ─► P(the list holds the answer)

Signals are shares, ranks and differences within the list, so that another embedding model, or a collection of another
size, changes little. Weights: `weights.json`, by `benchmarks.judge.train_grader`; figures: docs/grader.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrieval.answerability.passage import PassageView, view_passage
from retrieval.text.analysis import query_terms
from retrieval.text.term_coverage import rarity
from retrieval.values import ScoredChunk

Matrix = NDArray[np.float64]
SHIPPED = Path(__file__).with_name("weights.json")
LIST_LENGTH = 10  # of the lists that it was trained on
MAX_DEVIATIONS = 4.0  # a signal further from what training saw counts as this far
TF_K1, TF_B = 0.9, 0.4  # as of the index
OF_THE_BEST = ("sentence", "bm25_ideal", "bm25_lead", "cosine", "agreement")
PASSAGE_SIGNALS = (*OF_THE_BEST, "rank")
LIST_SIGNALS = (*OF_THE_BEST, "bm25_spread", "unseen", "question_terms")


@dataclass(frozen=True, slots=True)
class Estimate:
    """`passages`: P(it answers the question), 0..1, in their order. `answerability`: P(they hold the answer), 0..1; 0
    for none."""

    passages: list[float]
    answerability: float


def estimate_answerability(question: str, passages: Sequence[ScoredChunk], *, semantic: bool = True) -> Estimate:
    """For each passage, best first, and for all of them.

    semantic: whether dense scores come from an embedding model (`SearchScope.semantic`).
    A few ms of CPU for each passage that it has not seen yet: keep it off the event loop.
    """
    if not passages:
        return Estimate(passages=[], answerability=0.0)
    signals = read_signals(question, passages, semantic=semantic)
    models = shipped_models()["hybrid" if signals.has_vectors else "text"]
    return Estimate(
        passages=models.passage.probabilities(signals.passages).tolist(),
        answerability=float(models.whole.probabilities(signals.whole)),
    )


# ------------------------------------------------------------------------------------------------ signals
class Signals(NamedTuple):
    """passages: shape (candidates, len(PASSAGE_SIGNALS)). whole: shape (len(LIST_SIGNALS),)."""

    has_vectors: bool
    passages: Matrix
    whole: Matrix


def read_signals(question: str, candidates: Sequence[ScoredChunk], *, semantic: bool = True) -> Signals:
    """Of at least one candidate, best first; what stands behind LIST_LENGTH is measured by the list before.

    sentence: the share of the question's terms, each by its rarity in the list, that the best sentence has with title
    and heading. bm25_ideal: the share of the most that BM25 could give. bm25_lead: how far it is above the best of the
    others (below it: negative), as a share of the best. cosine: how far above the list's mean, as a share of what is
    left to 1. agreement: 1 where both legs have it first. bm25_spread: of the best above the mean. unseen: the share of
    the terms that no candidate has. question_terms: the logarithm of their number. Without vectors: 0.
    """
    views = [view_passage(f"{one.chunk.title}\n{one.chunk.heading}".strip(), one.chunk.text) for one in candidates]
    weights = term_weights(question, views[:LIST_LENGTH])
    total = sum(weights.values()) or 1.0
    ideal = _ideal(views, weights) / total
    # None: the leg did not find it. Without a word of the question that is 0, else no more than the last one found.
    bm25 = _known([0.0 if one.scores.bm25 is None and not held else one.scores.bm25
                   for one, held in zip(candidates, ideal, strict=True)])  # fmt: skip
    shares = bm25 / (bm25.max() or 1.0)
    dense = [one.scores.dense if semantic else None for one in candidates]
    has_vectors = any(score is not None for score in dense)
    cosine = _known(dense)
    mean = min(cosine[:LIST_LENGTH].mean(), 0.99)
    columns = {
        "sentence": np.array([_best_sentence(view, weights) for view in views]) / total,
        "bm25_ideal": ideal,
        "bm25_lead": _lead(shares),
        "cosine": (cosine - mean) / (1.0 - mean),
        "agreement": has_vectors / np.sqrt(_ranks(cosine) * _ranks(bm25)),
        "rank": 1.0 / np.arange(1, len(views) + 1),
    }
    unseen = sum(weight for term, weight in weights.items() if not any(view.holds(term) for view in views))
    whole = [*(columns[name].max() for name in OF_THE_BEST)]
    whole += [1.0 - shares[:LIST_LENGTH].mean(), unseen / total, math.log1p(len(weights))]
    return Signals(has_vectors, np.column_stack([columns[name] for name in PASSAGE_SIGNALS]), np.array(whole))


def term_weights(question: str, views: Sequence[PassageView]) -> dict[str, float]:
    """What each of the question's terms weighs: inverse document frequency among the candidates, which stand for the
    collection."""
    terms = dict.fromkeys(query_terms(question))
    return {term: rarity(sum(view.holds(term) for view in views), len(views)) for term in terms}


def _best_sentence(view: PassageView, weights: Mapping[str, float]) -> float:
    held = [sentence.terms | view.head for sentence in view.sentences] or [view.head]
    return max(sum(weight for term, weight in weights.items() if term in terms) for terms in held)


def _ideal(views: Sequence[PassageView], weights: Mapping[str, float]) -> Matrix:
    """BM25 by these weights, where each term gives its weight at most."""
    mean = sum(view.length for view in views) / len(views) or 1.0
    scores = []
    for view in views:
        norm = TF_K1 * (1 - TF_B + TF_B * view.length / mean)
        counts = {term: view.terms.get(term, 0) + (term in view.head) for term in weights}
        scores.append(sum(weights[term] * count / (count + norm) for term, count in counts.items()))
    return np.array(scores)


def _known(scores: Sequence[float | None]) -> Matrix:
    low = min((score for score in scores if score is not None), default=0.0)
    return np.array([low if score is None else score for score in scores], dtype=np.float64)


def _ranks(values: Matrix) -> Matrix:
    ranks = np.empty(len(values))
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return ranks


def _lead(values: Matrix) -> Matrix:
    second, first = np.sort(np.append(values, 0.0))[-2:]
    return np.where(values == first, first - second, values - first)


# ------------------------------------------------------------------------------------------------ weights
@dataclass(frozen=True, slots=True)
class Logistic:
    """P = 1 / (1 + exp(-(bias + Σ weight · (signal - mean) / deviation)))."""

    bias: float
    mean: Matrix
    deviation: Matrix
    weight: Matrix

    def probabilities(self, signals: Matrix) -> Matrix:
        """Shape (rows,) for signals of shape (rows, signals), () for one row."""
        scaled = ((signals - self.mean) / self.deviation).clip(-MAX_DEVIATIONS, MAX_DEVIATIONS)
        return np.asarray(1.0 / (1.0 + np.exp(-(self.bias + scaled @ self.weight))))


class Models(NamedTuple):
    """By PASSAGE_SIGNALS and by LIST_SIGNALS."""

    passage: Logistic
    whole: Logistic


@lru_cache(maxsize=1)
def shipped_models() -> dict[str, Models]:
    """For lists with vectors (hybrid) and without (text)."""
    return load_models(json.loads(SHIPPED.read_text(encoding="utf-8")))


def load_models(data: Mapping[str, Any]) -> dict[str, Models]:
    """Raises ValueError when the weights were trained for other signals."""
    names = {"passage": PASSAGE_SIGNALS, "whole": LIST_SIGNALS}
    return {
        mode: Models(**{kind: read_logistic(data[mode][kind], names[kind]) for kind in names})
        for mode in ("hybrid", "text")
    }


def read_logistic(data: Mapping[str, Any], names: Sequence[str]) -> Logistic:
    """Raises ValueError when it was trained for other signals, or holds what is no number."""
    signals = data["signals"]
    if list(signals) != list(names):
        raise ValueError(f"trained for other signals: {sorted(set(signals) ^ set(names))}")
    mean, deviation, weight = (
        np.array([row[key] for row in signals.values()]) for key in ("mean", "deviation", "weight")
    )
    if not np.isfinite([data["bias"], *mean, *deviation, *weight]).all():
        raise ValueError("a weight is not a finite number")
    return Logistic(bias=float(data["bias"]), mean=mean, deviation=deviation, weight=weight)
