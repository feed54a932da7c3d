"""Which variant of a running experiment a question gets.

The variant belongs to the person: a hash of the experiment's salt and their id decides, so all their conversations,
tabs and devices get the same one, and nothing is stored for it. Only what is left to the site takes part: who names
a workflow gets that, and does not count, the default one included (`Ask.workflow_chosen`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from django.conf import settings

from chat.models import Experiment
from retrieval.values import AnswerOptions
from retrieval.workflows import available_workflows

Arm = Literal["A", "B"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """How a question is answered in an experiment."""

    experiment: Experiment
    arm: Arm
    workflow: str
    options: AnswerOptions


def arm_of(*, salt: str, user_id: int, share: float) -> Arm:
    """B for `share` of all people, in the long run."""
    digest = hashlib.sha256(f"{salt}:{user_id}".encode()).digest()
    return "B" if int.from_bytes(digest[:8], "big") < share * 2**64 else "A"


def experiment_assign(*, user_id: int, workflow: str, options: AnswerOptions) -> Assigned | None:
    """None: no experiment runs, or the question asks for a workflow of its own."""
    if workflow != settings.RAG.answer.workflow:
        return None
    experiment = Experiment.objects.filter(state=Experiment.State.RUNNING).first()
    if experiment is None:
        return None
    arm = arm_of(salt=experiment.salt, user_id=user_id, share=experiment.share)
    if arm == "A":
        return Assigned(experiment=experiment, arm=arm, workflow=workflow, options=options)
    changed = experiment.workflow if experiment.workflow in available_workflows() else workflow
    return Assigned(experiment=experiment, arm=arm, workflow=changed, options=_filled(options, experiment.options))


def _filled(options: AnswerOptions, of_variant: Mapping[str, Any]) -> AnswerOptions:
    """What the question says itself holds."""
    missing = {name: value for name, value in of_variant.items() if getattr(options, name, value) is None}
    return replace(options, **missing)
