"""Two runs of a set, by stage and question by question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from feedback.evaluation.alarm import NOTICEABLE, StageChange, stage_change
from feedback.evaluation.run import run_scores
from feedback.models import EvaluationOutcome, EvaluationRun
from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded

SETUP = ("embedding_model", "chat_model", "fast_model", "documents", "chunks", "revision", "boosts_by_hand")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionChange:
    """A question at a stage. kind: what a right decision is about. Scores 0..1; first: the place of the first relevant
    document; None where it was not found, or the run did not measure it."""

    key: str
    text: str
    before: float | None
    after: float | None
    first_before: int | None
    first_after: int | None
    decision_before: str = ""
    decision_after: str = ""
    kind: str = ""

    @property
    def change(self) -> float:
        """Above 0: better; 0 where one of the two is not known."""
        return 0.0 if self.before is None or self.after is None else self.after - self.before


def runs_check(before: EvaluationRun, after: EvaluationRun) -> None:
    """Raises InvalidInputError unless both are complete runs of one set."""
    if before.set_id != after.set_id:
        raise InvalidInputError(worded("These runs are of different sets; choose two of one set."))
    if {before.status, after.status} != {EvaluationRun.Status.COMPLETE}:
        raise InvalidInputError(worded("Only complete runs can be compared."))


def stages_compared(before: EvaluationRun, after: EvaluationRun) -> list[StageChange]:
    """Of the stages that both have and whose questions are still known, in the order of the later run."""
    was, now = run_scores(before), run_scores(after)
    return [stage_change(stage, was[stage], now[stage]) for stage in now if stage in was]


def questions_compared(before: EvaluationRun, after: EvaluationRun, *, stage: str) -> list[QuestionChange]:
    """Those whose score differs, the worst first, and those that got better last."""
    rows = question_changes(before, after, stage=stage)
    return sorted((row for row in rows if abs(row.change) > NOTICEABLE), key=lambda row: (row.change, row.key))


def question_changes(before: EvaluationRun, after: EvaluationRun, *, stage: str) -> list[QuestionChange]:
    was, now = _outcomes(before, stage), _outcomes(after, stage)
    changes = []
    for key in [*now, *(key for key in was if key not in now)]:
        old, new = was.get(key), now.get(key)
        known: Any = new or old
        changes.append(
            QuestionChange(
                key=key,
                text=known["question__text"],
                before=old["score"] if old else None,
                after=new["score"] if new else None,
                first_before=old["first"] if old else None,
                first_after=new["first"] if new else None,
                decision_before=old["decision"] if old else "",
                decision_after=new["decision"] if new else "",
                kind=known["question__kind"],
            )
        )
    return changes


def _outcomes(run: EvaluationRun, stage: str) -> dict[str, dict[str, Any]]:
    columns = ("question__key", "question__text", "question__kind", "score", "first", "decision")
    rows = EvaluationOutcome.objects.filter(run=run, stage=stage).order_by("pk").values(*columns)
    return {row["question__key"]: row for row in rows}


def setup_changes(before: EvaluationRun, after: EvaluationRun) -> list[tuple[str, Any, Any]]:
    """What was changed on the site: name, then, now."""
    was: Mapping[str, Any] = {**before.setup, "workflow": before.workflow, "limit": before.limit, "k": before.k}
    now: Mapping[str, Any] = {**after.setup, "workflow": after.workflow, "limit": after.limit, "k": after.k}
    names = (*SETUP, "workflow", "limit", "k")
    return [(name, was.get(name), now.get(name)) for name in names if was.get(name) != now.get(name)]
