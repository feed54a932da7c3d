"""Report how well the model-free grader judges sets that it never saw.

    python -m benchmarks.grader_report DATA_FOLDER --embeddings EMBEDDINGS_FOLDER

Each set is judged by a grader that is trained on the others, and not on sets that share its texts either (XQuAD and
SQuAD 2.0 hold the same Wikipedia paragraphs). Passages: those of the top 10 of every answerable question. NO_ANSWER:
the same questions once more with their passages taken out, at the threshold that turns 10 % of the answerable away.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.train_grader import MODES, Example, Examples, fit_grader, parse_arguments, read_sets
from retrieval.grader.model import Grader, load_grader

FAMILIES = ({"xquad_en", "squad2_en"},)
FALSE_ALARMS = 0.1
BINS = 10
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """P(passage) with labels, over the answerable questions; P(holds the answer) by case."""

    passages: Vector
    labels: NDArray[np.bool_]
    holds: dict[str, Vector]


def judge(grader: Grader, examples: Sequence[Example]) -> Judged:
    passages, labels, holds = [], [], {}
    for example in examples:
        probabilities, whole = grader.judge_pool(example.pool, example.signals)
        holds.setdefault(example.case, []).append(whole)
        if example.case == "present":
            passages.append(probabilities)
            labels.append(example.labels)
    return Judged(
        np.concatenate(passages), np.concatenate(labels), {case: np.array(found) for case, found in holds.items()}
    )


def calibration_error(probabilities: Vector, labels: NDArray[np.bool_]) -> float:
    """Expected calibration error over ten equal bins, 0..1."""
    return sum(
        abs(mean - share) * count / len(labels) for mean, share, count in reliability(probabilities, labels) if count
    )


def reliability(probabilities: Vector, labels: NDArray[np.bool_]) -> list[tuple[float, float, int]]:
    """Per bin: the mean probability, the share that was right, and how many."""
    bins = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    found = [bins == number for number in range(BINS)]
    return [
        (float(probabilities[at].mean()), float(labels[at].mean()), int(at.sum())) if at.any() else (0.0, 0.0, 0)
        for at in found
    ]


def caught(answerable: Vector, other: Vector) -> float:
    """The share of `other` below the threshold under which 10 % of the answerable lie."""
    return float((other < np.quantile(answerable, FALSE_ALARMS)).mean())


def left_out(examples: Examples, name: str) -> Grader:
    """A grader that never saw the set nor its relatives."""
    relatives = next((family for family in FAMILIES if name in family), {name})
    return load_grader(fit_grader({other: found for other, found in examples.items() if other not in relatives}))


def line(name: str, mode: str, judged: Judged) -> str:
    present, absent = judged.holds["present"], judged.holds["absent"]
    holds = np.concatenate([present, absent])
    truth = np.arange(len(holds)) < len(present)
    unanswerable = judged.holds.get("unanswerable")
    return (
        f"{name:12} {mode:7} {roc_auc_score(judged.labels, judged.passages):7.4f}"
        f" {((judged.passages > 0.5) == judged.labels).mean():7.3f}"
        f" {calibration_error(judged.passages, judged.labels):7.3f} | {caught(present, absent):8.3f}"
        f" {roc_auc_score(truth, holds):7.3f} {calibration_error(holds, truth):7.3f}"
        f" {caught(present, unanswerable) if unanswerable is not None else float('nan'):8.3f}"
    )


def main() -> None:
    arguments = parse_arguments(__doc__ or "")
    examples = read_sets(arguments.sets, arguments.data, arguments.embeddings, arguments.limit)
    print(
        f"{'set':12} {'mode':7} {'AUC':>7} {'acc.':>7} {'ECE':>7} | {'caught':>8} {'AUC':>7} {'ECE':>7} {'unansw.':>8}"
    )
    tables = []
    for name, found in examples.items():
        started = time.perf_counter()
        grader = left_out(examples, name)
        for mode in MODES:
            if found.get(mode):
                judged = judge(grader, found[mode])
                print(line(name, mode, judged), f" ({time.perf_counter() - started:.0f} s)", flush=True)
                tables.append((name, mode, judged))
    for name, mode, judged in tables:
        print(f"\nreliability of P(passage), {name}, {mode}: mean probability → share that answers (passages)")
        rows = reliability(judged.passages, judged.labels)
        print("  ".join(f"{mean:.2f}→{share:.2f} ({count})" for mean, share, count in rows if count))


if __name__ == "__main__":
    main()
