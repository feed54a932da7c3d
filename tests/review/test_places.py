"""The desk's places: seven, each for whom it is, and each says where one is."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests.clients import client_of, person

pytestmark = pytest.mark.django_db
ALL = ["Queue", "Unanswered", "Answers &amp; questions", "Feedback", "Dashboard", "Replays", "Log"]
LINK = re.compile(r'<a class="side-link" href="[^"]+"( aria-current="page")?><span class="text">([^<]+)</span>')


def links(user: User, page: str) -> tuple[list[str], list[str]]:
    """What the side offers, and where it says that one is."""
    response = client_of(user).get(reverse(page))
    assert response.status_code == 200
    found = LINK.findall(response.content.decode())
    return [name for _, name in found], [name for current, name in found if current]


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("review", "Queue"), ("review_gaps", "Unanswered"), ("review_curated", ALL[2]), ("review_golden", ALL[2]),
        ("review_revisions", "Feedback"), ("review_boosts", "Feedback"), ("review_dashboard", "Dashboard"),
        ("review_replays", "Replays"), ("review_log", "Log"),
    ],
)  # fmt: skip
def test_an_administrator_has_all_seven(page: str, name: str) -> None:
    assert links(person("Administrators"), page) == (ALL, [name])


def test_a_reviewer_has_those_that_need_no_more_than_reading() -> None:
    assert links(person("Reviewers"), "review")[0] == ["Queue", "Unanswered", "Dashboard", "Replays"]


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
