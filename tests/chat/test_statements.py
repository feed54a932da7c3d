"""How often a question asks the database."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.backends.utils import CursorWrapper
from django.db.models import ForeignKey, Model

from chat.models import (
    AnswerReview,
    Assistant,
    DecisionStep,
    FilledPrompt,
    Message,
    ReviewedCollection,
    Session,
    Source,
)
from tests.chat.conftest import Api, Handbook, ScriptedWorkflow

MOST = 34  # however many passages are found; with BEGIN and COMMIT of three transactions 40
STORED = (Session, Message, Source, DecisionStep, FilledPrompt, AnswerReview, ReviewedCollection)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those of every thread and connection, without those that come every few seconds, however often is asked."""
    for name in (
        "chat.runs.budgets.REFRESH_S",
        "chat.runs.run.SAVE_EVERY_S",
        "chat.services.default_assistant.LOOK_EVERY_S",
        "feedback.rounds.live.REFRESH_S",
        "ragsite.runtime.live_settings.REFRESH_S",
        "retrieval.engine.search.completeness.LOOK_EVERY_S",
    ):
        monkeypatch.setattr(name, 3600)
    seen: list[str] = []

    def count(name: str) -> None:
        plain = getattr(CursorWrapper, name)

        def execute(self: CursorWrapper, sql: Any, *arguments: Any) -> Any:
            if not str(sql).startswith("BEGIN"):  # which PostgreSQL's library sends by itself
                seen.append(str(sql))
            return plain(self, sql, *arguments)

        monkeypatch.setattr(CursorWrapper, name, execute)

    count("execute")
    count("executemany")
    return seen


async def foreign_keys(model: type[Model]) -> int:
    """Filled ones of the rows that are there: PostgreSQL looks each of them up, by a statement of its own."""
    checked = [
        field
        for field in model._meta.fields
        if isinstance(field, ForeignKey) and field.db_constraint
    ]
    return sum(
        [await model._default_manager.exclude(**{field.name: None}).acount() for field in checked]
    )


async def looked_up() -> int:
    return sum([await foreign_keys(model) for model in STORED])


async def asked(api: Api, statements: list[str]) -> int:
    """Statements of the second question, look-ups of foreign keys included."""
    assert (await api.ask()).status_code == 200  # what a process remembers from then on
    before = await looked_up()
    statements.clear()
    response = await api.ask("How large is the deposit for a room in Lakeside hall?")
    assert response.json()["sources"], response.content
    count = len(statements)
    return count + await looked_up() - before


async def test_a_question_without_a_model(
    api: Api, handbook: Handbook, offline: Any, statements: list[str]
) -> None:
    await handbook()
    assert (
        await asked(api, statements) <= MOST + 1
    )  # what stands beside a passage is read, to be shown with it


async def test_a_question_with_a_model(
    api: Api, handbook: Handbook, online: Any, statements: list[str]
) -> None:
    await handbook()
    assert await asked(api, statements) <= MOST


@pytest.mark.parametrize("remembered", [False, True])
async def test_what_speaks_against_a_question_is_found_before_others_wait_for_it(
    api: Api, workflow: ScriptedWorkflow, monkeypatch: pytest.MonkeyPatch, remembered: bool
) -> None:
    """On SQLite whoever begins a transaction holds up all that write."""
    begun = []
    plain = CursorWrapper.execute

    def execute(self: CursorWrapper, sql: Any, *arguments: Any) -> Any:
        if str(sql).startswith("BEGIN") or "FOR UPDATE" in str(sql):
            begun.append(str(sql))
        return plain(self, sql, *arguments)

    session = {}
    if remembered:
        await Assistant.objects.acreate(owner=api.user, name="Rules")
        session = {"session_id": (await api.ask(assistant="Rules")).json()["session_id"]}
    monkeypatch.setattr(CursorWrapper, "execute", execute)
    for wrong in (
        {"collections": ["none such"]},
        {"assistant": "none such"},
        {"documents": ["00000000-0000-4000-8000-000000000000"]},
    ):
        assert (await api.ask(**session, **wrong)).status_code == 404
    assert begun == []


def test_no_passage_of_an_answer_is_looked_up() -> None:
    assert not Source._meta.get_field("message").db_constraint
