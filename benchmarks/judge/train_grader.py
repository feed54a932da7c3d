"""Train the estimate of answerability on labelled sets and write its weights.

    python -m benchmarks.judge.train_grader DATA_FOLDER --embeddings EMBEDDINGS_FOLDER

Needs scikit-learn (`pip install -e .[grader]`); the site itself does not. Folders: `benchmarks.support.grader_data`.
Every set weighs the same, whatever its size, and in each set lists that hold the answer weigh as much as the others.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.support.grader_data import LabelledPool, LabelledSet
from retrieval.answerability.model import (
    LIST_SIGNALS,
    MAX_DEVIATIONS,
    PASSAGE_SIGNALS,
    SHIPPED,
    Matrix,
    Signals,
    load_models,
    read_signals,
)

BESIDE = ("squad2_en", "hotpotqa_en", "scifact_en", "cmrc2018_zh")  # questions that were made beside their passages
REALISTIC = ("realistic_milvus_en", "realistic_tidb_zh", "realistic_small")
SETS = (*BESIDE, "realistic_milvus_en")
MODES = ("hybrid", "text")
C = 0.05  # inverse regularisation; strong, since what counts is a set that was never seen
ABSENT_WEIGHT = 0.3  # of the passages of a list that holds no answer


@dataclass(frozen=True, slots=True)
class Example:
    """`case`: present, absent or unanswerable, see `benchmarks.support.grader_data`. labels: of the passages."""

    case: str
    signals: Signals
    labels: NDArray[np.bool_]

    @property
    def holds(self) -> bool:
        """Whether the list has a passage that answers."""
        return bool(self.labels.any())


Examples = Mapping[str, Mapping[str, Sequence[Example]]]  # set → mode → examples


def read_sets(names: Sequence[str], data: Path, embeddings: Path | None, limit: int) -> Examples:
    """The signals of every set's labelled pools; no `hybrid` examples for a set without embeddings."""
    read = {}
    for name in names:
        labelled = LabelledSet(name, data, embeddings)
        read[name] = {
            mode: [_example(pool) for pool in labelled.pools(limit=limit, dense=mode == "hybrid")]
            for mode in MODES
            if mode == "text" or labelled.document_vectors is not None
        }
        print(f"{name}: {', '.join(f'{len(found)} {mode} lists' for mode, found in read[name].items())}", flush=True)
    return read


def _example(pool: LabelledPool) -> Example:
    return Example(pool.case, read_signals(pool.question, pool.candidates), np.array(pool.labels, dtype=bool))


def fit_grader(examples: Examples) -> dict[str, Any]:
    """What `weights.json` holds, fitted to all the given sets."""
    return {
        mode: {
            "passage": _fit_passages([found[mode] for found in examples.values() if mode in found]),
            "whole": _fit_lists([found[mode] for found in examples.values() if mode in found]),
        }
        for mode in MODES
    }


def _fit_passages(sets: Sequence[Sequence[Example]]) -> dict[str, Any]:
    weights = [
        np.full(len(one.labels), (1.0 if one.holds else ABSENT_WEIGHT) / len(examples))
        for examples in sets
        for one in examples
    ]
    every = [one for examples in sets for one in examples]
    rows, labels = (
        np.concatenate([one.signals.passages for one in every]),
        np.concatenate([one.labels for one in every]),
    )
    return _fit(rows, labels, np.concatenate(weights), PASSAGE_SIGNALS)


def _fit_lists(sets: Sequence[Sequence[Example]]) -> dict[str, Any]:
    every = [one for examples in sets for one in examples]
    holds = np.array([one.holds for one in every])
    weights = np.concatenate([_halves([one.holds for one in examples]) for examples in sets])
    return _fit(np.array([one.signals.whole for one in every]), holds, weights, LIST_SIGNALS)


def _halves(holds: Iterable[bool]) -> Matrix:
    """Weights of one set's lists: those that hold the answer half of 1 together, the others the other half."""
    held = np.array(list(holds))
    return np.where(held, 0.5 / max(1, held.sum()), 0.5 / max(1, (~held).sum()))


def _fit(
    rows: Matrix, labels: NDArray[np.bool_], weights: Matrix, names: Sequence[str]
) -> dict[str, Any]:
    weights = weights / weights.mean()
    mean = np.average(rows, axis=0, weights=weights)
    deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weights))
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    scaled = ((rows - mean) / deviation).clip(-MAX_DEVIATIONS, MAX_DEVIATIONS)
    model = LogisticRegression(C=C, max_iter=2000).fit(scaled, labels, sample_weight=weights)
    signals = {
        name: {"weight": round(float(w), 4), "mean": round(float(m), 4), "deviation": round(float(d), 4)}
        for name, w, m, d in zip(names, model.coef_[0], mean, deviation, strict=True)
    }
    return {"bias": round(float(model.intercept_[0]), 4), "signals": signals}


def main() -> None:
    arguments = parse_arguments(__doc__ or "")
    fitted = fit_grader(read_sets(arguments.sets, arguments.data, arguments.embeddings, arguments.limit))
    load_models(fitted)  # refuses what the site could not read
    arguments.out.write_text(_readable({"trained_on": arguments.sets, **fitted}), encoding="utf-8")
    print(f"wrote {arguments.out}")


def _readable(data: Mapping[str, Any]) -> str:
    """JSON with one signal a line."""
    rows = re.compile(r"\{\s+(\"weight\": \S+)\s+(\"mean\": \S+)\s+(\"deviation\": \S+)\s+\}")
    return rows.sub(r"{\1 \2 \3}", json.dumps(data, indent=1)) + "\n"


def parse_arguments(description: str, *, report: bool = False) -> argparse.Namespace:
    """`report`: it prints rather than writes weights, and reads all sets."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="one folder per set")
    parser.add_argument("--embeddings", type=Path, help="{set}.corpus.npy and {set}.queries.npy")
    parser.add_argument("--limit", type=int, default=200, help="answerable questions per set")
    if report:
        parser.add_argument("--json", action="store_true")
    else:
        parser.add_argument("--sets", nargs="+", default=SETS)
        parser.add_argument("--out", type=Path, default=SHIPPED)
    return parser.parse_args()


if __name__ == "__main__":
    main()
