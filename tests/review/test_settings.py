"""Settings at the desk: drafts, precedence, going live in every process, roll back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import URLPattern, reverse

from chat.review.roles import DeskAccess, RightMissingError, desk_access
from chat.review.settings.revisions import (
    DraftOutdatedError,
    NoDraftError,
    NothingChangedError,
    changes_of,
    draft_discard,
    draft_find,
    draft_live,
    draft_rebase,
    draft_save,
    restore,
)
from chat.review.settings.settings_urls import urlpatterns
from ragsite.accounts.account_data import AccountHolder
from ragsite.core.errors import InvalidInputError
from ragsite.core.rag_settings import GROUPS
from ragsite.core.rag_settings.offered import OFFERED, field_of, kept_by_operator, meaning_of
from ragsite.models import SettingRevision
from ragsite.runtime import live_settings
from retrieval.prompting import built_in_text
from tests.ollama_server import RagSettingsChanger
from tests.review.people import client_of, person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_settings(settings: Any, rag_settings: RagSettingsChanger) -> Iterator[None]:
    """What goes live in a test ends with it."""
    settings.ENVIRON = {}
    rag_settings(ollama={"offline": "1"})
    live_settings._state.checked = float("-inf")
    yield
    live_settings._state.base = None
    live_settings._state.checked = float("-inf")


@pytest.fixture
def access() -> DeskAccess:
    return desk_access(person("Administrators"))


def go_live(access: DeskAccess, **values: Any) -> SettingRevision:
    draft_save(access=access, values={name.replace("__", "."): value for name, value in values.items()})
    revision = draft_live(access=access)
    live_settings.refresh(at_once=True)
    return revision


# ------------------------------------------------------------------------------------------------ what is live
def test_a_draft_changes_nothing_before_it_is_live(access: DeskAccess, settings: Any) -> None:
    draft_save(access=access, values={"search.top_k": 9})
    live_settings.refresh(at_once=True)
    assert settings.RAG.search.top_k == 5


def test_a_live_revision_replaces_the_settings_as_a_whole(access: DeskAccess, settings: Any) -> None:
    before = settings.RAG
    go_live(access, search__top_k=9)
    assert (settings.RAG.search.top_k, settings.RAG.revision) == (9, 1)
    assert (before.search.top_k, before.revision) == (5, 0)


def test_another_process_takes_it_up_when_it_looks(access: DeskAccess, settings: Any) -> None:
    operators = settings.RAG
    go_live(access, search__top_k=9)
    settings.RAG = operators  # a process that has not looked yet
    live_settings.refresh()
    assert settings.RAG.search.top_k == 5  # it has just looked
    live_settings._state.checked = float("-inf")
    live_settings.refresh()
    assert settings.RAG.search.top_k == 9


def test_a_database_that_is_away_leaves_the_settings_as_they_are(
    access: DeskAccess, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_live(access, search__top_k=9)

    def away() -> int:
        raise live_settings.DatabaseError("away")

    monkeypatch.setattr(live_settings, "live_number", away)
    live_settings.refresh(at_once=True)
    assert settings.RAG.search.top_k == 9


def test_the_environment_wins_over_what_is_live(access: DeskAccess, settings: Any) -> None:
    go_live(access, search__top_k=9)
    settings.ENVIRON = {"RAG_SEARCH_TOP_K": "5"}
    settings.RAG = live_settings.operator_settings()
    live_settings.refresh(at_once=True)
    assert (settings.RAG.search.top_k, settings.RAG.revision) == (5, 1)


def test_a_locked_setting_is_refused_with_the_variables_name(access: DeskAccess, settings: Any) -> None:
    settings.ENVIRON = {"RAG_SEARCH_TOP_K": "5"}
    with pytest.raises(InvalidInputError) as refused:
        draft_save(access=access, values={"search.top_k": 9})
    assert "RAG_SEARCH_TOP_K" in refused.value.fields["values"]["search.top_k"][0]


def test_stored_values_that_cant_be_used_are_left_out_and_logged(
    access: DeskAccess, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    revision = go_live(access, search__top_k=9, corrective__max_refine_rounds=1)
    stored = {"values": {"search.top_k": "many", "gone.setting": 1, "corrective.max_refine_rounds": 1}, "prompts": 5}
    SettingRevision.objects.filter(pk=revision.pk).update(changes=stored)
    settings.RAG = live_settings.operator_settings()
    live_settings.refresh(at_once=True)
    assert settings.RAG.search.top_k == 5
    assert settings.RAG.corrective.max_refine_rounds == 1
    assert "gone.setting" in caplog.text and "search.top_k" in caplog.text


@pytest.mark.parametrize("stored", [None, [], {"values": []}, {"values": {"search.top_k": []}}, {"prompts": {"x": 1}}])
def test_no_stored_changes_keep_the_site_from_starting(stored: Any) -> None:
    assert live_settings.resolve(stored).rag.search.top_k == 5


def test_a_draft_is_not_stuck_with_values_that_cant_be_used(access: DeskAccess) -> None:
    revision = go_live(access, search__top_k=9)
    SettingRevision.objects.filter(pk=revision.pk).update(changes={"values": {"gone.setting": 1}, "prompts": {"a": ""}})
    draft_save(access=access, values={"hyde.enabled": False})
    assert changes_of(draft_live(access=access)) == {"values": {"hyde.enabled": False}, "prompts": {}}


# ------------------------------------------------------------------------------------------------ drafts
def test_a_draft_is_refused_as_a_whole(access: DeskAccess) -> None:
    with pytest.raises(InvalidInputError) as refused:
        draft_save(access=access, values={"search.top_k": 9, "corrective.good_score": 2})
    assert list(refused.value.fields["values"]) == ["corrective.good_score"]
    assert draft_find(access) is None


def test_a_rule_between_settings_is_told_beside_what_was_changed(
    access: DeskAccess, rag_settings: RagSettingsChanger
) -> None:
    rag_settings(search={"max_top_k": 8})
    with pytest.raises(InvalidInputError) as refused:
        draft_save(access=access, values={"search.top_k": 9})
    assert list(refused.value.fields["values"]) == ["search.top_k"]


def test_the_operators_own_value_is_no_change(access: DeskAccess) -> None:
    draft_save(access=access, values={"search.top_k": "9"})
    draft = draft_save(access=access, values={"search.top_k": "5"})
    assert changes_of(draft)["values"] == {}


def test_a_model_that_the_server_does_not_list_is_refused(access: DeskAccess) -> None:
    with pytest.raises(InvalidInputError):
        draft_save(access=access, values={"ollama.chat_model": "qwen3:4b, gone"}, models=["qwen3:4b"])
    draft_save(access=access, values={"ollama.chat_model": "qwen3:4b, Tiny"}, models=["qwen3:4b", "tiny:latest"])


@pytest.mark.parametrize("name", ["ollama.base_url", "ollama.embed_model", "milvus.token", "nothing", "search.nothing"])
def test_what_is_not_offered_is_refused(access: DeskAccess, name: str) -> None:
    with pytest.raises(InvalidInputError):
        draft_save(access=access, values={name: "http://elsewhere.example"})


def test_web_search_can_only_be_asked_of_a_site_that_has_one(
    access: DeskAccess, rag_settings: RagSettingsChanger
) -> None:
    with pytest.raises(InvalidInputError):
        draft_save(access=access, values={"web_search.by_default": True})
    rag_settings(web_search={"provider": "searxng=http://127.0.0.1:9"})
    draft_save(access=access, values={"web_search.by_default": True})


def test_two_administrators_have_a_draft_each(access: DeskAccess) -> None:
    other = desk_access(person("Administrators"))
    draft_save(access=access, values={"search.top_k": 9})
    draft_save(access=other, values={"search.top_k": 7})
    assert [changes_of(draft_find(one))["values"] for one in (access, other)] == [
        {"search.top_k": 9}, {"search.top_k": 7},
    ]  # fmt: skip


def test_a_draft_on_settings_that_are_no_longer_live_is_first_put_on_top(access: DeskAccess, settings: Any) -> None:
    other = desk_access(person("Administrators"))
    draft_save(access=access, values={"search.top_k": 9, "rewrite.enabled": False})
    go_live(other, search__top_k=7, hyde__enabled=False)
    with pytest.raises(DraftOutdatedError):
        draft_live(access=access)
    draft, both = draft_rebase(access=access)
    assert both == ["search.top_k"]
    assert changes_of(draft)["values"] == {"hyde.enabled": False, "rewrite.enabled": False, "search.top_k": 9}
    draft_live(access=access)
    live_settings.refresh(at_once=True)
    assert settings.RAG.search.top_k == 9 and not settings.RAG.hyde.enabled


def test_a_rebase_keeps_what_the_draft_took_back(access: DeskAccess) -> None:
    go_live(access, search__top_k=9, hyde__enabled=False)
    draft_save(access=access, values={}, reset=["hyde.enabled"])
    go_live(desk_access(person("Administrators")), search__top_k=7)
    draft, both = draft_rebase(access=access)
    assert (changes_of(draft)["values"], both) == ({"search.top_k": 7}, [])


def test_a_draft_without_a_change_does_not_go_live(access: DeskAccess) -> None:
    draft_save(access=access, values={"search.top_k": 9})
    draft_save(access=access, values={}, reset=["search.top_k"])
    with pytest.raises(NothingChangedError):
        draft_live(access=access)


def test_a_discarded_draft_stays_as_a_row_and_is_no_draft(access: DeskAccess) -> None:
    draft_save(access=access, values={"search.top_k": 9})
    draft_discard(access=access)
    assert SettingRevision.objects.get().state == "withdrawn"
    with pytest.raises(NoDraftError):
        draft_discard(access=access)


def test_one_revision_is_live(access: DeskAccess) -> None:
    go_live(access, search__top_k=9)
    with pytest.raises(IntegrityError), transaction.atomic():
        SettingRevision.objects.create(state="live", number=7)


# ------------------------------------------------------------------------------------------------ the way back
def test_rolling_back_makes_a_new_revision_of_the_old_settings(access: DeskAccess, settings: Any) -> None:
    go_live(access, search__top_k=9)
    go_live(access, search__top_k=7)
    again = restore(access=access, number=1, note="worse")
    live_settings.refresh(at_once=True)
    assert (again.number, again.restores, settings.RAG.search.top_k) == (3, 1, 9)
    assert list(SettingRevision.objects.order_by("number").values_list("state", flat=True)) == [
        "replaced", "replaced", "live",
    ]  # fmt: skip


def test_rolling_back_to_the_operators_settings(access: DeskAccess, settings: Any) -> None:
    go_live(access, search__top_k=9)
    restore(access=access, number=0)
    live_settings.refresh(at_once=True)
    assert (settings.RAG.search.top_k, settings.RAG.revision) == (5, 2)
    with pytest.raises(NothingChangedError):
        restore(access=access, number=0)


# ------------------------------------------------------------------------------------------------ who asks
def test_a_persons_data_names_their_settings_and_lets_them_go(access: DeskAccess) -> None:
    go_live(access, search__top_k=9)
    draft_save(access=access, values={"search.top_k": 7})
    holder = AccountHolder()
    assert any("draft of settings" in held.what and held.count == 1 for held in holder.goes(access.user))
    assert [held.count for held in holder.stays(access.user)] == [1]
    assert any(part.path == "settings.json" for part in holder.parts(access.user))
    list(holder.erase(access.user))
    assert list(SettingRevision.objects.values_list("state", "made_by")) == [("live", None)]


def test_a_question_that_names_no_workflow_gets_the_sites(access: DeskAccess, settings: Any) -> None:
    go_live(access, answer__workflow="react")
    boot = client_of(access.user).get(reverse("chat")).context["boot"]
    assert boot["default_workflow"] == "react"


def test_every_setting_is_offered_or_has_a_reason() -> None:
    names = {f"{group}.{field}" for group, kind in GROUPS.items() for field in kind.model_fields}
    kept = dict(kept_by_operator())
    assert set(OFFERED) | set(kept) == names and not set(OFFERED) & set(kept)
    assert all(meaning_of(name) for name in OFFERED)
    secret = {name for name in names if not field_of(name).repr}
    assert not secret & set(OFFERED)


# ------------------------------------------------------------------------------------------------ prompts
def test_a_prompt_of_ones_own_is_used_and_the_shipped_one_is_no_change(access: DeskAccess, settings: Any) -> None:
    shipped = built_in_text("hyde.en")
    draft = draft_save(access=access, values={}, prompts={"hyde.en": shipped.replace("\n", "\r\n")})
    assert changes_of(draft)["prompts"] == {}
    text = shipped.replace("\n---\n", "\nBe short.\n---\n")
    draft_save(access=access, values={}, prompts={"hyde.en": text})
    draft_live(access=access)
    live_settings.refresh(at_once=True)
    assert settings.RAG.prompts == (("hyde.en", text),)


def test_a_prompt_that_lacks_a_variable_is_refused(access: DeskAccess) -> None:
    with pytest.raises(InvalidInputError) as refused:
        draft_save(access=access, values={}, prompts={"generate.en": "Answer.\n---\n$question"})
    assert any("$passages" in str(said) for said in refused.value.fields["prompts"]["generate.en"])


def test_a_prompt_of_the_operator_is_locked(access: DeskAccess, settings: Any, tmp_path: Any) -> None:
    (tmp_path / "hyde.en.md").write_text("Theirs.\n---\n$question")
    settings.RAG = settings.RAG.replace(prompts_dir=str(tmp_path))
    with pytest.raises(InvalidInputError):
        draft_save(access=access, values={}, prompts={"hyde.en": "Mine.\n---\n$question"})


# ------------------------------------------------------------------------------------------------ roles and pages
@pytest.mark.parametrize("role", ["Reviewers", "Curators"])
def test_only_administrators_change_settings(role: str) -> None:
    with pytest.raises(RightMissingError):
        draft_save(access=desk_access(person(role)), values={"search.top_k": 9})


NOTHING = {"number": 1, "pk": 1, "name": "hyde"}


def test_every_address_is_walked_as_every_role() -> None:
    """Administrators alone get further than the refusal, whatever the method."""
    clients = {role: client_of(person(role)) for role in ("Reviewers", "Curators", "")}
    for pattern in urlpatterns:
        assert isinstance(pattern, URLPattern)
        names = pattern.pattern.converters
        address = reverse(str(pattern.name), kwargs={name: NOTHING[name] for name in names})
        for method in ("get", "post", "patch", "delete"):
            for role, client in clients.items():
                status = getattr(client, method)(address, content_type="application/json").status_code
                assert status in (403, 405), (pattern.name, method, role)
            assert getattr(client_of(person(is_staff=False)), method)(address).status_code in (404, 405)
            assert getattr(client_of(None), method)(address).status_code in (302, 401, 405)


def test_a_number_that_no_database_holds_is_not_found(client: Client) -> None:
    for name in ("revision", "try", "restore"):
        assert client.get(reverse(f"review_settings_{name}", args=[10**30])).status_code in (404, 405)
    assert client.get(reverse("api-review-settings-revision", args=[10**30])).status_code == 404


PAGES = ["review_settings", "api-review-settings", "api-review-settings-revisions"]


@pytest.mark.parametrize("page", PAGES)
def test_who_may_read_settings(page: str) -> None:
    found = {role: client_of(person(role)).get(reverse(page)).status_code for role in ("Reviewers", "Curators", "")}
    assert set(found.values()) == {403}
    assert client_of(person("Administrators")).get(reverse(page)).status_code == 200
    assert client_of(person(is_staff=False)).get(reverse(page)).status_code == 404


@pytest.fixture
def client(access: DeskAccess) -> Client:
    return client_of(access.user)


def test_the_form_saves_what_was_changed_in_it_alone(client: Client, access: DeskAccess) -> None:
    form = {"search.top_k": "9", "was:search.top_k": "5", "hyde.enabled": "true", "was:hyde.enabled": "true"}
    assert client.post(reverse("review_settings"), form).status_code == 302
    assert changes_of(draft_find(access))["values"] == {"search.top_k": 9}


def test_the_form_shows_what_was_typed_with_the_error_beside_it(client: Client, access: DeskAccess) -> None:
    page = client.post(reverse("review_settings"), {"search.top_k": "ninety", "was:search.top_k": "5"})
    assert page.status_code == 400
    assert 'value="ninety"' in page.text and "Give a whole number." in page.text
    assert draft_find(access) is None


def test_no_address_and_no_secret_is_shown(client: Client, rag_settings: RagSettingsChanger) -> None:
    rag_settings(milvus={"token": "hidden-token"}, rerank={"url": "http://user:hidden-word@127.0.0.1:9"})
    for page in ("review_settings", "api-review-settings"):
        assert "hidden-" not in client.get(reverse(page)).text


def test_buttons_of_the_draft(client: Client, access: DeskAccess) -> None:
    act = reverse("review_settings_draft")
    draft_save(access=access, values={"search.top_k": 9, "hyde.enabled": False})
    client.post(act, {"act": "undo", "name": "hyde.enabled"})
    client.post(act, {"act": "live", "note": "more passages"})
    live = SettingRevision.objects.get(state="live")
    assert (changes_of(live)["values"], live.note) == ({"search.top_k": 9}, "more passages")
    assert "more passages" in client.get(reverse("review_settings")).text
    assert client.get(reverse("review_settings_revision", args=[1])).status_code == 200
    assert client.post(act, {"act": "nonsense"}).status_code == 404
    assert client.post(reverse("review_settings_restore", args=[9])).status_code == 404


def test_the_page_of_a_prompt(client: Client, access: DeskAccess) -> None:
    address = reverse("review_settings_prompt", args=["hyde"])
    text = built_in_text("hyde.en").replace("\n---\n", "\nBe short.\n---\n")
    assert client.post(address, {"en": text, "zh": built_in_text("hyde.zh")}).status_code == 302
    assert list(changes_of(draft_find(access))["prompts"]) == ["hyde.en"]
    assert "Be short." in client.get(address).text
    assert client.post(address, {"en": "no line", "zh": built_in_text("hyde.zh")}).status_code == 400
    client.post(address, {"shipped": "en"})
    assert changes_of(draft_find(access))["prompts"] == {}
    assert client.get(reverse("review_settings_prompt", args=["nothing"])).status_code == 404


def test_a_prompts_page_saves_only_what_was_changed_on_it(client: Client, access: DeskAccess) -> None:
    address = reverse("review_settings_prompt", args=["hyde"])
    page = client.get(address).text
    shown = dict(re.findall(r'name="(was:\w\w)" value="(\w+)"', page))
    theirs = built_in_text("hyde.en").replace("\n---\n", "\nTheirs.\n---\n")
    draft_save(access=access, values={}, prompts={"hyde.en": theirs})  # in another tab, or by another administrator
    mine = built_in_text("hyde.zh").replace("\n---\n", "\nMine.\n---\n")
    client.post(address, {"en": built_in_text("hyde.en"), "zh": mine, **shown})
    assert changes_of(draft_find(access))["prompts"] == {"hyde.en": theirs, "hyde.zh": mine}


def test_a_prompts_page_on_which_nothing_was_changed_begins_no_draft(client: Client, access: DeskAccess) -> None:
    address = reverse("review_settings_prompt", args=["hyde"])
    said = client.post(address, {"en": built_in_text("hyde.en"), "zh": built_in_text("hyde.zh")}, follow=True).text
    assert "Nothing was changed." in said and draft_find(access) is None


# ------------------------------------------------------------------------------------------------ the API
def call(client: Client, method: str, name: str, data: Any = None, *args: Any) -> Any:
    return getattr(client, method)(reverse(name, args=args), data, content_type="application/json")


def test_the_way_of_a_change_over_the_api(client: Client) -> None:
    changed = call(client, "patch", "api-review-settings-draft", {"values": {"search.top_k": 9}})
    assert changed.json()["differences"][0]["after"] == 9
    live = call(client, "post", "api-review-settings-draft-live", {"note": "why"})
    assert (live.status_code, live.json()["number"]) == (200, 1)
    every = client.get(reverse("api-review-settings")).json()
    top_k = next(one for part in every["sections"] for one in part["settings"] if one["name"] == "search.top_k")
    assert (top_k["value"], top_k["default"], top_k["origin"], top_k["revision"]) == (9, 5, "revision", 1)
    again = call(client, "post", "api-review-settings-restore", {}, 0)
    assert (again.status_code, again.json()["restores"]) == (200, 0)
    assert client.get(reverse("api-review-settings-revisions")).json()["count"] == 2


@pytest.mark.parametrize(
    "body",
    [
        {"values": {"search.top_k": "9"}}, {"values": {"search.top_k": True}}, {"values": {"hyde.enabled": "on"}},
        {"values": {"search.top_k": {}}}, {"values": []}, {"values": {"ollama.base_url": "x"}},
        {"reset": ["nothing"]}, {"prompts": {"nothing.en": "x"}}, {"prompts": {"hyde.en": 5}}, {"nothing": 1},
    ],
)  # fmt: skip
def test_the_api_refuses_what_is_wrong(client: Client, body: Any) -> None:
    answer = call(client, "patch", "api-review-settings-draft", body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


def test_without_a_draft_there_is_nothing_to_make_live(client: Client) -> None:
    for name in ("draft-live", "draft-try", "draft-rebase"):
        assert call(client, "post", f"api-review-settings-{name}", {}).status_code == 404
    assert client.delete(reverse("api-review-settings-draft")).status_code == 404
