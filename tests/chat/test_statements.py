"""How often a question asks the database."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.backends.utils import CursorWrapper
from django.db.models import ForeignKey, Model

from chat.models import AnswerReview, DecisionStep, FilledPrompt, Message, Session, Source
from tests.chat.conftest import Api, Handbook

MOST = 36
MOST_WITH_KEYS = 46  # of three passages; each further one is looked up
STORED = (Session, Message, Source, DecisionStep, FilledPrompt, AnswerReview)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those of every thread and connection."""
    seen: list[str] = []

    def count(name: str) -> None:
        plain = getattr(CursorWrapper, name)

        def execute(self: CursorWrapper, sql: Any, *arguments: Any) -> Any:
            seen.append(str(sql))
            return plain(self, sql, *arguments)

        monkeypatch.setattr(CursorWrapper, name, execute)

    count("execute")
    count("executemany")
    return seen


async def foreign_keys(model: type[Model]) -> int:
    """Filled ones of the rows that are there: PostgreSQL looks each of them up, by a statement of its own."""
    checked = [field for field in model._meta.fields if isinstance(field, ForeignKey) and field.db_constraint]
    return sum([await model._default_manager.exclude(**{field.name: None}).acount() for field in checked])


async def looked_up() -> int:
    return sum([await foreign_keys(model) for model in STORED])


async def answered(api: Api, statements: list[str]) -> tuple[int, int]:
    """Statements of the second question, and look-ups of foreign keys beside them."""
    assert (await api.ask()).status_code == 200  # what a process remembers from then on
    before = await looked_up()
    statements.clear()
    response = await api.ask("How large is the deposit for a room in Lakeside hall?")
    assert response.json()["sources"], response.content
    asked = len(statements)
    return asked, await looked_up() - before


async def test_a_question_without_a_model(api: Api, handbook: Handbook, offline: Any, statements: list[str]) -> None:
    await handbook()
    asked, keys = await answered(api, statements)
    assert asked <= MOST
    assert asked + keys <= MOST_WITH_KEYS


async def test_a_question_with_a_model(api: Api, handbook: Handbook, online: Any, statements: list[str]) -> None:
    await handbook()
    asked, keys = await answered(api, statements)
    assert asked <= MOST
    assert asked + keys <= MOST_WITH_KEYS
