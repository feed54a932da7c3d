"""What people at the desk are told of: their withdrawn answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from feedback.models import CuratedAnswer
from tests.review.people import client_of, person

pytestmark = pytest.mark.django_db
WITHDRAWN = "checked answer of yours was withdrawn"


def withdrawn(by: User, **fields: Any) -> CuratedAnswer:
    given = {"question": "How many books?", "text": "Ten.", "end": "source_changed", "ended_at": timezone.now()}
    return CuratedAnswer.objects.create(created_by=by, **given | fields)


def shown(user: User, path: str = "/review/") -> str:
    return client_of(user).get(path).content.decode()


@pytest.mark.parametrize("path", ["/review/", "/review/dashboard/"])
@pytest.mark.parametrize("end", ["source_changed", "source_gone"])
def test_a_curator_is_told_of_an_answer_that_the_site_withdrew(path: str, end: str) -> None:
    curator = person("Curators")
    withdrawn(curator, end=end)
    assert WITHDRAWN in shown(curator, path)
    assert WITHDRAWN not in shown(person("Curators"), path)


@pytest.mark.parametrize(
    "fields", [{"end": "person"}, {"end": "replaced"}, {"ended_at": timezone.now() - timedelta(days=20)}]
)
def test_nobody_is_told_of_what_a_person_did_or_what_is_long_ago(fields: dict[str, Any]) -> None:
    curator = person("Curators")
    withdrawn(curator, **fields)
    assert WITHDRAWN not in shown(curator)


def test_an_answer_that_was_made_again_is_told_no_more() -> None:
    curator = person("Curators")
    withdrawn(curator)
    withdrawn(curator, end="", ended_at=None)
    assert WITHDRAWN not in shown(curator)


def test_who_lost_the_role_of_a_curator_is_told_nothing() -> None:
    reviewer = person("Reviewers")
    withdrawn(reviewer)
    assert WITHDRAWN not in shown(reviewer)
