"""Prompts of the site's own are rows: written in the administration, they count in every process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from ragsite.checks import findings
from ragsite.models import OwnPrompt
from ragsite.runtime import live_settings
from retrieval.compose import with_engine
from retrieval.engine.prompting import shipped_prompts
from tests.clients import administrator, client_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/admin/ragsite/ownprompt/"
OWN = "Use the words of a lawyer.\n---\nWrite $variants queries. Question: $question"


@pytest.fixture(autouse=True)
def own_settings(settings: Any) -> Iterator[None]:
    settings.RAG = settings.RAG
    live_settings._taken_up, live_settings._looked_at = ({}, {}), float("-inf")
    yield
    live_settings._taken_up, live_settings._looked_at = ({}, {}), float("-inf")


def add(client: Client, name: str = "rewrite.en", text: str = OWN) -> Any:
    return client.post(f"{PAGE}add/", {"name": name, "text": text})


def system_text() -> str:
    """Of the prompt `rewrite` as the next question gets it."""
    live_settings.refresh(at_once=True)

    async def rendered(engine: Any) -> str:
        return str(engine.prompts.render("rewrite", question="q", variants=3, history="-").system)

    return with_engine(rendered)


def test_a_prompt_is_chosen_from_those_that_ship_and_begins_with_their_text() -> None:
    client = administrator()
    assert "?name=rewrite.en" in client.get(f"{PAGE}add/").text
    form = client.get(f"{PAGE}add/", {"name": "rewrite.en"}).context["adminform"].form
    assert form.initial == {"name": "rewrite.en", "text": shipped_prompts()["rewrite.en"]}


def test_it_counts_until_it_is_deleted() -> None:
    client = administrator()
    shipped = system_text()
    assert add(client).status_code == 302
    assert system_text() == "Use the words of a lawyer."
    client.post(f"{PAGE}{OwnPrompt.objects.get().pk}/delete/", {"post": "yes"})
    assert system_text() == shipped


def test_it_is_changed() -> None:
    client = administrator()
    add(client)
    page = f"{PAGE}{OwnPrompt.objects.get().pk}/change/"
    assert client.post(page, {"text": OWN.replace("lawyer", "nurse")}).status_code == 302
    assert system_text() == "Use the words of a nurse."
    assert client.post(page, {"text": "no line"}).status_code == 200
    assert system_text() == "Use the words of a nurse."


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("nothing.en", OWN, "There is no prompt of this name."),
        ("rewrite.en", "only a system text", "no line ---"),
        ("rewrite.en", "s\n---\n5$ now", "starts no variable"),
        ("rewrite.en", "s\n---\n$question $passages", "There is no $passages for this prompt"),
    ],
)
def test_one_that_no_step_could_use_is_refused(name: str, text: str, told: str) -> None:
    page = add(administrator(), name, text)
    assert page.status_code == 200 and told in page.text
    assert not OwnPrompt.objects.exists()


def test_staff_without_the_permission_have_no_such_page() -> None:
    assert client_of(UserFactory(is_staff=True)).get(f"{PAGE}add/").status_code == 403


def test_files_of_the_former_folder_are_told(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path
    assert "prompts_in_a_folder" not in {finding.code for finding in findings()}
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "rewrite.en.md").write_text(OWN)
    assert "prompts_in_a_folder" in {finding.code for finding in findings()}
