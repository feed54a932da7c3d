"""An answer that a curator has checked, as the one who asks gets it."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from feedback.curation.curated import LiveCuratedAnswers
from ragsite.accounts.personal_data import deletion_start, deletions_do
from ragsite.core.errors import UnavailableError
from tests.chat.conftest import Api
from tests.factories import UserFactory
from tests.feedback.rated import passage
from tests.feedback.test_curated import QUESTION, TEXT, save_answer


async def test_it_is_the_answer_with_its_curator_and_no_model_is_asked(
    api: Api, online: Any, transactional_db: None
) -> None:
    chunk = await sync_to_async(passage)("Students may borrow ten books.")
    curator = await sync_to_async(UserFactory)(
        username="mei", is_staff=True, first_name="Mei", last_name="Lam"
    )
    answer = await sync_to_async(save_answer)(curator, chunk)
    message = (await api.ask("How many books may I borrow")).json()
    assert (message["decision"], message["answer"], message["status"]) == (
        "ANSWER",
        TEXT,
        "complete",
    )
    assert (message["curated"]["id"], message["curated"]["by"]) == (str(answer.pk), "Mei Lam")
    assert [(source["marker"], source["cited"]) for source in message["sources"]] == [(1, True)]
    assert message["usage"]["llm_calls"] == 0 and not online.chats
    assert [step["name"] for step in message["decision_path"]] == ["route", "generate", "assess"]
    assert message["grounding"][0]["supported"] is not False


async def test_where_they_cannot_be_looked_at_the_workflow_answers_and_says_so(
    api: Api, online: Any, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> None:
        raise UnavailableError("the database could not be read")

    monkeypatch.setattr(LiveCuratedAnswers, "find", away)
    message = (await api.ask(QUESTION)).json()
    assert message["status"] == "complete"
    assert {"step": "route", "reason": "the database could not be read"} in message["degraded"]


async def test_who_has_it_written_anew_gets_another(
    api: Api, online: Any, transactional_db: None
) -> None:
    chunk = await sync_to_async(passage)("Students may borrow ten books.")
    await sync_to_async(save_answer)(await sync_to_async(UserFactory)(is_staff=True), chunk)
    first = (await api.ask(QUESTION)).json()
    again = (await api.call("post", f"/api/messages/{first['message_id']}/regenerate")).json()
    assert (first["curated"] is not None, again["curated"]) == (True, None)


async def test_answers_that_others_got_lose_the_name_of_a_curator_who_leaves(
    api: Api, online: Any, transactional_db: None
) -> None:
    chunk = await sync_to_async(passage)("Students may borrow ten books.")
    curator = await sync_to_async(UserFactory)(username="mei", first_name="Mei", last_name="Lam")
    await sync_to_async(save_answer)(curator, chunk)
    asked = (await api.ask(QUESTION)).json()
    assert "Mei Lam" in str(asked)
    await sync_to_async(deletion_start)(user=curator)
    await sync_to_async(deletions_do)()
    told = (await api.call("get", f"/api/messages/{asked['message_id']}")).json()
    assert told["curated"]["by"] == "–" and told["answer"] == TEXT
    assert "Mei Lam" not in str(told)
