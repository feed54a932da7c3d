"""The pages and the API of assistants: who may see, change and share which."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from chat.models import Assistant
from chat.services.assistants import assistant_make_default
from ragsite.core.errors import ConflictError
from tests.clients import client_of
from tests.factories import CollectionFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> User:
    return UserFactory(username="maria")


@pytest.fixture
def page(owner: User) -> Client:
    return client_of(owner)


@pytest.fixture
def rules(owner: User) -> Assistant:
    return Assistant.objects.create(owner=owner, name="Rules", instructions="Be brief.")


def sent(client: Client, method: str, path: str, body: Any = None) -> Any:
    return getattr(client, method)(path, body, content_type="application/json")


def test_it_is_made_changed_and_deleted_on_its_pages(page: Client, owner: User) -> None:
    notes = CollectionFactory(owner=owner, name="notes", visibility="private")
    entered = {
        "name": "Leave",
        "instructions": "Use a list.",
        "collections": [str(notes.pk)],
        "with_own": "on",
        "way": "quick",
        "department": "HR",
        "tags": "pay\nleave, paid",
        "starters": "How long is parental leave?\n\nWho approves it?",
    }
    assert page.post("/assistants/new/", entered).status_code == 302
    made = Assistant.objects.get()
    assert (made.owner, made.visibility, made.version) == (owner, "private", 1)
    assert (made.collections, made.workflow) == ([str(notes.pk)], "corrective")
    assert made.options["rewrite"] is False and made.with_own is True
    assert made.filters == {"department": "HR", "tags": ["pay", "leave, paid"]}
    assert made.starters == ["How long is parental leave?", "Who approves it?"]
    shown = page.get(f"/assistants/{made.pk}/").content.decode()
    assert "Use a list." in shown and "Try it" in shown
    assert (
        page.post(f"/assistants/{made.pk}/", entered | {"instructions": "Short."}).status_code
        == 302
    )
    made.refresh_from_db()
    assert (made.instructions, made.version) == ("Short.", 2)
    assert page.post(f"/assistants/{made.pk}/delete/").status_code == 302
    assert not Assistant.objects.exists()


@pytest.mark.parametrize(
    ("entered", "said"),
    [
        ({"name": ""}, "This field is required."),
        ({"name": "Rules"}, "You already have an assistant of this name."),
        ({"name": "a/b"}, "Use letters, digits"),
        ({"name": "New", "instructions": "x" * 4001}, "4000"),
        ({"name": "New", "starters": "1?\n2?\n3?\n4?\n5?"}, "no more than 4"),
        ({"name": "New", "collections": ["None such"]}, "None such"),
        ({"name": "New", "policy_year": "12"}, "1000"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    page: Client, rules: Assistant, entered: dict[str, Any], said: str
) -> None:
    answer = page.post("/assistants/new/", entered)
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert Assistant.objects.count() == 1


def test_whether_the_askers_own_are_searched_is_told_changed_and_copied(
    page: Client, rules: Assistant
) -> None:
    address = f"/api/assistants/{rules.pk}"
    assert sent(page, "get", address).json()["with_own"] is False
    assert sent(page, "patch", address, {"with_own": False}).json()["version"] == 1
    changed = sent(page, "patch", address, {"with_own": True}).json()
    assert (changed["with_own"], changed["version"]) == (True, 2)
    page.post(f"/assistants/{rules.pk}/copy/")
    assert Assistant.objects.get(name="Rules 2").with_own is True


def test_a_question_to_start_with_is_offered_once(page: Client, rules: Assistant) -> None:
    starters = ["How long?", "how  long", "Who?"]
    changed = sent(page, "patch", f"/api/assistants/{rules.pk}", {"starters": starters})
    assert changed.json()["starters"] == ["How long?", "Who?"]


def test_a_stranger_sees_and_changes_nothing_of_a_private_one(rules: Assistant) -> None:
    other = client_of(UserFactory())
    assert "Rules" not in other.get("/assistants/").content.decode()
    for path in ("", "sharing/"):
        assert other.get(f"/assistants/{rules.pk}/{path}").status_code == 404
    for path in ("copy/", "delete/"):
        assert other.post(f"/assistants/{rules.pk}/{path}").status_code == 404
    assert sent(other, "get", f"/api/assistants/{rules.pk}").status_code == 404
    assert sent(other, "get", "/api/assistants").json()["count"] == 0
    assert Client().get("/assistants/").status_code == 302


def test_whom_it_is_shared_with_uses_and_duplicates_it_but_cannot_change_it(
    page: Client, owner: User, rules: Assistant
) -> None:
    ben = UserFactory(username="ben")
    law = Group.objects.create(name="law")
    law.user_set.add(owner, UserFactory(username="cleo"))
    address = f"/assistants/{rules.pk}/sharing/"
    for name in ("ben", "law"):
        assert page.post(address, {"action": "add", "name": name}).status_code == 302
    told = page.post(address, {"action": "add", "name": "be"}).content.decode()
    assert "There is no person or group “be”" in told
    for user in (ben, User.objects.get(username="cleo")):
        reader = client_of(user)
        seen = sent(reader, "get", "/api/assistants/maria%2FRules").json()
        assert (seen["owned"], seen["people"], seen["instructions"]) == (False, [], "Be brief.")
        assert (
            sent(reader, "patch", f"/api/assistants/{rules.pk}", {"name": "X"}).status_code == 403
        )
        assert reader.get(f"/assistants/{rules.pk}/").status_code == 404
    assert client_of(ben).post(f"/assistants/{rules.pk}/copy/").status_code == 302
    assert ben.assistants.get().instructions == "Be brief."
    for name in ("ben", "law"):
        page.post(address, {"action": "remove", "name": name})
    rules.refresh_from_db()
    assert rules.visibility == "private"
    page.post(address, {"action": "publish"})
    rules.refresh_from_db()
    assert rules.visibility == "private"  # that takes a permission
    owner.user_permissions.add(Permission.objects.get(codename="publish_collection"))
    page.post(address, {"action": "publish"})
    assert sent(client_of(UserFactory()), "get", f"/api/assistants/{rules.pk}").status_code == 200


def test_a_copy_has_what_its_owner_may_read_and_says_what_is_left_out(
    owner: User, rules: Assistant
) -> None:
    secret = CollectionFactory(owner=owner, visibility="private", name="secret")
    law = CollectionFactory(owner=owner, visibility="public", name="law")
    ids = [str(secret.pk), str(law.pk)]
    Assistant.objects.filter(pk=rules.pk).update(collections=ids, visibility="public")
    ben = UserFactory(username="ben")
    page = client_of(ben).post(f"/assistants/{rules.pk}/copy/", follow=True).content.decode()
    assert "1 collection that you may not read is left out." in page
    assert str(secret.pk) not in page and "no longer read" not in page
    assert ben.assistants.get().collections == [str(law.pk)]


def test_what_one_may_read_nothing_of_is_not_copied_so_as_to_look_everywhere(
    owner: User, rules: Assistant
) -> None:
    notes = CollectionFactory(owner=owner, visibility="private")
    Assistant.objects.filter(pk=rules.pk).update(collections=[str(notes.pk)], visibility="public")
    ben = UserFactory(username="ben")
    page = client_of(ben).post(f"/assistants/{rules.pk}/copy/", follow=True).content.decode()
    assert "so a copy would look everywhere" in page
    assert not ben.assistants.exists()


def hidden_from(owner: User, rules: Assistant) -> tuple[Any, Any]:
    """It looks into a collection that its owner may read and one that they no longer may."""
    mine = CollectionFactory(owner=owner, visibility="private", name="notes")
    theirs = CollectionFactory(owner=UserFactory(username="eve"), visibility="private", name="hr")
    ids = [str(mine.pk), str(theirs.pk)]
    Assistant.objects.filter(pk=rules.pk).update(collections=ids)
    return mine, theirs


def test_what_the_editor_may_not_read_stays_where_the_api_writes_back_what_it_read(
    page: Client, owner: User, rules: Assistant
) -> None:
    mine, theirs = hidden_from(owner, rules)
    address = f"/api/assistants/{rules.pk}"
    read = sent(page, "get", address).json()
    assert (read["collections"], read["unreadable"]) == (["maria/notes"], 1)
    for collections in (read["collections"], []):
        sent(page, "patch", address, {"collections": collections})
        rules.refresh_from_db()
        assert str(theirs.pk) in rules.collections
    assert str(mine.pk) not in rules.collections
    assert sent(page, "patch", address, {"forget_unreadable": True}).json()["unreadable"] == 0
    rules.refresh_from_db()
    assert rules.collections == []


def test_whether_a_collection_is_there_is_not_to_be_tried_out(
    page: Client, owner: User, rules: Assistant
) -> None:
    hidden_from(owner, rules)
    tried = [
        sent(page, "patch", f"/api/assistants/{rules.pk}", {"collections": [name]})
        for name in ("eve/hr", "eve/none")
    ]
    assert [answer.status_code for answer in tried] == [400, 400]


def test_whether_a_group_is_there_is_not_to_be_tried_out(page: Client, rules: Assistant) -> None:
    Group.objects.create(name="board")
    told = []
    for name in ("board", "nobody"):
        form = {"action": "add", "name": name}
        shown = page.post(f"/assistants/{rules.pk}/sharing/", form).content.decode()
        assert "There is no person or group" in shown
        told.append(shown.count("You are in no group"))
    assert told == [0, 0]
    assert not rules.groups.exists()


@pytest.mark.parametrize("keeps", [True, False])
def test_the_form_keeps_what_is_ticked_and_forgets_what_is_not(
    page: Client, owner: User, rules: Assistant, keeps: bool
) -> None:
    mine, theirs = hidden_from(owner, rules)
    address = f"/assistants/{rules.pk}/"
    assert "A collection that you can no longer read" in page.get(address).content.decode()
    ticked = [str(mine.pk), *([str(theirs.pk)] if keeps else [])]
    assert page.post(address, {"name": "Rules", "collections": ticked}).status_code == 302
    rules.refresh_from_db()
    assert rules.collections == ticked


def test_the_form_keeps_what_it_does_not_offer(
    page: Client, rules: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a browser sends it back: a way that only programs choose, a tag with a comma, more than it lists."""
    monkeypatch.setattr("retrieval.knowledge.choices.CHOICES", 0)
    law = CollectionFactory(owner=rules.owner, visibility="private", name="law")
    made = {
        "workflow": "react",
        "options": {"top_k": 7},
        "filters": {"department": "HR", "tags": ["pay, leave", "b"]},
        "collections": [str(law.pk)],
    }
    Assistant.objects.filter(pk=rules.pk).update(**made)
    address = f"/assistants/{rules.pk}/"
    form = page.get(address).context["form"]
    entered = {name: form[name].value() for name in form.fields}
    entered = {name: value for name, value in entered.items() if value is not None}
    shown = page.get(address).content.decode()
    assert "As it is set now, by a program" in shown and "maria/law" in shown
    assert page.post(address, entered).status_code == 302
    rules.refresh_from_db()
    assert {name: getattr(rules, name) for name in made} == made
    assert rules.version == 1  # nothing has changed
    page.post(address, entered | {"way": ""})
    rules.refresh_from_db()
    assert (rules.workflow, rules.options) == ("", {})


def test_only_a_superuser_sets_the_sites_default_and_only_a_public_one_of_the_site() -> None:
    admin = UserFactory(is_staff=True, is_superuser=True)
    staff = client_of(UserFactory(is_staff=True))
    made = sent(staff, "post", "/api/assistants", {"name": "House", "of_site": True})
    key = made.json()["id"]
    address = f"/assistants/{key}/sharing/"
    root = client_of(admin)
    assert (
        "Only an assistant of the site"
        in root.post(address, {"action": "default"}).content.decode()
    )
    root.post(address, {"action": "publish"})
    staff.post(address, {"action": "default"})
    assert not Assistant.objects.filter(is_default=True).exists()
    root.post(address, {"action": "default"})
    assert Assistant.objects.get(is_default=True).name == "House"
    root.post(address, {"action": "withdraw"})
    assert not Assistant.objects.filter(is_default=True).exists()
    own = sent(client_of(UserFactory()), "post", "/api/assistants", {"name": "X", "of_site": True})
    assert own.status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "New", "collections": ["none"]}, 400),
        ({"name": "New", "workflow": "none"}, 400),
        ({"name": "New", "filters": {"colour": "red"}}, 400),
        ({"name": "New", "starters": ["?"] * 5}, 400),
        ({"name": "New", "visibility": "shared"}, 400),
        ({"name": "New", "visibility": "public"}, 403),
        ({"name": "Rules"}, 409),
        ({}, 400),
    ],
)
def test_the_api_says_what_is_wrong(
    page: Client, rules: Assistant, body: dict[str, Any], status: int
) -> None:
    answer = sent(page, "post", "/api/assistants", body)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]
    assert Assistant.objects.count() == 1


def test_the_api_changes_what_is_named_and_counts_a_version(page: Client, rules: Assistant) -> None:
    path = f"/api/assistants/{rules.pk}"
    assert sent(page, "patch", path, {}).json()["version"] == 1
    assert sent(page, "patch", path, {"description": "Short"}).json()["version"] == 1
    changed = sent(page, "patch", path, {"instructions": "Long."}).json()
    assert (changed["version"], changed["description"]) == (2, "Short")
    assert sent(page, "delete", path).status_code == 204
    assert sent(page, "get", path).status_code == 404


def test_one_that_was_withdrawn_meanwhile_does_not_become_the_default() -> None:
    house = Assistant.objects.create(name="House", visibility="public")
    former = Assistant.objects.create(name="Former", visibility="public", is_default=True)
    root = UserFactory(is_staff=True, is_superuser=True)
    read = Assistant.objects.get(pk=house.pk)
    Assistant.objects.filter(pk=house.pk).update(visibility="private")
    with pytest.raises(ConflictError):
        assistant_make_default(assistant=read, by=root, default=True)
    former.refresh_from_db()
    assert former.is_default
