"""Values in the addresses of the desk that no page has ever sent."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.clients import client_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
ODD = {
    "5000 digits": "9" * 5000,
    "negative": "-1",
    "empty": "",
    "a superscript": "²",
    "no day": "2026-13-45T00:00:00Z",
    "the last day": "9999-12-31",
}
PLACES = {
    "review": ["page_size", "after", "from", "to", "session"],
    "review_gaps": ["page", "assignee"],
    "review_revisions": ["page", "after"],
    "review_boost_new": ["answer", "document", "chunk"],
    "review_curated_new": ["change", "request"],
    "review_golden_new": ["answer"],
    "review_ageing": ["page"],
    "review_dashboard": ["from", "to"],
    "review_log": ["page"],
    "review_replay_new": ["answer"],
    "requests": ["page", "box"],
}


@pytest.fixture
def client(settings: Any) -> Client:
    settings.TIME_ZONE = "America/New_York"
    return client_of(UserFactory(is_superuser=True, is_staff=True))


@pytest.mark.parametrize("value", ODD.values(), ids=list(ODD))
def test_an_odd_value_in_an_address_is_no_error_of_the_site(value: str, client: Client) -> None:
    for name, fields in PLACES.items():
        for field in fields:
            response = client.get(reverse(name), {field: value})
            assert response.status_code < 500, (name, field)
