"""Whatever stands in an address is answered: numbers of any length, dates of no calendar, bytes that no text has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator

from tests.clients import sure
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
LOG = "/administration/log/"
ODD = ("9" * 5000, str(2**63), "٣" * 30, "-1", "²", "\0", "2026-02-30T25:61")
ENDS = (
    "0001-01-01",
    "9999-12-31",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00",
)
ASKING = ("/api/rag/query-stream",)  # writes an answer
PAGES = {  # address → parameters that it reads
    "/administration/budgets/": ("page", "edit"),
    LOG: ("by", "kind", "since", "until", "before"),
    "/administration/log/export/": ("by", "kind", "since", "until"),
    "/administration/people/": ("page", "search"),
    "/assistants/": ("page",),
    "/documents/count/": ("year_from", "year_to", "created_from", "limit", "collection"),
    "/documents/search/": ("query", "year", "collection", "page"),
    "/memory/": ("search", "page"),
    "/notifications/": ("page",),
    "/requests/": ("box", "page"),
    "/sources/": ("begun",),
}


@pytest.fixture
def client() -> Client:
    user: User = UserFactory(is_staff=True, is_superuser=True)
    client = sure(user)
    client.raise_request_exception = False
    return client


def _patterns(patterns: Any, before: str = "/") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        path = before + str(pattern.pattern).lstrip("^")
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern.url_patterns, path)
        else:
            yield path, pattern


def _with_numbers() -> list[str]:
    """Addresses in which a whole number stands, with `{}` in its place."""
    found = []
    for path, _pattern in _patterns(get_resolver().url_patterns):
        if "<int:" in path and not path.startswith("/admin/"):
            path = re.sub(r"<int:\w+>", "{}", path)
            found.append(re.sub(r"<\w+:\w+>", str(uuid4()), path))
    return found


def _of_the_api() -> list[tuple[str, str]]:
    """Addresses and parameters, as the schema names them."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    found = []
    for path, methods in schema["paths"].items():
        if path in ASKING:
            continue
        address = re.sub(r"{\w+}", str(uuid4()), path)
        for one in methods.get("get", {}).get("parameters", ()):
            if one["in"] == "query":
                found.append((address, one["name"]))
    return found


def _broken(client: Client, asked: list[tuple[str, dict[str, str]]]) -> list[tuple[str, str]]:
    return [
        (path, str(query)[:80])
        for path, query in asked
        if client.get(path, query).status_code >= 500
    ]


def test_numbers_of_any_length_in_a_path(client: Client) -> None:
    paths = _with_numbers()
    assert paths
    for number in ("9" * 5000, str(2**63), str(10**30)):
        statuses = {path: client.get(path.format(number)).status_code for path in paths}
        posted = {path: client.post(path.format(number)).status_code for path in paths}
        assert {path for path, status in statuses.items() if status not in (404, 405)} == set()
        assert {path for path, status in posted.items() if status >= 500} == set()


@pytest.mark.django_db(transaction=True)  # PostgreSQL goes on with nothing after an error
def test_odd_values_in_the_addresses_of_pages_and_of_the_api(client: Client) -> None:
    parameters = _of_the_api()
    assert len(parameters) > 40
    parameters += [(path, name) for path, names in PAGES.items() for name in names]
    assert _broken(client, [(path, {name: odd}) for path, name in parameters for odd in ODD]) == []


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
def test_the_ends_of_the_calendar_in_the_log(client: Client, zone: str) -> None:
    dated = [name for name in PAGES[LOG] if name not in ("by", "kind")]
    with timezone.override(zone):
        asked = [(LOG, {name: moment}) for name in dated for moment in ENDS]
        assert _broken(client, asked) == []


@pytest.mark.parametrize("number", ["9" * 5000, str(2**63), "²", ""])
def test_odd_numbers_in_the_forms_of_the_administration(client: Client, number: str) -> None:
    user = UserFactory()
    change = {"action": "change", "role": "Curators", "groups": [number]}
    assert client.post(f"/administration/people/{user.pk}/", change).status_code == 302
    assert list(user.groups.values_list("name", flat=True)) == ["Curators"]
    removal = {"action": "remove", "budget": number}
    assert client.post("/administration/budgets/", removal).status_code == 400


def test_a_moment_that_the_log_did_not_write_is_refused_in_words(client: Client) -> None:
    for moment in ("2026-02-30T25:61", "9999-12-31T23:59:59-14:00", "soon"):
        refused = client.get(LOG, {"before": moment})
        assert refused.status_code == 400
        assert "is no date and time" in refused.content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_nul_in_a_form_is_no_error_of_ours(client: Client) -> None:
    budget = {"action": "set", "subject": "user", "name": "a\0b", "day": "", "month": ""}
    assert client.post("/administration/budgets/", budget).status_code == 400
    assert client.post("/review/golden/new/", {"search": "a\0b"}).status_code < 500
