from pathlib import Path

import pytest

from retrieval.engine.workflows.registry import NAMES, get_workflow


@pytest.mark.parametrize("name", NAMES)
def test_the_diagram_is_the_one_that_was_agreed(name: str) -> None:
    agreed = Path(__file__).with_name(f"{name}.mmd").read_text(encoding="utf-8")
    assert get_workflow(name).graph.get_graph().draw_mermaid() == agreed
