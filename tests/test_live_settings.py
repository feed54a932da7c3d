"""Settings that superusers change in the administration: what is stored counts at once, and the environment wins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from constance.codecs import dumps
from constance.models import Constance
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import reverse

from ragsite.runtime import live_settings
from tests.clients import administrator, client_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
PAGE = "/admin/constance/config/"


@pytest.fixture(autouse=True)
def own_settings(settings: Any) -> Iterator[None]:
    """What is stored in a test ends with it."""
    settings.ENVIRON, settings.RAG = {}, settings.RAG
    ContentType.objects.clear_cache()  # that of the page's log is made in a test's transaction
    live_settings._taken_up, live_settings._looked_at = ({}, {}), float("-inf")
    yield
    live_settings._taken_up, live_settings._looked_at = ({}, {}), float("-inf")
    ContentType.objects.clear_cache()


def stored(**values: Any) -> None:
    for key, value in values.items():
        Constance.objects.create(key=key, value=dumps(value))


def save(client: Client, **changes: Any) -> Any:
    """The page as a browser sends it, with other values in these fields."""
    form = client.get(PAGE).context["form"]
    shown = {
        name: value
        for name, value in form.initial.items()
        if value is not False and value is not None
    }
    return client.post(
        PAGE, {name: value for name, value in (shown | changes).items() if value is not False}
    )


def test_a_superusers_change_counts_at_once_and_is_logged(settings: Any) -> None:
    before, client = settings.RAG, administrator()
    assert save(client, RAG_SEARCH_TOP_K=9, RAG_MEMORY_ENABLED=False).status_code == 302
    assert (settings.RAG.search.top_k, settings.RAG.memory.enabled) == (9, False)
    assert (before.search.top_k, before.memory.enabled) == (5, True)  # what runs goes on with it
    assert set(Constance.objects.values_list("key", flat=True)) == {
        "RAG_SEARCH_TOP_K",
        "RAG_MEMORY_ENABLED",
    }
    assert "RAG_SEARCH_TOP_K" in client.get(reverse("admin:constance_config_history")).text


@pytest.mark.parametrize(
    ("name", "value"),
    [("RAG_SEARCH_TOP_K", 51), ("RAG_SEARCH_TOP_K", 0), ("RAG_SEARCH_TOP_K", "many"),
     ("RAG_LIMIT_QUESTIONS_PER_MINUTE", 0), ("RAG_DEFAULT_WORKFLOW", "other")],
)  # fmt: skip
def test_a_value_out_of_bounds_is_refused_beside_its_field(
    settings: Any, name: str, value: Any
) -> None:
    page = save(administrator(), **{name: value})
    assert page.status_code == 200 and list(page.context["form"].errors) == [name]
    assert not Constance.objects.exists()


def test_staff_who_are_no_superusers_have_no_such_page() -> None:
    assert client_of(UserFactory(is_staff=True)).get(PAGE).status_code == 403


def test_the_environment_wins_and_the_page_says_so(settings: Any) -> None:
    stored(RAG_SEARCH_TOP_K=9)
    settings.ENVIRON = {"RAG_SEARCH_TOP_K": "5"}
    live_settings.refresh(at_once=True)
    assert settings.RAG.search.top_k == 5
    client = administrator()
    assert client.get(PAGE).context["form"].fields["RAG_SEARCH_TOP_K"].disabled
    assert "It is set by an environment variable" in client.get(PAGE).text
    save(client, RAG_SEARCH_TOP_K=7)
    assert settings.RAG.search.top_k == 5


def test_another_process_takes_it_up_when_it_looks(settings: Any) -> None:
    live_settings.refresh()
    stored(RAG_SEARCH_TOP_K=9)
    live_settings.refresh()
    assert settings.RAG.search.top_k == 5  # it has just looked
    live_settings._looked_at = float("-inf")
    live_settings.refresh()
    assert settings.RAG.search.top_k == 9


def test_a_database_that_is_away_leaves_the_settings_as_they_are(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(RAG_SEARCH_TOP_K=9)
    live_settings.refresh(at_once=True)

    def away(*_: Any, **__: Any) -> None:
        raise live_settings.DatabaseError("away")

    monkeypatch.setattr(Constance.objects, "filter", away)
    live_settings.refresh(at_once=True)
    assert settings.RAG.search.top_k == 9
