"""Tables for people; results saved and compared with an earlier run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragsite.core.wording import worded
from retrieval.evaluation.dataset import DatasetError
from retrieval.evaluation.runner import Evaluation

DECISIONS = ("ANSWER", "CLARIFY", "NO_ANSWER")


def summary(evaluation: Evaluation) -> Iterator[str]:
    """Lines: stages by metrics, fallbacks, decisions."""
    yield f"{evaluation.dataset}: {evaluation.queries} questions, embeddings by {evaluation.embedding_model}"
    if evaluation.queries:
        yield from table(evaluation.stages)
        yield "Latency without embedding the question itself."
    else:
        yield "No question has a judged document: there is nothing to rank."
    for stage, reasons in evaluation.fallbacks.items():
        for reason, count in reasons.items():
            yield f"{stage}: a fallback served for {count} of {evaluation.queries} ({reason})"
    if evaluation.decisions:
        yield ""
        yield "".join(["decisions".ljust(14), *(name.rjust(12) for name in DECISIONS)])
        for kind, counts in evaluation.decisions.items():
            yield "".join([kind.ljust(14), *(str(counts.get(name, 0)).rjust(12) for name in DECISIONS)])


def table(stages: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    columns = list(next(iter(stages.values()), {}))
    yield "".join(["stage".ljust(10), *(name.rjust(12) for name in columns)])
    for stage, values in stages.items():
        yield "".join([stage.ljust(10), *(_number(name, values[name]).rjust(12) for name in columns)])


def _number(name: str, value: float) -> str:
    return f"{value:.1f}" if name.endswith("_ms") else f"{value:.4f}"


# ------------------------------------------------------------------------------------------------ saved runs
def save(evaluation: Evaluation, path: Path) -> None:
    """Raises OSError."""
    about = {
        "k": evaluation.k,
        "embedding_model": evaluation.embedding_model,
        "saved_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    path.write_text(json.dumps({**evaluation.as_dict(), **about}, ensure_ascii=False, indent=2), encoding="utf-8")


def load_saved(path: Path) -> dict[str, Any]:
    """Raises DatasetError."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(saved["stages"], dict):
            raise TypeError
    except OSError as error:
        raise DatasetError(
            worded("{file} can't be read: {problem}.", file=str(path), problem=error.strerror)
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(worded("{file} is not what --save writes.", file=str(path))) from error
    return dict(saved)


def comparison(evaluation: Evaluation, saved: Mapping[str, Any]) -> Iterator[str]:
    """Lines: now minus then, in points (hundredths) and ms, for the stages and metrics of both."""
    notes = [f"{name} was {saved.get(name)}" for name in _different(evaluation, saved)]
    yield f"Against the run of {saved.get('saved_at', 'an unknown time')}{': ' if notes else ''}{'; '.join(notes)}"
    both = [stage for stage in evaluation.stages if stage in saved["stages"]]
    columns = _shared_columns(evaluation, saved, both)
    yield "".join(["stage".ljust(10), *(name.rjust(12) for name in columns)])
    for stage in both:
        now, then = evaluation.stages[stage], saved["stages"][stage]
        yield "".join([stage.ljust(10), *(_change(name, now[name], then[name]).rjust(12) for name in columns)])


def _different(evaluation: Evaluation, saved: Mapping[str, Any]) -> list[str]:
    names = ("dataset", "queries", "k", "embedding_model")
    return [name for name in names if saved.get(name) != getattr(evaluation, name)]


def _shared_columns(evaluation: Evaluation, saved: Mapping[str, Any], both: Sequence[str]) -> list[str]:
    if not both:
        return []
    return [name for name in evaluation.stages[both[0]] if all(name in saved["stages"][stage] for stage in both)]


def _change(name: str, now: float, then: float) -> str:
    return f"{now - then:+.1f}" if name.endswith("_ms") else f"{(now - then) * 100:+.2f}"
