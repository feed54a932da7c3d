"""Report how well the model-free grader judges sets that it never saw.

    python -m benchmarks.grader_report DATA_FOLDER [--embeddings FOLDER] [--sets a b] [--limit N] [--curve] [--json]

Each set is judged by a grader that is trained on the others, and not on sets that share its texts either (XQuAD and
SQuAD 2.0 hold the same Wikipedia paragraphs). Passages: those of the top 10 of every answerable question. NO_ANSWER:
the same questions once more with their passages taken out, at the threshold that turns 10 % of the answerable away.
`--curve`: what asking a model in a band of the estimate is worth, see `benchmarks.judge.asking`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.judge.asking import curve
from benchmarks.judge.train_grader import MODES, Example, Examples, fit_grader, parse_arguments, read_sets, relatives
from benchmarks.support.tables import show
from retrieval.answerability.model import AnswerabilityModel, load_model

FALSE_ALARMS = 0.1
BINS = 10
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """P(passage) with labels, over the answerable questions; P(holds the answer) by case."""

    passages: Vector
    labels: NDArray[np.bool_]
    holds: dict[str, Vector]


def judge(grader: AnswerabilityModel, examples: Sequence[Example]) -> Judged:
    passages, labels = [], []
    holds: dict[str, list[float]] = {}
    for example in examples:
        probabilities, whole = grader.estimate_pool(example.pool, example.signals)
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


def left_out(examples: Examples, kind: frozenset[str]) -> AnswerabilityModel:
    """A grader that never saw these sets."""
    return load_model(fit_grader({other: found for other, found in examples.items() if other not in kind}))


def row(name: str, mode: str, judged: Judged) -> dict[str, object]:
    """P(passage) first, then P(the list holds the answer); shares and areas, 0..1. Empty: no such questions."""
    present, absent = judged.holds["present"], judged.holds["absent"]
    holds = np.concatenate([present, absent])
    truth = np.arange(len(holds)) < len(present)
    altered = judged.holds.get("altered")
    unanswerable = judged.holds.get("unanswerable")
    numbers = {
        "AUC": roc_auc_score(judged.labels, judged.passages),
        "accuracy": ((judged.passages > 0.5) == judged.labels).mean(),
        "ECE": calibration_error(judged.passages, judged.labels),
        "caught": caught(present, absent),
        "list AUC": roc_auc_score(truth, holds),
        "list ECE": calibration_error(holds, truth),
        "unanswerable caught": None if unanswerable is None else caught(present, unanswerable),
        "altered caught": None if altered is None else caught(present, altered),
    }
    return {"set": name, "mode": mode} | {key: None if n is None else round(float(n), 4) for key, n in numbers.items()}


def reliability_note(name: str, mode: str, judged: Judged) -> str:
    bins = reliability(judged.passages, judged.labels)
    told = "  ".join(f"{mean:.2f}→{share:.2f} ({count})" for mean, share, count in bins if count)
    return f"reliability of P(passage), {name}, {mode}: mean probability → share that answers (passages)\n{told}"


def main() -> None:
    arguments = parse_arguments(__doc__ or "", as_json=True)
    with redirect_stdout(sys.stderr):
        examples = read_sets(arguments.sets, arguments.data, arguments.embeddings, arguments.limit)
    judged: dict[tuple[str, str], Judged] = {}
    for kind in dict.fromkeys(relatives(name) for name in examples):
        grader = left_out(examples, kind)
        for name in sorted(kind & examples.keys()):
            found = examples[name]
            judged |= {(name, mode): judge(grader, found[mode]) for mode in MODES if found.get(mode)}
    if arguments.curve:
        show(curve([one.holds for (_, mode), one in judged.items() if mode == "text"]), as_json=arguments.json)
        return
    show(
        [row(name, mode, one) for (name, mode), one in judged.items()],
        as_json=arguments.json,
        notes=[reliability_note(name, mode, one) for (name, mode), one in judged.items()],
    )


if __name__ == "__main__":
    main()
