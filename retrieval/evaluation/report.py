"""Tables for people; results saved and compared with an earlier run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from retrieval.evaluation.dataset import DatasetError
from retrieval.evaluation.runner import Evaluation

DECISIONS = ("ANSWER", "CLARIFY", "NO_ANSWER")
ABOUT = ("dataset", "queries", "k", "embedding_model")


def summary(evaluation: Evaluation) -> str:
    """Stages by metrics, fallbacks, decisions."""
    lines = [
        f"{evaluation.dataset}: {evaluation.queries} questions, embeddings by {evaluation.embedding_model}"
    ]
    if evaluation.queries:
        lines += _table(
            evaluation.stages,
            lambda name, value: f"{value:.1f}" if _is_ms(name) else f"{value:.4f}",
        )
    else:
        lines.append("No question has a judged document: there is nothing to rank.")
    for stage, reasons in evaluation.fallbacks.items():
        for reason, count in reasons.items():
            lines.append(
                f"{stage}: a fallback served for {count} of {evaluation.queries} ({reason})"
            )
    if evaluation.decisions:
        rows = {
            kind: {name: counts.get(name, 0) for name in DECISIONS}
            for kind, counts in evaluation.decisions.items()
        }
        lines += ["", *_table(rows, lambda _, count: str(count))]
    return "\n".join(lines)


def _table(
    rows: Mapping[str, Mapping[str, float]], shown: Callable[[str, float], str]
) -> Iterator[str]:
    columns = list(next(iter(rows.values()), {}))
    yield "".join([" " * 14, *(name.rjust(12) for name in columns)])
    for label, values in rows.items():
        yield "".join([label.ljust(14), *(shown(name, values[name]).rjust(12) for name in columns)])


def _is_ms(name: str) -> bool:
    return name.endswith("_ms")


def save(evaluation: Evaluation, path: Path) -> None:
    """Raises OSError."""
    about = {name: getattr(evaluation, name) for name in ABOUT}
    saved_at = datetime.now(UTC).isoformat(timespec="seconds")
    saved = {**evaluation.as_dict(), **about, "saved_at": saved_at}
    path.write_text(json.dumps(saved, ensure_ascii=False, indent=2), encoding="utf-8")


def load_saved(path: Path) -> dict[str, Any]:
    """Raises DatasetError."""
    try:
        saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        dict(saved["stages"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{path} can't be read, or is not what --save writes: {error}."
        ) from error
    return saved


def comparison(evaluation: Evaluation, saved: Mapping[str, Any]) -> str:
    """Now minus then, in points (hundredths) and ms, for the stages and metrics of both."""
    notes = [
        f"{name} was {saved.get(name)}"
        for name in ABOUT
        if saved.get(name) != getattr(evaluation, name)
    ]
    changes: dict[str, dict[str, float]] = {}
    for stage, values in evaluation.stages.items():
        then = saved["stages"].get(stage, {})
        changes[stage] = {
            name: value - then[name] for name, value in values.items() if name in then
        }
    lines: Sequence[str] = [
        f"Against the run of {saved.get('saved_at', 'an unknown time')}{': ' if notes else ''}{'; '.join(notes)}",
        *_table(
            {stage: values for stage, values in changes.items() if values},
            lambda name, value: f"{value:+.1f}" if _is_ms(name) else f"{value * 100:+.2f}",
        ),
    ]
    return "\n".join(lines)
