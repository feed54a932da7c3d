"""Train the model-free grader on labelled sets and write its weights.

    python -m benchmarks.train_grader DATA_FOLDER --embeddings EMBEDDINGS_FOLDER

Needs scikit-learn (`pip install -e .[grader]`); the site itself does not. Every set weighs the same, whatever its size.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from benchmarks.support.grader_data import LabelledSet
from retrieval.answerability.model import MAX_DEVIATIONS, SHIPPED, load_model, read_logistic
from retrieval.answerability.signals import (
    EVIDENCE,
    LIST_SIGNALS,
    PASSAGE_SIGNALS,
    Pool,
    evidence_against,
    list_signals,
    passage_signals,
    read_pool,
)

SETS = ("squad2_en", "hotpotqa_en", "scifact_en", "xquad_en", "cmrc2018_zh", "docs_en_milvus", "docs_zh_tidb", "rgb_zh")
ONLY_JUDGED = frozenset({"rgb_zh"})  # licensed for noncommercial use: not to be trained on
MODES = ("hybrid", "text")
PASSAGE_C, LIST_C = 0.01, 0.002  # inverse regularisation; strong, since what counts is a set that was never seen
READ = (("passage", PASSAGE_SIGNALS), ("collection", LIST_SIGNALS))
CASE_WEIGHTS = {"present": 1.0, "absent": 0.5, "altered": 0.25, "unanswerable": 0.5}  # of a set's lists, for evidence
EVIDENCE_PENALTY = 0.0002
TITLE_APART = -1.0  # set by hand: the sets ask for too few titles that are in no document
ABSENT_WEIGHT = 0.1  # of a list whose passages were taken out: ten questions in eleven are taken to be answerable
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """`case`: present, absent, unanswerable or altered, see `benchmarks.support.grader_data`."""

    case: str
    pool: Pool
    signals: Matrix
    labels: NDArray[np.bool_]


Examples = Mapping[str, Mapping[str, Sequence[Example]]]  # set → mode → examples


def read_sets(names: Sequence[str], data: Path, embeddings: Path | None, limit: int) -> Examples:
    """The signals of every set's labelled pools; no `hybrid` examples for a set without embeddings."""
    read = {}
    for name in names:
        labelled = LabelledSet(name, data, embeddings)
        read[name] = {
            mode: [
                _example(pool.question, pool.case, pool.candidates, pool.labels)
                for pool in labelled.pools(limit=limit, dense=mode == "hybrid")
            ]
            for mode in MODES
            if mode == "text" or labelled.document_vectors is not None
        }
        print(f"{name}: {', '.join(f'{len(found)} {mode} pools' for mode, found in read[name].items())}", flush=True)
    return read


def _example(question: str, case: str, candidates: Sequence[Any], labels: Sequence[bool]) -> Example:
    pool = read_pool(question, candidates)
    return Example(case, pool, passage_signals(pool), np.array(labels, dtype=bool))


def fit_grader(examples: Examples) -> dict[str, Any]:
    """What `grader.json` holds, fitted to all the given sets that may be trained on."""
    sets = {
        mode: [found[mode] for name, found in examples.items() if found.get(mode) and name not in ONLY_JUDGED]
        for mode in MODES
    }
    fitted = {mode: _fit_mode(sets[mode]) for mode in MODES}
    return {"evidence": _fit_evidence(sets["text"], fitted["text"]), **fitted}


def _fit_evidence(sets: Sequence[Sequence[Example]], fitted: Mapping[str, Any]) -> dict[str, float]:
    """What each of EVIDENCE adds to the log-odds that the fitted model gives a list, by near misses among others.

    Hardly regularised, since the signals are rare, and never above 0. Fitted without vectors, where all sets take part.
    """
    passage, whole = (read_logistic(fitted[key], names) for key, names in READ)
    rows, offsets, holds, weights = [], [], [], []
    for examples in sets:
        sizes = Counter(example.case for example in examples)
        for example in examples:
            chances = passage.probabilities(example.signals)
            before = whole.probabilities(list_signals(example.pool, example.signals, chances)[np.newaxis])[0]
            rows.append(evidence_against(example.pool, int(np.argmax(chances))))
            offsets.append(np.log(before / (1 - before)))
            holds.append(example.case == "present")
            weights.append(CASE_WEIGHTS[example.case] / sizes[example.case])
    against, offset, truth = np.array(rows), np.array(offsets), np.array(holds, dtype=float)
    share = np.array(weights) / sum(weights)

    def loss(parameters: Matrix) -> tuple[float, Matrix]:
        odds = offset + parameters[0] + against @ parameters[1:]
        wrong = share * (1 / (1 + np.exp(-odds)) - truth)
        value = (share * (np.logaddexp(0, odds) - truth * odds)).sum() + EVIDENCE_PENALTY * (parameters[1:] ** 2).sum()
        return value, np.concatenate([[wrong.sum()], wrong @ against + 2 * EVIDENCE_PENALTY * parameters[1:]])

    bounds = [(-0.5, 0.5), *[(-4.0, 0.0)] * len(EVIDENCE)]
    found = minimize(loss, np.zeros(1 + len(EVIDENCE)), jac=True, bounds=bounds, method="L-BFGS-B").x[1:]
    weighed = {name: round(float(weight), 2) for name, weight in zip(EVIDENCE, found, strict=True)}
    return weighed | {"title_apart": min(TITLE_APART, weighed["title_apart"])}


def _fit_mode(sets: Sequence[Sequence[Example]]) -> dict[str, Any]:
    usable = [[example for example in examples if example.case in ("present", "absent")] for examples in sets]
    rows, labels, weights = [], [], []
    for examples in usable:
        for example in examples:
            rows.append(example.signals)
            labels.append(example.labels)
            weight = ABSENT_WEIGHT if example.case == "absent" else 1.0
            weights.append(np.full(len(example.labels), weight / len(examples)))
    passage = _fit(np.vstack(rows), np.concatenate(labels), np.concatenate(weights), PASSAGE_SIGNALS, PASSAGE_C)
    judge = read_logistic(passage, PASSAGE_SIGNALS)
    lists, holds, list_weights = [], [], []
    for examples in usable:
        for example in examples:
            lists.append(list_signals(example.pool, example.signals, judge.probabilities(example.signals)))
            holds.append(example.case == "present")
            list_weights.append(1 / len(examples))
    whole = _fit(np.array(lists), np.array(holds), np.array(list_weights), LIST_SIGNALS, LIST_C)
    return {"passage": passage, "collection": whole}


def _fit(
    rows: Matrix, labels: NDArray[np.bool_], weights: Matrix, names: Sequence[str], inverse: float
) -> dict[str, Any]:
    weights = weights / weights.mean()
    mean = np.average(rows, axis=0, weights=weights)
    deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weights))
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    scaled = ((rows - mean) / deviation).clip(-MAX_DEVIATIONS, MAX_DEVIATIONS)
    model = LogisticRegression(C=inverse, max_iter=2000).fit(scaled, labels, sample_weight=weights)
    signals = {
        name: {"weight": round(float(w), 5), "mean": round(float(m), 5), "deviation": round(float(d), 5)}
        for name, w, m, d in zip(names, model.coef_[0], mean, deviation, strict=True)
    }
    return {"bias": round(float(model.intercept_[0]), 5), "signals": signals}


def main() -> None:
    arguments = parse_arguments(__doc__ or "")
    names = [name for name in arguments.sets if name not in ONLY_JUDGED]
    fitted = fit_grader(read_sets(names, arguments.data, arguments.embeddings, arguments.limit))
    load_model(fitted)  # refuses what the site could not read
    arguments.out.write_text(_readable({"trained_on": names, **fitted}), encoding="utf-8")
    print(f"wrote {arguments.out}")


def _readable(data: Mapping[str, Any]) -> str:
    """JSON with one signal a line."""
    rows = re.compile(r"\{\s+(\"weight\": \S+)\s+(\"mean\": \S+)\s+(\"deviation\": \S+)\s+\}")
    return rows.sub(r"{\1 \2 \3}", json.dumps(data, indent=1)) + "\n"


def parse_arguments(description: str, *, as_json: bool = False) -> argparse.Namespace:
    """`as_json`: for the report, which prints rather than writes a grader."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="one folder per set")
    parser.add_argument("--embeddings", type=Path, help="{set}.corpus.npy and {set}.queries.npy")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=int, default=800, help="answerable questions per set")
    if as_json:
        parser.add_argument("--json", action="store_true")
    else:
        parser.add_argument("--out", type=Path, default=SHIPPED)
    return parser.parse_args()


if __name__ == "__main__":
    main()
