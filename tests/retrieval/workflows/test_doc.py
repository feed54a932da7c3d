"""docs/workflows.md can't go stale."""

from pathlib import Path

import pytest
from django.conf import settings

from retrieval.workflows import NAMES, get_workflow
from retrieval.workflows.doc import render

PAGE = Path(settings.BASE_DIR) / "docs" / "workflows.md"


def test_the_page_of_workflows_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: manage.py workflows_doc"


@pytest.mark.parametrize("name", NAMES)
def test_each_workflow_is_on_it_with_its_graph_and_its_rounds(name: str) -> None:
    page, rounds = render(), get_workflow(name).rounds
    section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    assert 1 <= rounds.best <= rounds.worst
    assert f"| {rounds.best} | {rounds.worst} |" in page
    assert all(node in section for node in get_workflow(name).graph.get_graph().nodes)
