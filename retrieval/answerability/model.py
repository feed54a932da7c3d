"""The trained grader: signals in, probabilities out. Its weights are in `grader.json`, readable and small.

Two logistic models, each for lists with and without vectors: P(the passage answers the question), and P(the documents
hold the answer) for the list. `benchmarks/train_grader.py` fits them; docs/grader.md says how well they do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.answerability.signals import (
    LIST_SIGNALS,
    PASSAGE_SIGNALS,
    Matrix,
    Pool,
    list_signals,
    passage_signals,
    read_pool,
)
from retrieval.values import ScoredChunk

SHIPPED = Path(__file__).with_name("grader.json")
MAX_DEVIATIONS = 4.0  # a signal further from what training saw counts as this far


@dataclass(frozen=True, slots=True)
class Logistic:
    """P = 1 / (1 + exp(-(bias + Σ weight · (signal - mean) / deviation)))."""

    bias: float
    mean: Matrix
    deviation: Matrix
    weight: Matrix

    def probabilities(self, signals: Matrix) -> Matrix:
        """Shape (rows,) for signals of shape (rows, signals)."""
        scaled = ((signals - self.mean) / self.deviation).clip(-MAX_DEVIATIONS, MAX_DEVIATIONS)
        return np.asarray(1.0 / (1.0 + np.exp(-(self.bias + scaled @ self.weight))))


@dataclass(frozen=True, slots=True)
class Judges:
    passage: Logistic
    collection: Logistic


@dataclass(frozen=True, slots=True)
class Grading:
    """`passages`: P(it answers the question), in the candidates' order. `holds_answer`: for the list as a whole."""

    passages: list[float]
    holds_answer: float


@dataclass(frozen=True, slots=True)
class Grader:
    """`hybrid` judges lists with vectors, `text` those without."""

    hybrid: Judges
    text: Judges

    def judge(self, question: str, candidates: Sequence[ScoredChunk], *, semantic: bool = True) -> Grading:
        """Both probabilities from one look at the candidates, best first, at least two of them if there are any.

        `semantic=False`: the dense scores come from no embedding model (the lexical embedder), so they are not used.
        """
        if not candidates:
            return Grading(passages=[], holds_answer=0.0)
        pool = read_pool(question, candidates, semantic=semantic)
        if not pool.question.terms:
            return Grading(passages=[0.0] * len(candidates), holds_answer=0.0)
        passages, holds = self.judge_pool(pool, passage_signals(pool))
        return Grading(passages=passages.tolist(), holds_answer=holds)

    def judge_pool(self, pool: Pool, signals: Matrix) -> tuple[Matrix, float]:
        judges = self.hybrid if pool.has_vectors else self.text
        passages = judges.passage.probabilities(signals)
        whole = list_signals(pool, signals, passages)
        return passages, float(judges.collection.probabilities(whole[np.newaxis])[0])


def grade(question: str, candidates: Sequence[ScoredChunk], *, semantic: bool = True) -> list[float]:
    """P(the passage answers the question), 0..1, in the candidates' order."""
    return shipped_grader().judge(question, candidates, semantic=semantic).passages


def holds_answer(question: str, candidates: Sequence[ScoredChunk], *, semantic: bool = True) -> float:
    """P(the documents hold the answer), 0..1; 0 for no candidates."""
    return shipped_grader().judge(question, candidates, semantic=semantic).holds_answer


@lru_cache(maxsize=1)
def shipped_grader() -> Grader:
    return load_grader(json.loads(SHIPPED.read_text(encoding="utf-8")))


def load_grader(data: Mapping[str, Any]) -> Grader:
    """Raises ValueError when the file was trained for other signals."""
    return Grader(hybrid=_judges(data["hybrid"]), text=_judges(data["text"]))


def _judges(data: Mapping[str, Any]) -> Judges:
    return Judges(
        passage=read_logistic(data["passage"], PASSAGE_SIGNALS),
        collection=read_logistic(data["collection"], LIST_SIGNALS),
    )


def read_logistic(data: Mapping[str, Any], names: Sequence[str]) -> Logistic:
    """Raises ValueError when it was trained for other signals, or holds what is no number."""
    signals = data["signals"]
    if list(signals) != list(names):
        raise ValueError(f"trained for other signals: {sorted(set(signals) ^ set(names))}")
    rows = [signals[name] for name in names]
    numbers = [data["bias"], *(row[key] for row in rows for key in ("mean", "deviation", "weight"))]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError("a weight is not a finite number")
    return Logistic(
        bias=float(data["bias"]),
        mean=np.array([row["mean"] for row in rows]),
        deviation=np.array([row["deviation"] for row in rows]),
        weight=np.array([row["weight"] for row in rows]),
    )
