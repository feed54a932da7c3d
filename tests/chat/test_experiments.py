"""A question that is asked while an experiment runs."""

from __future__ import annotations

import pytest

from chat.models import Experiment, ExperimentAnswer, Session
from chat.services.experiments import arm_of
from tests.chat.conftest import Api, ScriptedWorkflow


async def _experiment(user_id: int, arm: str) -> Experiment:
    """One that gives this person that variant."""
    salt = next(str(n) for n in range(999) if arm_of(salt=str(n), user_id=user_id, share=0.5) == arm)
    return await Experiment.objects.acreate(name="React", workflow="react", state="running", salt=salt)


@pytest.mark.parametrize(("arm", "workflow_used"), [("A", "corrective"), ("B", "react")])
async def test_a_question_gets_its_persons_variant(
    api: Api, workflow: ScriptedWorkflow, arm: str, workflow_used: str
) -> None:
    experiment = await _experiment(api.user.pk, arm)
    answer = (await api.ask()).json()
    assert answer["workflow"] == workflow_used
    counted = await ExperimentAnswer.objects.aget(message=answer["message_id"])
    assert (counted.experiment_id, counted.arm) == (experiment.pk, arm)
    assert (await Session.objects.aget(pk=answer["session_id"])).workflow == "corrective"


async def test_a_chosen_workflow_takes_no_part(api: Api, workflow: ScriptedWorkflow) -> None:
    await _experiment(api.user.pk, "B")
    assert (await api.ask(workflow="planned")).json()["workflow"] == "planned"
    assert not await ExperimentAnswer.objects.aexists()
