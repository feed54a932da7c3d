"""Fit the weights of the estimate (`retrieval.engine.steps.judge`) on labelled sets, and report it on others.

    python -m benchmarks.judge.fit_estimate DATA_FOLDER [--embeddings FOLDER] [--fit SET …] [--report SET …] [--write]

Folders: `benchmarks.support.labelled_sets`. Fitted to whether the documents answer, found or not; each set weighs the
same, and in each the questions that they answer weigh as much as the others (unanswerable ones, and the answerable once
more with their documents taken out). `--write` writes `weights.json`; a mode without examples keeps its weights.

list AUC: lists with a passage that answers against the others. asked AUC: answerable questions against unanswerable
ones, found or not. ANSWER, NO_ANSWER: shares of answerable questions (of those with their passage in the list) and of
unanswerable questions, and of those whose documents were taken out, with the right label at `good_score`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from benchmarks.support.labelled_sets import LabelledSet
from benchmarks.support.tables import Row, show
from ragsite.core.rag_settings import CorrectiveSettings
from retrieval.engine.steps.judge import (
    HYBRID_SIGNALS,
    TEXT_SIGNALS,
    WEIGHTS,
    probability,
    read_signals,
    shipped_weights,
)

MODES = {"hybrid": HYBRID_SIGNALS, "text": TEXT_SIGNALS}
FIT = ("realistic_milvus_en", "squad2_en", "cmrc2018_zh")
REPORT = ("realistic_tidb_zh", "realistic_small", "scifact_en")
PENALTY = 0.01  # of the squares of standardised weights
Weights = dict[str, float]
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """One list. `case`: present, absent or unanswerable; `holds`: whether one of its passages answers."""

    case: str
    holds: bool
    signals: dict[str, float]


def read_examples(name: str, options: argparse.Namespace) -> dict[str, list[Example]]:
    """By mode; none for lists with vectors, where the set has none."""
    labelled = LabelledSet(name, options.data, options.embeddings)
    modes = [mode for mode in MODES if mode == "text" or labelled.document_vectors is not None]
    return {
        mode: [
            Example(one.case, any(one.labels), read_signals(one.question, one.candidates))
            for one in labelled.pools(limit=options.limit, dense=mode == "hybrid")
        ]
        for mode in modes
    }


def fit(sets: Sequence[Sequence[Example]], names: Sequence[str]) -> Weights:
    """Logistic regression, penalised by the squares of the standardised weights."""
    examples = [example for found in sets for example in found]
    rows = np.array([[example.signals[name] for name in names] for example in examples])
    answered = np.array([example.case == "present" for example in examples], dtype=float)
    share = np.concatenate([_halves([example.case == "present" for example in found]) for found in sets])
    share /= share.sum()
    mean = share @ rows
    deviation = np.sqrt(share @ (rows - mean) ** 2) + 1e-9
    scaled = (rows - mean) / deviation

    def loss(parameters: Vector) -> tuple[float, Vector]:
        odds = parameters[0] + scaled @ parameters[1:]
        wrong = share * (1.0 / (1.0 + np.exp(-odds)) - answered)
        penalty = PENALTY * float(parameters[1:] @ parameters[1:])
        value = float(share @ (np.logaddexp(0.0, odds) - answered * odds)) + penalty
        return value, np.concatenate([[wrong.sum()], wrong @ scaled + 2 * PENALTY * parameters[1:]])

    found = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    weights = found[1:] / deviation
    named = {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}
    return {"bias": round(float(found[0] - weights @ mean), 3), **named}


def _halves(answered: Sequence[bool]) -> Vector:
    yes = np.array(answered)
    return np.where(yes, 0.5 / max(1, yes.sum()), 0.5 / max(1, (~yes).sum()))


def report(name: str, mode: str, examples: Sequence[Example], weights: Weights) -> Row:
    scores = np.array([probability(example.signals, weights) for example in examples])
    case = np.array([example.case for example in examples])
    holds = np.array([example.holds for example in examples])
    asked = case != "absent"
    labelled_answer = scores >= CorrectiveSettings().good_score
    return {
        "set": name,
        "mode": mode,
        "list AUC": area(holds, scores),
        "asked AUC": area(case[asked] == "present", scores[asked]),
        "ANSWER": _share(labelled_answer[case == "present"]),
        "of found": _share(labelled_answer[(case == "present") & holds]),
        "NO_ANSWER": _share(~labelled_answer[case == "unanswerable"]),
        "of absent": _share(~labelled_answer[case == "absent"]),
    }


def area(truth: NDArray[np.bool_], scores: Vector) -> float | None:
    """Area under the ROC curve, 0..1; None where all are of one kind."""
    positive, negative = int(truth.sum()), int((~truth).sum())
    if not positive or not negative:
        return None
    ranks = rankdata(scores)[truth].sum()
    return round(float(ranks - positive * (positive + 1) / 2) / (positive * negative), 2)


def _share(right: NDArray[np.bool_]) -> str:
    return f"{int(right.sum())}/{len(right)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="one folder per set")
    parser.add_argument("--embeddings", type=Path, help="{set}.corpus.npy and {set}.queries.npy")
    parser.add_argument("--limit", type=int, default=200, help="answerable questions per set")
    parser.add_argument("--fit", nargs="+", default=FIT)
    parser.add_argument("--report", nargs="+", default=REPORT)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    read = {name: read_examples(name, options) for name in (*options.fit, *options.report)}
    weights, rows = dict(shipped_weights()), []
    for mode, signals in MODES.items():
        if fitted := [read[name][mode] for name in options.fit if mode in read[name]]:
            weights[mode] = fit(fitted, signals)
        rows += [report(name, mode, found[mode], weights[mode]) for name, found in read.items() if mode in found]
    show(rows, as_json=False)
    if options.write:
        WEIGHTS.write_text(json.dumps(weights, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
