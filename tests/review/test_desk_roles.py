"""Every page, call, filter and export of the desk, walked as every role: none tells more than the role may know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, get_resolver

from chat.models import DeskEvent, Replay
from chat.review.queue import AnswerFilters
from chat.review.records import answers_record
from chat.review.urls import urlpatterns
from feedback.models import KnowledgeGap
from tests.clients import ROLES, client_of, person
from tests.factories import (
    CollectionFactory,
    DocumentFactory,
    RatingFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
    answered,
)
from tests.review.test_export import exported

pytestmark = pytest.mark.django_db
NAME = "zebedee_quartermaine"  # of who asked: nothing but names may hold it
PRIVATE = "zebedees-drawer"
MAIL = "zq@example.org"
Call = Callable[[Client], HttpResponse]


@pytest.fixture
def asker(db: None) -> User:
    user: User = UserFactory(
        username=NAME, first_name="Zebedee", last_name="Quartermaine", email=MAIL
    )
    return user


@pytest.fixture
def answer_id(asker: User) -> str:
    """An answer of theirs, from a collection of their own, rated by them, in a group of one."""
    group = Group.objects.create(name="small group")
    asker.groups.add(group)
    drawer = CollectionFactory(owner=asker, name=PRIVATE, visibility="private")
    document = DocumentFactory(collection=drawer)
    request = {"collection_ids": [str(drawer.pk)], "collections": [PRIVATE]}
    answer = answered("How many books?", session=SessionFactory(user=asker), request=request)
    SourceFactory(message=answer, marker=1, document_id=document.pk)
    RatingFactory(message=answer, score=1, comment="Not so.")
    answers_record([answer.pk])
    return str(answer.pk)


def calls(answer_id: str) -> dict[str, Call]:
    """One of each page and call. The test below compares their names with the addresses that there are."""
    marks = {"state": "reviewed", "note": "Seen."}
    as_json = {"content_type": "application/json"}
    answer = f"/api/review/answers/{answer_id}"
    replay = Replay.objects.create(message_id=answer_id, question="How many books?").pk
    return {
        "review": lambda client: client.get("/review/", {"state": ""}),
        "review_answer": lambda client: client.get(f"/review/answers/{answer_id}/"),
        "review_log": lambda client: client.get("/review/log/"),
        "review_ageing": lambda client: client.get("/review/documents/"),
        "review_dashboard": lambda client: client.get("/review/dashboard/"),
        "review_replays": lambda client: client.get("/review/replays/"),
        "review_replay_new": lambda client: client.get(f"/review/replays/new/?answer={answer_id}"),
        "review_replay": lambda client: client.get(f"/review/replays/{replay}/"),
        "api-review-answers": lambda client: client.get("/api/review/answers"),
        "api-review-answer": lambda client: client.get(answer),
        "api-review-replay": lambda client: client.post(f"{answer}/replay", {}, **as_json),
        "api-review-replay-get": lambda client: client.get(f"/api/review/replays/{replay}"),
        "api-review-stats": lambda client: client.get("/api/review/stats?by=collection"),
        "api-review-documents": lambda client: client.get("/api/review/documents"),
        "api-review-compare": lambda client: client.get("/api/review/compare"),
        "api-review-tokens": lambda client: client.get("/api/review/tokens"),
        "api-review-answer patch": lambda client: client.patch(answer, marks, **as_json),
    }


def test_every_address_of_the_desk_is_walked(answer_id: str) -> None:
    named = {pattern.name for pattern in urlpatterns if isinstance(pattern, URLPattern)}
    walked = {name.split()[0] for name in calls(answer_id)} | {"api-review-export"}
    assert walked == named
    assert {
        pattern.name for pattern in _all_patterns() if "review" in str(pattern.pattern)
    } >= named


def _all_patterns() -> Iterator[URLPattern]:
    todo: list[Any] = list(get_resolver().url_patterns)
    while todo:
        pattern = todo.pop()
        if isinstance(pattern, URLPattern):
            yield pattern
        else:
            todo += pattern.url_patterns


@pytest.mark.parametrize("who", ["user", "former staff with a role", "staff", "anonymous"])
def test_who_has_no_business_at_the_desk_learns_nothing(answer_id: str, who: str) -> None:
    people = {
        "user": UserFactory,
        "former staff with a role": lambda: person("Administrators", is_staff=False),
        "staff": person,
        "anonymous": AnonymousUser,
    }
    user = people[who]()
    client = client_of(user if isinstance(user, User) else None)
    export: Call = lambda caller: caller.get("/api/review/export")  # noqa: E731
    for name, call in {**calls(answer_id), "api-review-export": export}.items():
        response = call(client)
        if who == "anonymous":
            assert response.status_code == (401 if name.startswith("api") else 302), name
        else:
            assert response.status_code == (403 if who == "staff" else 404), name
        if who == "staff":
            assert "Reviewers, Curators or Administrators" in response.content.decode(), name
        assert answer_id not in response.content.decode(), name
    assert not DeskEvent.objects.exists()


@pytest.mark.parametrize("role", ROLES)
def test_no_page_or_call_tells_a_name_to_a_role_that_sees_none(answer_id: str, role: str) -> None:
    sees_names = role == "Administrators"
    client = client_of(person(role))
    told = set()
    for name, call in calls(answer_id).items():
        response = call(client)
        text = response.content.decode()
        expected = {"review_log": 200 if sees_names else 403, "api-review-replay": 202}
        assert response.status_code == expected.get(name, 200), (name, text)
        if any(secret in text for secret in (NAME, "Zebedee", "Quartermaine", MAIL, PRIVATE)):
            told.add(name)
    assert told == (
        {
            "review", "review_answer", "review_dashboard", "api-review-answers", "api-review-answer",
            "api-review-answer patch", "api-review-stats",
        }
        if sees_names
        else set()
    )  # fmt: skip


def test_no_filter_search_or_order_finds_out_a_name(answer_id: str, asker: User) -> None:
    client = client_of(person("Curators"))
    drawer = asker.collections.get()
    guesses = {"collection": (PRIVATE, f"{NAME}/{PRIVATE}", str(drawer.pk)), "user": (NAME,)}
    for parameter in (*AnswerFilters().fields, "after", "before", "ordering", "user__username"):
        for guess in guesses.get(
            parameter, (NAME, "Zebedee", MAIL)
        ):  # each against the same letters, reversed
            page = (
                ["/review/"] if guess == NAME or parameter in guesses else []
            )  # its status alone is looked at
            for address in ("/api/review/answers", *page):
                right, wrong = (
                    client.get(address, {parameter: value}) for value in (guess, guess[::-1])
                )
                assert right.status_code == wrong.status_code, (parameter, guess)
                if parameter in guesses:
                    assert right.status_code in (400, 403)
                elif address.startswith("/api"):
                    found = [answer.json().get("results") for answer in (right, wrong)]
                    assert found[0] == found[1], (parameter, guess)


@pytest.fixture
def people(db: None) -> dict[str, User]:
    return {role: person(role) for role in ROLES}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
async def test_an_export_is_anonymised_for_who_sees_no_names(
    answer_id: str, people: dict[str, User], form: str
) -> None:
    for role, user in people.items():
        status, parts = await exported(user, format=form)
        text = "".join(parts)
        assert (status, answer_id in text) == (200, True)
        assert (NAME in text) is (role == "Administrators")
        refused, _ = await exported(user, format=form, names="1")
        assert refused == (200 if role == "Administrators" else 403)
        hidden, parts = await exported(user, format=form, names="0")
        assert (hidden, NAME in "".join(parts)) == (200, False)
        wrong, _ = await exported(user, format=form, user=NAME)
        assert wrong == (200 if role == "Administrators" else 403)


@pytest.mark.parametrize(
    "address",
    [
        "/review/?worklow=react", "/review/gaps/?stat=all", "/review/gaps/{gap}/?word=x",
        "/review/curated/?sate=ended",
        "/review/boosts/?sate=ended", "/review/replays/new/?worklow=react", "/review/log/?befor=3",
        "/review/dashboard/?worklow=react",
        "/api/review/answers?worklow=react", "/api/review/answers?reson=slow&state=todo",
        "/api/review/export?worklow=x",
        "/api/review/stats?worklow=react", "/api/review/compare?worklow=react",
        "/api/review/tokens?modle=m",
    ],
)  # fmt: skip
def test_a_misspelt_filter_does_not_show_everything(answer_id: str, address: str) -> None:
    gap = KnowledgeGap.objects.create()
    response = client_of(person("Administrators")).get(address.format(gap=gap.pk))
    page = response.content.decode()
    assert response.status_code == 400, page
    assert address.partition("?")[2].partition("=")[0] in page
    assert answer_id not in page
