"""The desk's places: eight, each for whom it is, and each says where one is; and what its queue shows first."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from chat.models import AnswerReview, Message
from chat.review.records import answers_record
from chat.templatetags.review import unmarked
from tests.clients import client_of, person
from tests.factories import RatingFactory, answered

pytestmark = pytest.mark.django_db
ALL = [
    "Queue",
    "Unanswered",
    "Answers &amp; questions",
    "Feedback",
    "Ageing documents",
    "Dashboard",
    "Replay history",
    "Log",
]
LINK = re.compile(
    r'<a class="side-link" href="[^"]+"( aria-current="page")?><span class="text">([^<]+)</span>'
)


def links(user: User, page: str) -> tuple[list[str], list[str]]:
    """What the side offers, and where it says that one is."""
    response = client_of(user).get(reverse(page), follow=True)
    assert response.status_code == 200
    found = LINK.findall(response.content.decode())
    return [name for _, name in found], [name for current, name in found if current]


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("review", "Queue"), ("review_gaps", "Unanswered"), ("review_curated", ALL[2]), ("review_golden", ALL[2]),
        ("review_revisions", "Feedback"), ("review_boosts", "Feedback"), ("review_dashboard", "Dashboard"),
        ("review_replays", "Replay history"), ("review_log", "Log"), ("review_ageing", "Ageing documents"),
    ],
)  # fmt: skip
def test_an_administrator_has_all_eight(page: str, name: str) -> None:
    assert links(person("Administrators"), page) == (ALL, [name])


def test_a_reviewer_has_those_that_need_no_more_than_reading() -> None:
    assert links(person("Reviewers"), "review")[0] == [
        "Queue",
        "Unanswered",
        "Ageing documents",
        "Dashboard",
        "Replay history",
    ]


def test_the_queue_keeps_what_it_was_asked_for_at_the_next_choice() -> None:
    asked = {
        "search": "late “books”", "user": "mei", "from": "2026-01-02", "to": "2026-02-03",
        "session": "11111111-1111-1111-1111-111111111111", "state": "todo", "rating": "bad",
    }  # fmt: skip
    page = client_of(person("Administrators")).get("/review/", asked).content.decode()
    form = page.partition('id="filters"')[2].partition("</form>")[0]
    kept = dict(re.findall(r'<input[^>]* name="(\w+)"[^>]* value="([^"]*)"', form))
    for name, options in re.findall(r'<select[^>]* name="(\w+)">(.*?)</select>', form):
        kept[name] = "".join(re.findall(r'<option value="([^"]*)" selected', options))
    assert {name: kept.get(name) for name in asked} == asked


def asked(question: str, **fields: Any) -> Message:
    answer = answered(question, **fields)
    answers_record([answer.pk])
    return answer


def rows(response: Any) -> list[str]:
    return re.findall(r'<a class="review-question" [^>]*>([^<]*)</a>', response.content.decode())


def test_the_queue_opens_with_what_wants_a_persons_look_the_worst_first() -> None:
    asked("Was it refused?", decision="NO_ANSWER")
    RatingFactory(message=(worst := asked("Was it wrong?")), score=1)
    answers_record([worst.pk])
    asked(
        "Was it fine?",
        usage={"total_ms": 60_000},
        degraded=[{"step": "generate", "reason": "away"}],
    )
    AnswerReview.objects.filter(message=asked("Was it read?", decision="NO_ANSWER")).update(
        state="reviewed"
    )
    client = client_of(person("Reviewers"))
    opened = client.get("/review/", follow=True)
    assert rows(opened) == ["Was it wrong?", "Was it refused?"]
    everything = re.search(r'class="review-clear" href="([^"]*)"', opened.content.decode())
    assert everything
    assert len(rows(client.get(everything[1], follow=True))) == 4
    without = client.get("/review/", {"state": "todo"})
    last = re.search(
        r'<a class="chip" href="([^"]*)"', without.content.decode()
    )  # takes the only filter off
    assert last
    assert len(rows(client.get(last[1], follow=True))) == 4


def test_the_way_back_from_an_answer_keeps_that_there_are_no_filters() -> None:
    answer = asked("Was it fine?")
    client = client_of(person("Reviewers"))
    listed = client.get("/review/", {"state": ""}).content.decode()
    opened = re.search(rf'href="(/review/answers/{answer.pk}/[^"]*)"', listed)
    assert opened
    page = client.get(opened[1]).content.decode()
    back = re.search(r'id="back" href="([^"]*)"', page)
    assert back
    assert rows(client.get(back[1], follow=True)) == ["Was it fine?"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("> ## §2 Rent\n>\n> 1. **Lakeside** 118\n> - two", " §2 Rent\n\n Lakeside 118\n two"),
        ("| Hall | Rent |\n|---|---:|\n| Mill | 84 |", " Hall  Rent \n\n Mill  84 "),
        ("> | a |\n> |---|\n\n---\nFrom -- to", "  a \n\n\n\nFrom -- to"),
        ("See [the rule](https://a.example/b) 3.", "See the rule 3."),
    ],
)
def test_a_row_of_the_queue_shows_the_words_of_an_answer(text: str, words: str) -> None:
    assert unmarked(text) == words
