"""What later steps go by is a value of the answer, which the trace is told and never asked for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from django.conf import settings

import retrieval.engine
from retrieval.engine.errors import WebSearchError
from retrieval.engine.steps.retrieve.web import web_search
from retrieval.engine.trace import Trace
from retrieval.engine.values import AnswerOptions
from tests.retrieval.engine.steps.fakes import MemoryWeb, ask, make_tools
from tests.retrieval.engine.workflows.runs import run

ENGINE = Path(retrieval.engine.__file__).parent
MODULES = sorted([*(ENGINE / "steps").rglob("*.py"), *(ENGINE / "workflows").rglob("*.py")])
WEB = ask("Who won the cup?", options=AnswerOptions(web_search=True))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ENGINE)))
def test_no_step_or_workflow_reads_the_entries_of_the_path(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    read = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("steps", "calls")
        and "trace" in ast.unparse(node.value)
    ]
    assert read == []


def test_each_answer_begins_anew() -> None:
    engine = make_tools(settings.RAG)
    first = engine.for_answer(Trace(), timeout_s=1.0)
    first.progress.writing = True
    assert not engine.for_answer(Trace(), timeout_s=1.0).progress.writing


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ([None], "web_searched"),
        ([WebSearchError("away")], "web_away"),
        ([None, WebSearchError("away")], "web_searched"),
    ],
)
async def test_a_web_that_was_searched_once_was_searched(online, errors: list, told: str) -> None:
    web = MemoryWeb(())
    deps = make_tools(settings.RAG, web=web)
    for error in errors:
        web.error = error
        await web_search(deps, WEB)
    assert deps.progress.web == told


async def test_a_refusal_names_the_model_that_judged(online) -> None:
    online.reply(match="is_relevant", json={"is_relevant": False, "confidence": 9})
    question = ask(
        "How many books may an undergraduate borrow?", options=AnswerOptions(max_rewrites=0)
    )
    result, _, _ = await run("self_corrective", question)
    assert (result.decision, result.model) == ("NO_ANSWER", "test-chat:latest")
