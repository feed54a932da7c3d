"""The desk's calls over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from chat.models import DeskEvent, Message
from chat.review import queue
from chat.review.records import answers_record
from tests.clients import client_of, person
from tests.factories import (
    CollectionFactory,
    DecisionStepFactory,
    MessageFactory,
    RatingFactory,
    SourceFactory,
    answered,
)

pytestmark = pytest.mark.django_db
ANSWERS = "/api/review/answers"


def ask(question: str = "How many books may I borrow?", **fields: Any) -> Message:
    """A question with its answer, at the desk."""
    answer = answered(question, **fields)
    answers_record([answer.pk])
    return answer


def listed(client: Client, **query: Any) -> list[str]:
    answer = client.get(ANSWERS, query)
    assert answer.status_code == 200, answer.content
    return [row["message_id"] for row in answer.json()["results"]]


@pytest.fixture
def reviewer() -> User:
    return person("Reviewers")


@pytest.fixture
def client(reviewer: User) -> Client:
    return client_of(reviewer)


def test_the_newest_answer_comes_first_with_what_was_asked(client: Client) -> None:
    first, second = ask(), ask("When does the library open?", decision="NO_ANSWER")
    rows = client.get(ANSWERS).json()
    assert [row["message_id"] for row in rows["results"]] == [str(second.pk), str(first.pk)]
    assert rows["count"] == 2
    row = rows["results"][0]
    assert (row["question"], row["reasons"], row["state"]) == (
        "When does the library open?",
        ["no_answer"],
        "todo",
    )
    assert row["user"] is None


def test_pages_are_keysets_and_meet_both_ways(client: Client) -> None:
    answers = [str(ask().pk) for _ in range(5)]
    answers.reverse()
    page = client.get(ANSWERS, {"page_size": 2}).json()
    assert page["previous"] is None
    ask()  # what comes in meanwhile moves nothing
    second = client.get(page["next"]).json()
    third = client.get(second["next"]).json()
    seen = [row["message_id"] for part in (page, second, third) for row in part["results"]]
    assert seen == answers
    assert third["next"] is None
    back = client.get(third["previous"]).json()
    assert [row["message_id"] for row in back["results"]] == answers[2:4]


def test_filters_take_what_they_name(client: Client) -> None:
    day = timezone.localtime().date()
    collection = CollectionFactory()
    answer = ask(
        "圖書館何時開門？", workflow="react", model="big", decision="NO_ANSWER",
        request={"collection_ids": [str(collection.pk)]},
    )  # fmt: skip
    other = ask(workflow="corrective", model="small")
    RatingFactory(message=answer, score=2)
    answers_record([answer.pk])
    for query in (
        {"workflow": "react"}, {"decision": "NO_ANSWER"}, {"rating": "bad"}, {"rating": "down"},
        {"rating": "2"}, {"reason": "badly_rated"}, {"collection": str(collection.pk)},
        {"collection": collection.name}, {"search": "圖書館"}, {"session": str(answer.session_id)},
    ):  # fmt: skip
        assert listed(client, **query) == [str(answer.pk)], query
    assert listed(client, rating="none") == [str(other.pk)]
    assert len(listed(client, **{"from": f"{day}", "to": f"{day}"})) == 2
    assert listed(client, to=f"{day - timedelta(days=1)}") == []
    assert listed(client, **{"from": (timezone.now() + timedelta(hours=1)).isoformat()}) == []
    assert len(listed(client, workflow="", state="")) == 2


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("Undergraduates may borrow ten books.", "book BORROW", True),
        ("Undergraduates may borrow ten books.", "borrow laptops", False),
        ("圖書館的逾期罰款是每天五元。", "逾期罚款", True),
        ("图书馆的逾期罚款是每天五元。", "逾期罰款 图书", True),
        ("图书馆的逾期罚款是每天五元。", "借书证", False),
        ("図書館の延滞料金", "延滞料金", True),
        ("Fees are 5 % of it_all.", "% it_all", True),
        ("Fees are 5 of it all.", "it_all", False),
        ("Alpha.", '" OR b* NEAR(x', False),
    ],
)
@pytest.mark.parametrize("rare", [0, 1_000])
def test_all_words_occur_in_the_question_or_the_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch, text: str, query: str, found: bool, rare: int
) -> None:
    monkeypatch.setattr(queue, "RARE", rare)
    answers = [ask(text=text), ask(text)]
    assert len(listed(client, search=query)) == (len(answers) if found else 0)


@pytest.mark.parametrize("rare", [0, 1_000])
def test_a_word_that_no_answer_has_finds_none(
    client: Client, monkeypatch: pytest.MonkeyPatch, rare: int
) -> None:
    monkeypatch.setattr(queue, "RARE", rare)
    MessageFactory(question=True, text="How many books?")  # is being answered
    assert listed(client, search="books") == []


@pytest.mark.postgres
@pytest.mark.skipif(connection.vendor != "postgresql", reason="an index of PostgreSQL")
@pytest.mark.parametrize("word", ["undergraduates", "逾期罰款"])
def test_the_texts_index_serves_words_in_any_script(word: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    assert (
        "message_text_trigrams"
        in Message.objects.filter(text__icontains_han=word).order_by().explain()
    )


@pytest.mark.parametrize(
    "query",
    [
        {"rating": "9"}, {"decision": "MAYBE"}, {"state": "new"}, {"sort": "name"}, {"reason": "ugly"},
        {"from": "yesterday"}, {"after": "x"}, {"after": "1.2.3"}, {"before": "9" * 18 + "." + "9" * 18},
        {"page_size": "0"}, {"session": "1"}, {"session": ""}, {"page_size": ""},
        {"collection": "nowhere"}, {"workflow": "zzz"}, {"group": "nobody"}, {"search": "x" * 301},
        {"to": "9999-12-31"},
    ],
)  # fmt: skip
def test_wrong_filters_are_refused(client: Client, query: dict[str, str]) -> None:
    answer = client.get(ANSWERS, query)
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["code"] == "invalid"


def test_one_answer_has_the_message_and_its_ratings(client: Client, reviewer: User) -> None:
    answer = ask()
    source = SourceFactory(message=answer, marker=1)
    call = {
        "kind": "chat",
        "model": "m",
        "prompt": "condense",
        "prompt_hash": "000000000000",
        "started_ms": 1,
    }
    DecisionStepFactory(message=answer, seq=1, name="generate", detail={"model_calls": [call]})
    DecisionStepFactory(
        message=answer, seq=2, name="consolidate", detail={"fact": "Bob's birthday", "score": 1}
    )
    RatingFactory(message=answer, score=1, comment="Wrong.", source=source)
    data = client.get(f"{ANSWERS}/{answer.pk}").json()
    assert data["message"]["answer"] == answer.text
    assert data["message"]["decision_path"][1]["detail"] == {"score": 1}
    assert data["ratings"] == [
        {"source": 1, "score": 1, "thumb": "down", "tags": [], "comment": "Wrong.", "user": None}
    ]
    assert [event["by"] for event in data["read_by"]] == [reviewer.username]
    client.get(f"{ANSWERS}/{answer.pk}")
    assert DeskEvent.objects.filter(kind="read").count() == 1


def test_a_mark_is_kept_with_its_history(client: Client, reviewer: User) -> None:
    answer, colleague = ask(), person("Curators")
    changes = {
        "state": "reviewed",
        "assignee": colleague.username,
        "note": " See HR. ",
        "labels": ["hr", "old  one"],
    }
    marked = client.patch(f"{ANSWERS}/{answer.pk}", changes, content_type="application/json")
    assert marked.status_code == 200, marked.content
    row = marked.json()
    assert (row["state"], row["state_by"], row["assignee"]) == (
        "reviewed",
        reviewer.username,
        colleague.username,
    )
    assert (row["note"], row["labels"]) == ("See HR.", ["hr", "old one"])
    again = client.patch(
        f"{ANSWERS}/{answer.pk}",
        {"labels": ["hr"], "assignee": None},
        content_type="application/json",
    )
    assert (again.json()["labels"], again.json()["assignee"]) == (["hr"], None)
    history = client.get(f"{ANSWERS}/{answer.pk}").json()["history"]
    assert [event["kind"] for event in history] == [
        "labels",
        "assignee",
        "labels",
        "note",
        "assignee",
        "state",
    ]
    assert history[-1]["detail"] == {"from": "todo", "to": "reviewed"}
    assert listed(client, state="reviewed", label="hr", reviewer=reviewer.username) == [
        str(answer.pk)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "done"}, {"assignee": "nobody at all"}, {"labels": [""]}, {"labels": ["x" * 41]}, {"note": 1},
        {"labels": "hr"}, {"colour": "red"}, {"labels": [str(n) for n in range(21)]}, {"state": None},
    ],
)  # fmt: skip
def test_wrong_marks_are_refused_and_change_nothing(
    client: Client, changes: dict[str, Any]
) -> None:
    answer = ask()
    refused = client.patch(f"{ANSWERS}/{answer.pk}", changes, content_type="application/json")
    assert refused.status_code == 400
    assert not DeskEvent.objects.exists()
