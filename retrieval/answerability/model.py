"""The trained model: signals in, probabilities out. Its weights are in `grader.json`, readable and small.

Two logistic models, each for lists with and without vectors: P(the passage answers the question), and P(the documents
hold the answer) for the list. `benchmarks.train_grader` fits them; docs/grader.md says how well they do.
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
    EVIDENCE,
    LIST_SIGNALS,
    PASSAGE_SIGNALS,
    Matrix,
    Pool,
    evidence_against,
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
class Estimate:
    """`passages`: P(it answers the question), 0..1, in the candidates' order. `answerability`: P(the documents hold the
    answer), 0..1; 0 for no candidates."""

    passages: list[float]
    answerability: float


@dataclass(frozen=True, slots=True)
class Estimators:
    """`passage`: for one candidate, from PASSAGE_SIGNALS. `collection`: for the list, from LIST_SIGNALS."""

    passage: Logistic
    collection: Logistic


@dataclass(frozen=True, slots=True)
class AnswerabilityModel:
    """`hybrid` is for lists with vectors, `text` for those without. `evidence`: what each of EVIDENCE adds to the
    log-odds of the list, at most 0."""

    hybrid: Estimators
    text: Estimators
    evidence: Matrix

    def estimate(self, question: str, candidates: Sequence[ScoredChunk], *, semantic: bool = True) -> Estimate:
        """Both probabilities from one look at the candidates, best first, at least two of them if there are any.

        `semantic=False`: the dense scores come from no embedding model (the lexical embedder), so they are not used.
        """
        if not candidates:
            return Estimate(passages=[], answerability=0.0)
        pool = read_pool(question, candidates, semantic=semantic)
        if not pool.question.terms:
            return Estimate(passages=[0.0] * len(candidates), answerability=0.0)
        passages, answerability = self.estimate_pool(pool, passage_signals(pool))
        return Estimate(passages=passages.tolist(), answerability=answerability)

    def estimate_pool(self, pool: Pool, signals: Matrix) -> tuple[Matrix, float]:
        """`signals`: of `passage_signals`. P for each passage, shape (candidates,), and P for the list, both 0..1."""
        estimators = self.hybrid if pool.has_vectors else self.text
        passages = estimators.passage.probabilities(signals)
        whole = list_signals(pool, signals, passages)
        before = float(estimators.collection.probabilities(whole[np.newaxis])[0])
        against = float(evidence_against(pool, int(np.argmax(passages))) @ self.evidence)
        return passages, before / (before + (1.0 - before) * math.exp(-against))


@lru_cache(maxsize=1)
def shipped_model() -> AnswerabilityModel:
    return load_model(json.loads(SHIPPED.read_text(encoding="utf-8")))


def load_model(data: Mapping[str, Any]) -> AnswerabilityModel:
    """Raises ValueError when the file was trained for other signals, or a part of it is missing."""
    try:
        hybrid, text = (
            Estimators(
                passage=read_logistic(data[kind]["passage"], PASSAGE_SIGNALS),
                collection=read_logistic(data[kind]["collection"], LIST_SIGNALS),
            )
            for kind in ("hybrid", "text")
        )
        return AnswerabilityModel(hybrid=hybrid, text=text, evidence=read_evidence(data["evidence"]))
    except KeyError as error:
        raise ValueError(f"the file of the grader lacks {error}: train it anew (benchmarks.train_grader)") from error


def read_evidence(data: Mapping[str, float]) -> Matrix:
    """Raises ValueError when it is for other signals, or holds what is no number at most 0."""
    if list(data) != list(EVIDENCE):
        raise ValueError(f"trained for other signals: {sorted(set(data) ^ set(EVIDENCE))}")
    weights = np.array([float(data[name]) for name in EVIDENCE])
    if not (np.isfinite(weights).all() and (weights <= 0).all()):
        raise ValueError("evidence against an answer weighs a finite number, at most 0")
    return weights


def read_logistic(data: Mapping[str, Any], names: Sequence[str]) -> Logistic:
    """Raises ValueError when it was trained for other signals, or holds what is no number."""
    signals = data["signals"]
    if list(signals) != list(names):
        raise ValueError(f"trained for other signals: {sorted(set(signals) ^ set(names))}")
    rows = [signals[name] for name in names]
    parameters = [data["bias"], *(row[key] for row in rows for key in ("mean", "deviation", "weight"))]
    if not all(math.isfinite(number) for number in parameters):
        raise ValueError("a weight is not a finite number")
    return Logistic(
        bias=float(data["bias"]),
        mean=np.array([row["mean"] for row in rows]),
        deviation=np.array([row["deviation"] for row in rows]),
        weight=np.array([row["weight"] for row in rows]),
    )
