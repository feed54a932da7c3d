"""The desk's places: seven, each for whom it is, and each says where one is."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests.clients import client_of, person

pytestmark = pytest.mark.django_db
ALL = ["Queue", "Gaps", "Answers &amp; questions", "Feedback", "Dashboard", "Replays", "Log"]
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
        ("review", "Queue"), ("review_gaps", "Gaps"), ("review_curated", ALL[2]), ("review_golden", ALL[2]),
        ("review_revisions", "Feedback"), ("review_boosts", "Feedback"), ("review_dashboard", "Dashboard"),
        ("review_replays", "Replays"), ("review_log", "Log"),
    ],
)  # fmt: skip
def test_an_administrator_has_all_seven(page: str, name: str) -> None:
    assert links(person("Administrators"), page) == (ALL, [name])


def test_a_reviewer_has_those_that_need_no_more_than_reading() -> None:
    assert links(person("Reviewers"), "review")[0] == ["Queue", "Gaps", "Dashboard", "Replays"]
