from pathlib import Path

import pytest

from ragsite.core.errors import InvalidInputError
from retrieval.workflows import NAMES, available_workflows, get_workflow


@pytest.mark.parametrize("name", ["nonsense", ""])
def test_a_workflow_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(InvalidInputError, match="corrective") as refused:
        get_workflow(name)
    assert "workflow" in refused.value.fields


def test_available_workflows_are_names_of_the_contract() -> None:
    assert available_workflows() == ("corrective", "self_corrective", "dual_loop", "planned", "react")


@pytest.mark.parametrize("name", NAMES)
def test_the_diagram_is_the_one_that_was_agreed(name: str) -> None:
    agreed = Path(__file__).with_name(f"{name}.mmd").read_text(encoding="utf-8")
    assert get_workflow(name).graph.get_graph().draw_mermaid() == agreed
