"""Train the model-free grader on labelled sets and write its weights.

    python -m benchmarks.train_grader DATA_FOLDER --embeddings EMBEDDINGS_FOLDER

Needs scikit-learn (`pip install -e .[grader]`); the site itself does not. Every set weighs the same, whatever its size.
The models for lists with vectors are fitted only where every set has embeddings; else they stay as they are.
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

from benchmarks.support.grader_data import LabelledPool, LabelledSet
from retrieval.answerability.model import MAX_DEVIATIONS, SHIPPED, Logistic, load_model, read_logistic
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
KINDS = (frozenset({"squad2_en", "xquad_en"}),)  # sets of one kind of text; each other set is a kind by itself
# rgb_zh is licensed for noncommercial use. Questions made by rule from manuals are labelled too coarsely: with them in
# training, the calibration error of other kinds rises (docs/grader.md).
ONLY_JUDGED = frozenset({"rgb_zh", "docs_en_milvus", "docs_zh_tidb"})
MODES = ("hybrid", "text")
PASSAGE_C, LIST_C = 0.01, 0.002  # inverse regularisation; strong, since what counts is a set that was never seen
CASE_WEIGHTS = {"present": 1.0, "absent": 0.5, "altered": 0.25, "unanswerable": 0.5}  # of a set's lists, for evidence
EVIDENCE_PENALTY = 0.0002
TITLE_APART = -3.5  # at least: set by hand, so that no answer comes from a passage that has a film title's words apart
ABSENT_WEIGHT = 0.1  # of a list whose passages were taken out: ten questions in eleven are taken to be answerable
Matrix = NDArray[np.float64]
ListRows = tuple[Matrix, NDArray[np.bool_]]  # signals of the lists, and whether they hold the answer


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
            mode: [_example(pool) for pool in labelled.pools(limit=limit, dense=mode == "hybrid")]
            for mode in MODES
            if mode == "text" or labelled.document_vectors is not None
        }
        print(f"{name}: {', '.join(f'{len(found)} {mode} pools' for mode, found in read[name].items())}", flush=True)
    return read


def _example(labelled: LabelledPool) -> Example:
    pool = read_pool(labelled.question, labelled.candidates)
    return Example(labelled.case, pool, passage_signals(pool), np.array(labelled.labels, dtype=bool))


def relatives(name: str) -> frozenset[str]:
    """The sets of its kind, itself among them."""
    return next((kind for kind in KINDS if name in kind), frozenset({name}))


def fit_grader(examples: Examples) -> dict[str, Any]:
    """What `grader.json` holds, fitted to all the given sets that may be trained on. A mode of which there are no
    examples keeps what is shipped; evidence is fitted without vectors, where all sets take part."""
    sets = {
        mode: {name: found[mode] for name, found in examples.items() if found.get(mode) and name not in ONLY_JUDGED}
        for mode in MODES
    }
    kept = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return {
        "evidence": _fit_evidence(sets["text"]),
        **{mode: _fit_mode(list(sets[mode].values())) if sets[mode] else kept[mode] for mode in MODES},
    }


def _fit_evidence(sets: Mapping[str, Sequence[Example]]) -> dict[str, float]:
    """What each of EVIDENCE adds to the log-odds of a list, by near misses among others.

    Hardly regularised, since the signals are rare, and never above 0. The log-odds it is added to are those of models
    that did not see the kind of text.
    """
    passage = read_logistic(_fit_passage([_plain(examples) for examples in sets.values()]), PASSAGE_SIGNALS)
    lists = {name: _list_rows(examples, passage) for name, examples in sets.items()}
    rows, offsets, holds, weights = [], [], [], []
    for kind in {relatives(name) for name in sets}:
        unseen = [name for name in sets if name not in kind] or list(sets)  # where there is one kind only, itself
        others = [_of_plain(lists[name], sets[name]) for name in unseen]
        whole = read_logistic(_fit_lists(others), LIST_SIGNALS)
        for name in kind & sets.keys():
            sizes = Counter(example.case for example in sets[name])
            before = whole.probabilities(lists[name][0])
            offsets.append(np.log(before / (1 - before)))
            for example in sets[name]:
                best = int(np.argmax(passage.probabilities(example.signals)))
                rows.append(evidence_against(example.pool, best))
                holds.append(example.case == "present")
                weight = CASE_WEIGHTS[example.case] / sizes[example.case]
                weights.append(weight / len(kind & sets.keys()))
    against, offset, truth = np.array(rows), np.concatenate(offsets), np.array(holds, dtype=float)
    share = np.array(weights) / sum(weights)

    def loss(parameters: Matrix) -> tuple[float, Matrix]:
        odds = offset + against @ parameters
        wrong = share * (1 / (1 + np.exp(-odds)) - truth)
        value = (share * (np.logaddexp(0, odds) - truth * odds)).sum() + EVIDENCE_PENALTY * (parameters**2).sum()
        return value, wrong @ against + 2 * EVIDENCE_PENALTY * parameters

    bounds = [(-4.0, 0.0)] * len(EVIDENCE)
    found = minimize(loss, np.zeros(len(EVIDENCE)), jac=True, bounds=bounds, method="L-BFGS-B").x
    weighed = {name: round(min(float(weight), 0.0), 2) for name, weight in zip(EVIDENCE, found, strict=True)}
    return weighed | {"title_apart": min(TITLE_APART, weighed["title_apart"])}


def _is_plain(example: Example) -> bool:
    """Whether the models themselves are fitted to it."""
    return example.case in ("present", "absent")


def _plain(examples: Sequence[Example]) -> list[Example]:
    return [example for example in examples if _is_plain(example)]


def _of_plain(rows: ListRows, examples: Sequence[Example]) -> ListRows:
    kept = np.array([_is_plain(example) for example in examples])
    return rows[0][kept], rows[1][kept]


def _fit_mode(sets: Sequence[Sequence[Example]]) -> dict[str, Any]:
    usable = [_plain(examples) for examples in sets]
    passage = _fit_passage(usable)
    judge = read_logistic(passage, PASSAGE_SIGNALS)
    return {"passage": passage, "collection": _fit_lists([_list_rows(examples, judge) for examples in usable])}


def _fit_passage(sets: Sequence[Sequence[Example]]) -> dict[str, Any]:
    rows, labels, weights = [], [], []
    for examples in sets:
        for example in examples:
            rows.append(example.signals)
            labels.append(example.labels)
            weight = ABSENT_WEIGHT if example.case == "absent" else 1.0
            weights.append(np.full(len(example.labels), weight / len(examples)))
    return _fit(np.vstack(rows), np.concatenate(labels), np.concatenate(weights), PASSAGE_SIGNALS, PASSAGE_C)


def _list_rows(examples: Sequence[Example], passage: Logistic) -> ListRows:
    rows = [list_signals(one.pool, one.signals, passage.probabilities(one.signals)) for one in examples]
    return np.array(rows), np.array([one.case == "present" for one in examples])


def _fit_lists(sets: Sequence[ListRows]) -> dict[str, Any]:
    weights = [np.full(len(rows), 1 / len(rows)) for rows, _ in sets]
    rows, holds = np.vstack([rows for rows, _ in sets]), np.concatenate([holds for _, holds in sets])
    return _fit(rows, holds, np.concatenate(weights), LIST_SIGNALS, LIST_C)


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
    examples = read_sets(names, arguments.data, arguments.embeddings, arguments.limit)
    trained_on = {"hybrid": json.loads(SHIPPED.read_text(encoding="utf-8"))["trained_on"]["hybrid"], "text": names}
    if all(found.get("hybrid") for found in examples.values()):
        trained_on["hybrid"] = names
    else:
        print("not every set has embeddings: the models for lists with vectors stay as they are")
        examples = {name: {"text": found["text"]} for name, found in examples.items()}
    fitted = fit_grader(examples)
    load_model(fitted)  # refuses what the site could not read
    arguments.out.write_text(_readable({"trained_on": trained_on, **fitted}), encoding="utf-8")
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
        parser.add_argument("--curve", action="store_true", help="of asking a model, instead of the table")
    else:
        parser.add_argument("--out", type=Path, default=SHIPPED)
    return parser.parse_args()


if __name__ == "__main__":
    main()
