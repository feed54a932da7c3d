import pytest
from django.conf import settings

from ragsite.core.errors import InvalidInputError
from retrieval.trace import Trace
from retrieval.workflows import DEFAULT_WORKFLOW, available_workflows, get_workflow
from tests.retrieval.steps.fakes import HANDBOOK, ask, make_tools


async def test_a_workflow_is_made_from_the_engines_parts(offline) -> None:
    engine = make_tools(settings.RAG, HANDBOOK)
    asked = ask("What is the deposit for Lakeside hall?")
    answer = await get_workflow(DEFAULT_WORKFLOW).answer(asked, engine=engine, trace=Trace())
    assert "EUR 300" in answer.text


@pytest.mark.parametrize("name", ["nonsense", ""])
def test_a_workflow_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(InvalidInputError, match="corrective") as refused:
        get_workflow(name)
    assert "workflow" in refused.value.fields


def test_available_workflows_are_names_of_the_contract() -> None:
    assert available_workflows() == ("corrective", "self_corrective", "dual_loop", "planned", "react")
