"""Report how well the estimate of answerability judges people's questions that it never saw.

    python -m benchmarks.judge.grader_report DATA_FOLDER [--embeddings FOLDER] [--limit N] [--json]

Questions that were made beside their passages are in every training. Of people's questions one manual's are trained on
at a time, or none, and the other sets are judged. List AUC: lists with a passage that answers against the others
(nothing found, the documents taken out, unanswerable); asked AUC: answerable questions, found or not, against
unanswerable ones. First three: questions with a passage that answers among the first three as found, and by the
passages' own estimates.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.judge.train_grader import (
    BESIDE,
    MODES,
    REALISTIC,
    Example,
    Examples,
    fit_grader,
    parse_arguments,
    read_sets,
)
from benchmarks.support.tables import Row, show
from retrieval.answerability.model import Matrix, Models, load_models

BINS = 5
TRAINED = (None, *REALISTIC[:2])


def left_out(examples: Examples, names: frozenset[str]) -> dict[str, Models]:
    """Models that never saw these sets."""
    return load_models(fit_grader({name: found for name, found in examples.items() if name not in names}))


def row(models: Models, examples: Sequence[Example]) -> Row:
    """Shares and areas, 0..1."""
    whole = np.array([models.whole.probabilities(one.signals.whole) for one in examples])
    holds = np.array([one.holds for one in examples])
    case = np.array([one.case for one in examples])
    asked = case != "absent"
    present = [one for one in examples if one.case == "present"]
    passages = [models.passage.probabilities(one.signals.passages) for one in present]
    orders = [np.argsort(-found, kind="stable")[:3] for found in passages]
    labels = np.concatenate([one.labels for one in present])
    numbers = {
        "list AUC": roc_auc_score(holds, whole),
        "asked AUC": roc_auc_score(case[asked] == "present", whole[asked]),
        "list ECE": calibration_error(whole, holds),
        "mean, answerable": whole[case == "present"].mean(),
        "mean, unanswerable": whole[case == "unanswerable"].mean(),
        "passage AUC": roc_auc_score(labels, np.concatenate(passages)),
        "passage ECE": calibration_error(np.concatenate(passages), labels),
        "first three, as found": np.mean([one.labels[:3].any() for one in present]),
        "first three, by estimate": np.mean([one.labels[at].any() for one, at in zip(present, orders, strict=True)]),
    }
    return {name: round(float(number), 2) for name, number in numbers.items()}


def calibration_error(probabilities: Matrix, labels: NDArray[np.bool_]) -> float:
    """Expected calibration error over equal bins, 0..1."""
    bins = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    found = [bins == number for number in range(BINS)]
    return sum(abs(probabilities[at].mean() - labels[at].mean()) * at.mean() for at in found if at.any())


def main() -> None:
    arguments = parse_arguments(__doc__ or "", report=True)
    with redirect_stdout(sys.stderr):
        examples = read_sets((*BESIDE, *REALISTIC), arguments.data, arguments.embeddings, arguments.limit)
    rows: list[Row] = []
    for trained in TRAINED:
        unseen = frozenset(name for name in REALISTIC if name != trained)
        models = left_out(examples, unseen)
        rows += [
            {"trained on": trained or "-", "judged": name, "mode": mode, **row(models[mode], examples[name][mode])}
            for mode in MODES
            for name in sorted(unseen)
            if mode in examples[name]
        ]
    show(rows, as_json=arguments.json)


if __name__ == "__main__":
    main()
