"""Experiments as administrators of the desk set them up, and what came of them.

One observation is one person: whether the first answer of theirs that was rated was rated well. People are what is
drawn, and answers of one person are alike, so counting each answer would find differences where there are none. All
rated answers are shown beside it, and decide nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Avg, Count, Q, QuerySet
from django.utils import timezone

from chat.models import AnswerReview, Experiment
from chat.review.figures.rollups import BAD_SCORE, GOOD_SCORE
from chat.review.figures.sequential import block_sizes, evidence
from chat.review.figures.stats import rate
from chat.review.roles import DeskAccess
from ragsite.core.errors import ConflictError, InvalidInputError, NotFoundError
from ragsite.core.wording import worded
from retrieval.workflows import available_workflows

ALPHA = 0.05
LEAST_SHARE, MOST_SHARE = 0.05, 0.95
LEAST_MINIMUM, MOST_MINIMUM = 10, 100_000
MOST_PEOPLE = 100_000  # of each variant that are looked at
State = Experiment.State


class ExperimentRunsError(ConflictError):
    message = worded("Another experiment is running; stop it first.")


class ExperimentEndedError(ConflictError):
    message = worded("This experiment has been stopped, and what was counted would not fit; make a new one.")


@transaction.atomic
def experiment_create(
    *, access: DeskAccess, name: str, share: float, workflow: str, options: Mapping[str, Any], minimum: int
) -> Experiment:
    """A draft: nobody gets it before it is started. Raises RightMissingError, InvalidInputError."""
    access.require("administer")
    problems: dict[str, Any] = {}
    if not LEAST_SHARE <= share <= MOST_SHARE:
        problems["share"] = [worded("From {least} to {most}.", least=LEAST_SHARE, most=MOST_SHARE)]
    if not LEAST_MINIMUM <= minimum <= MOST_MINIMUM:
        problems["minimum"] = [worded("From {least} to {most}.", least=LEAST_MINIMUM, most=MOST_MINIMUM)]
    if workflow and workflow not in available_workflows():
        problems["workflow"] = [worded("One of {known}.", known=", ".join(available_workflows()))]
    top_k = options.get("top_k")
    if top_k is not None and not 1 <= top_k <= settings.RAG.search.max_top_k:
        problems["options"] = {"top_k": [worded("From 1 to {max_top_k}.", max_top_k=settings.RAG.search.max_top_k)]}
    if workflow in ("", settings.RAG.answer.workflow) and not options:
        problems.setdefault("workflow", [worded("B has to differ from A: another workflow, or an option.")])
    if problems:
        raise InvalidInputError(fields=problems)
    return Experiment.objects.create(
        name=name, share=share, workflow=workflow, options=dict(options), minimum=minimum, made_by=access.user,
        salt=secrets.token_hex(16),
    )  # fmt: skip


def experiment_start(*, access: DeskAccess, experiment_id: UUID) -> Experiment:
    """Raises RightMissingError, NotFoundError, ConflictError."""
    access.require("administer")
    experiment = experiment_get(experiment_id)
    if experiment.state == State.STOPPED:
        raise ExperimentEndedError
    try:
        with transaction.atomic():
            Experiment.objects.filter(pk=experiment.pk, state=State.DRAFT).update(
                state=State.RUNNING, started_at=timezone.now()
            )
    except IntegrityError as error:  # one_running_experiment
        raise ExperimentRunsError from error
    return experiment_get(experiment_id)


def experiment_stop(*, access: DeskAccess, experiment_id: UUID) -> Experiment:
    """From the next question on everybody gets A. Raises RightMissingError, NotFoundError."""
    access.require("administer")
    Experiment.objects.filter(pk=experiment_id, state=State.RUNNING).update(
        state=State.STOPPED, stopped_at=timezone.now()
    )
    return experiment_get(experiment_id)


def experiment_get(experiment_id: UUID) -> Experiment:
    """Raises NotFoundError."""
    experiment = Experiment.objects.select_related("made_by").filter(pk=experiment_id).first()
    if experiment is None:
        raise NotFoundError
    return experiment


def experiment_list() -> QuerySet[Experiment]:
    """Newest first."""
    return Experiment.objects.select_related("made_by").order_by("-created_at", "id")


# ------------------------------------------------------------------------------------------------ what came of it
def experiment_result(experiment: Experiment) -> dict[str, Any]:
    """arms: of each its counts, and rates with intervals for one look. conclusion: none (too few yet, or no difference
    shown), A or B: whose rate is higher by the sequential test."""
    arms = {arm: _arm(experiment, arm) for arm in ("A", "B")}
    found = evidence(arms["A"].pop("_outcomes"), arms["B"].pop("_outcomes"), sizes=block_sizes(experiment.share))
    people = [arms[arm]["people"] for arm in ("A", "B")]
    enough = min(one["count"] for one in people) >= experiment.minimum
    conclusion = "none"
    if enough and found.rejects(ALPHA):
        conclusion = "B" if (people[1]["rate"] or 0) > (people[0]["rate"] or 0) else "A"
    return {
        "arms": arms,
        "e_value": round(min(found.e_value, 1e9), 4),
        "highest": round(min(found.highest, 1e9), 4),
        "needed": 1 / ALPHA,
        "alpha": ALPHA,
        "blocks": found.blocks,
        "minimum": experiment.minimum,
        "enough": enough,
        "conclusion": conclusion,
    }


def _arm(experiment: Experiment, arm: str) -> dict[str, Any]:
    answers = AnswerReview.objects.filter(message__experiment__experiment=experiment, message__experiment__arm=arm)
    counts = answers.aggregate(
        answers=Count("pk"),
        users=Count("user", distinct=True),
        rated=Count("pk", filter=Q(worst_score__isnull=False)),
        good=Count("pk", filter=Q(worst_score__gte=GOOD_SCORE)),
        bad=Count("pk", filter=Q(worst_score__lte=BAD_SCORE)),
        no_answer=Count("pk", filter=Q(no_answer=True)),
        weak=Count("pk", filter=Q(weak=True)),
        degraded=Count("pk", filter=Q(degraded=True)),
        mean_ms=Avg("total_ms"),
    )
    outcomes = _first_ratings(answers)
    return {
        "answers": counts["answers"],
        "users": counts["users"],
        "people": rate(sum(outcomes), len(outcomes)),
        "rated": rate(counts["good"], counts["rated"]),
        "bad": rate(counts["bad"], counts["rated"]),
        "no_answer": rate(counts["no_answer"], counts["answers"]),
        "weak": rate(counts["weak"], counts["answers"]),
        "degraded": rate(counts["degraded"], counts["answers"]),
        "mean_ms": round(counts["mean_ms"]) if counts["mean_ms"] is not None else None,
        "_outcomes": outcomes,
    }


def _first_ratings(answers: QuerySet[AnswerReview]) -> list[bool]:
    """Of each person whether the first rated answer was rated well, in the order of these answers."""
    rated = answers.filter(worst_score__isnull=False).order_by("created_at", "pk")
    first: dict[int, bool] = {}
    for user, score in rated.values_list("user_id", "worst_score").iterator():
        if user not in first:
            first[user] = score is not None and score >= GOOD_SCORE
            if len(first) >= MOST_PEOPLE:
                break
    return list(first.values())
