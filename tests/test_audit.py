"""What staff change, with old and new values: what is kept, what is not, who sees it, and for how long."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from auditlog.models import LogEntry
from celery import current_app
from django.contrib.admin.models import LogEntry as AdminEntry
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.test import AsyncClient, Client
from django.urls import reverse
from django.utils import timezone

from chat.models import DeskEvent, Message
from feedback.curation.curated import CuratedPassage, curated_save
from feedback.models import CuratedAnswer
from ragsite.accounts.personal_data import deletion_start, deletions_do
from ragsite.models import OwnPrompt, Webhook
from ragsite.operations.retention import retention_work
from retrieval.engine.prompting import shipped_prompts
from tests.clients import api_of, client_of, person, sure
from tests.factories import CollectionFactory, MessageFactory, SessionFactory, UserFactory
from tests.feedback.rated import passage

pytestmark = pytest.mark.django_db
LOG = "/administration/log/"


@pytest.fixture
def root() -> User:
    user: User = UserFactory(username="root", is_staff=True, is_superuser=True)
    return user


def page(user: User, query: str = "") -> str:
    response = client_of(user).get(f"{LOG}{query}")
    assert response.status_code == 200
    return str(response.content.decode())


def of(user: User) -> dict[str, str]:
    return {"content_type__app_label": "auth", "object_pk": str(user.pk)}


def renamed(client: Client, group: Group, name: str) -> None:
    address = reverse("admin:auth_group_change", args=[group.pk])
    assert client.post(address, {"name": name}).status_code == 302


def test_a_change_is_shown_with_who_made_it_and_what_was_before(root: User) -> None:
    group = Group.objects.create(name="Library")
    renamed(client_of(root), group, "Libraries")
    entry = LogEntry.objects.get()
    assert (entry.actor, entry.changes) == (root, {"name": ["Library", "Libraries"]})
    html = page(root)
    assert "<del>Library</del>" in html and "<ins>Libraries</ins>" in html
    assert html.count("Libraries") == 2  # what the admin itself wrote of it is not shown beside it
    assert "remote_addr" not in html and entry.remote_addr is None and entry.actor_email is None


def test_a_given_up_name_is_forgotten_of_its_time_and_stays_with_who_bears_it_now(
    root: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_app, "send_task", lambda *_, **__: None)
    leaver, client = UserFactory(username="mei"), sure(root)

    def share(name: str) -> str:
        """Collection of that name; shared with whoever is called mei now."""
        collection = CollectionFactory(owner=root, name=name)
        body = {"people": [{"username": "mei", "role": "reader"}], "visibility": "shared"}
        address = f"/api/collections/{collection.pk}"
        assert client.patch(address, body, content_type="application/json").status_code == 200
        by = {"by": root, "by_name": "root", "kind": "assignee"}
        DeskEvent.objects.create(**by, detail={"from": None, "to": "mei", "of": name})
        curated = {"id": str(uuid4()), "by": "mei", "on": "2026-01-01"}
        MessageFactory(curated=curated, text=name)
        return str(collection.pk)

    share("before")
    fields = {
        "username": "mei-lin",
        "is_active": "on",
        "date_joined_0": leaver.date_joined.strftime("%Y-%m-%d"),
        "date_joined_1": leaver.date_joined.strftime("%H:%M:%S"),
    }
    renaming = client.post(reverse("admin:auth_user_change", args=[leaver.pk]), fields)
    assert renaming.status_code == 302
    UserFactory(username="mei")
    share("after")
    leaver.refresh_from_db()
    deletion_start(user=leaver)
    deletions_do()
    assert not User.objects.filter(pk=leaver.pk).exists()
    logged = [str(row) for row in LogEntry.objects.values_list("changes", flat=True)]
    assert sum("mei" in row for row in logged) == 1
    events = DeskEvent.objects.filter(kind="assignee").values_list("detail", flat=True)
    assert {event["of"]: event["to"] for event in events} == {"before": "–", "after": "mei"}
    given = Message.objects.filter(curated__isnull=False).values_list("text", "curated__by")
    assert dict(given) == {"before": "–", "after": "mei"}


def test_what_one_request_changes_of_one_thing_is_one_line(root: User) -> None:
    group = Group.objects.create(name="Library")
    user = UserFactory(username="mei")
    fields = {
        "username": "mei-lin",
        "groups": [group.pk],
        "date_joined_0": "2026-01-01",
        "date_joined_1": "10:00",
    }
    address = reverse("admin:auth_user_change", args=[user.pk])
    assert client_of(root).post(address, fields).status_code == 302
    assert LogEntry.objects.filter(**of(user)).count() == 2
    html = page(root, "?kind=people&by=root")
    assert html.count("<tr>") == 2  # with the head
    assert "mei-lin" in html and "<ins>Library</ins>" in html


def test_secrets_are_masked_or_left_out(root: User, settings: Any) -> None:
    client = sure(root)
    hook = {"name": "hook", "url": "https://hooks.example.org/a", "events": ["document.ready"]}
    assert client.post(reverse("admin:ragsite_webhook_add"), hook).status_code == 302
    made = LogEntry.objects.get(content_type__model="webhook")
    assert made.changes["secret"] == ["", "•••"] or made.changes["secret"] == ["•••", "•••"]
    assert Webhook.objects.get().secret not in str(made.changes)
    user = UserFactory()
    address = reverse("admin:auth_user_password_change", args=[user.pk])
    client.post(
        address,
        {"password1": "long-Enough-4u", "password2": "long-Enough-4u", "usable_password": "true"},
    )
    user.refresh_from_db()
    changed = LogEntry.objects.get(**of(user))
    assert changed.changes == {"password": ["•••", "•••"]}


def test_a_stored_key_of_the_model_server_is_masked(root: User) -> None:
    from constance.models import Constance

    from ragsite.web.acting_request import acting_request

    request = type("Request", (), {"user": root, "META": {}})()
    token = acting_request.set(request)
    try:
        Constance.objects.create(key="RAG_MODEL_KEY", value='"sealed"')
        Constance.objects.create(
            key="RAG_CHAT_MODEL", value='{"__type__": "default", "__value__": "m"}'
        )
    finally:
        acting_request.reset(token)
    html = page(root, "?kind=settings")
    assert "sealed" not in html and "•••" in html and "<ins>m</ins>" in html


def test_prompts_and_checked_answers_are_kept_by_page_and_by_key(root: User) -> None:
    name = next(iter(shipped_prompts()))
    prompt = OwnPrompt.objects.create(name=name, text="Old\n---\nOld")
    client_of(root).post(
        reverse("admin:ragsite_ownprompt_delete", args=[prompt.pk]), {"post": "yes"}
    )
    assert LogEntry.objects.get(content_type__model="ownprompt").action == LogEntry.Action.DELETE
    chunk = passage("Ten books.")
    shown = CuratedPassage(chunk.document_id, "Rules", chunk.text)
    answer = curated_save(by=root, question="How many?", text="Ten [1].", passages=[shown])
    assert not LogEntry.objects.filter(content_type__model="curatedanswer").exists()
    curator = person("Curators", username="mei")
    client_of(curator).post(reverse("review_curated_withdraw", args=[answer.pk]))
    entry = LogEntry.objects.get(content_type__model="curatedanswer")
    assert entry.actor == curator and list(entry.changes) == ["ended_at"]


def test_an_import_is_one_entry(root: User) -> None:
    chunk = passage(
        "Ten books.",
        collection=CollectionFactory(owner=None, name="library"),
        title="Rules",
        status="ready",
    )
    api = api_of(root)
    body = f"question,answer,collection_1,document_1,passage_1\nMany?,So [1].,library,Rules,{chunk.text}\n"
    made = api.post("/api/review/curated", body.encode(), content_type="text/csv").json()
    api.post(f"/api/review/imports/{made['id']}", {"action": "confirm"})
    assert CuratedAnswer.objects.count() == 1 and not LogEntry.objects.exists()
    assert "Checked answers · New: 1" in page(root)


def test_what_changed_is_said_in_the_words_of_the_pages(root: User) -> None:
    collection = CollectionFactory(owner=root, name="library", visibility="private")
    api_of(root).patch(f"/api/collections/{collection.pk}", {"visibility": "public"})
    chunk = passage("Ten books.")
    answer = curated_save(
        by=root,
        question="How many?",
        text="Ten [1].",
        passages=[CuratedPassage(chunk.document_id, "Rules", chunk.text)],
    )
    client_of(root).post(reverse("review_curated_withdraw", args=[answer.pk]))
    html = page(root)
    assert "Visibility" in html and "<del>No</del>" in html and "<ins>Yes</ins>" in html
    assert "Checked answer: " in html


def test_a_change_of_role_is_one_entry_with_both_sides(root: User) -> None:
    group = Group.objects.create(name="Library")
    user = UserFactory(username="mei")
    fields = {"action": "change", "role": "Curators", "groups": [group.pk]}
    assert sure(root).post(f"/administration/people/{user.pk}/", fields).status_code == 302
    assert not LogEntry.objects.filter(**of(user)).exists()
    assert "Role: User → Curator · Groups: – → Library" in page(root)


def test_people_who_are_no_staff_and_commands_leave_nothing(root: User) -> None:
    user = UserFactory()
    client = client_of(user)
    response = client.post("/api/collections", {"name": "mine"}, content_type="application/json")
    assert response.status_code == 201
    SessionFactory(user=user)
    Group.objects.create(name="made by a command")
    assert not LogEntry.objects.exists()
    created = client_of(root).post(
        "/api/collections", {"name": "theirs"}, content_type="application/json"
    )
    assert created.status_code == 201
    assert LogEntry.objects.get().object_repr == "theirs"


def test_a_change_of_a_field_or_table_that_is_gone_is_shown_as_it_was(root: User) -> None:
    renamed(client_of(root), Group.objects.create(name="Library"), "Libraries")
    entry = LogEntry.objects.get()
    entry.changes = {"nickname": ["Lib", "Libs"]}
    entry.save()
    assert "<ins>Libs</ins>" in page(root)
    ContentType.objects.filter(pk=entry.content_type_id).update(model="gone")
    ContentType.objects.clear_cache()
    assert "<ins>Libs</ins>" in page(root)


def test_the_values_are_for_superusers_alone(root: User) -> None:
    renamed(client_of(root), Group.objects.create(name="Library"), "Libraries")
    desk = person("Administrators")
    html = page(desk)
    assert "<del>Library" not in html and "Libraries" in html  # as the admin wrote it
    assert "Only superusers see old and new values." in html
    assert client_of(person("Curators")).get(LOG).status_code == 403
    assert client_of(UserFactory()).get(LOG).status_code == 404
    assert client_of(root).get(reverse("admin:index")).status_code == 200
    assert client_of(root).get("/admin/auditlog/logentry/").status_code == 404


def test_the_log_is_filtered_by_person_kind_and_time(root: User) -> None:
    other = UserFactory(username="other", is_staff=True, is_superuser=True)
    renamed(client_of(root), Group.objects.create(name="A"), "by-root")
    renamed(client_of(other), Group.objects.create(name="B"), "by-other")
    LogEntry.objects.filter(actor=other).update(timestamp=timezone.now() - timedelta(days=40))
    assert "by-other" not in page(root, "?by=root") and "by-root" in page(root, "?by=root")
    assert "by-root" not in page(root, "?kind=webhooks")
    day = timezone.localdate() - timedelta(days=30)
    assert "by-other" not in page(root, f"?since={day}")
    old = page(root, f"?until={day}")
    assert "by-other" in old and "by-root" not in old
    for wrong in ("?since=yesterday", "?kind=nothing", f"?by={'x' * 151}"):
        assert client_of(root).get(f"{LOG}{wrong}").status_code == 400
    assert client_of(root).get(f"{LOG}?who=root").status_code == 400


@pytest.mark.django_db(transaction=True)
async def test_the_log_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces, with the filters of the page; no cell is a formula."""
    monkeypatch.setattr("ragsite.administration.log_pages.ENTRIES_AT_ONCE", 1)
    root = await sync_to_async(UserFactory)(username="=root", is_staff=True, is_superuser=True)
    group = await Group.objects.acreate(name="A")
    client = AsyncClient()
    await client.aforce_login(root)
    for name in ("B", "C"):
        address = reverse("admin:auth_group_change", args=[group.pk])
        assert (await client.post(address, {"name": name})).status_code == 302
    response = await client.get(f"{LOG}export/?kind=people")
    content = b"".join([piece async for piece in response.streaming_content]).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(content)))
    assert [row["changes"] for row in rows] == ["Name: B → C", "Name: A → B"]
    assert rows[0]["by"] == "'=root" and rows[0]["kind"] == "people"
    refused = await client.get(f"{LOG}export/?kind=nothing")
    assert refused.status_code == 302


def test_who_leaves_is_named_no_more(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_app, "send_task", lambda *_, **__: None)
    leaver = UserFactory(username="leaver", email="l@example.org", is_staff=True, is_superuser=True)
    renamed(client_of(leaver), Group.objects.create(name="A"), "B")
    fields = {
        "username": "leaver",
        "email": "x@example.org",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "10:00",
        "is_active": "on",
    }
    client_of(root).post(reverse("admin:auth_user_change", args=[leaver.pk]), fields)
    leaver.refresh_from_db()
    deletion_start(user=leaver)
    deletions_do()
    assert LogEntry.objects.count() == 2 and not LogEntry.objects.filter(actor__username="leaver")
    kept = str(list(LogEntry.objects.values("object_repr", "changes", "actor_email")))
    assert "leaver" not in kept and "example.org" not in kept
    AdminEntry.objects.all().delete()
    assert "leaver" not in page(root)


@pytest.mark.parametrize("name", ["张三", "o'neill-\"x", "leaver"])
def test_names_of_any_script_and_those_before_a_renaming_are_forgotten(
    root: User, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(current_app, "send_task", lambda *_, **__: None)
    leaver = UserFactory(username="before", is_staff=True)
    collection = CollectionFactory(owner=root, name="shared")
    client = sure(root)
    person_of = {"content_type__model": "collectionperson"}
    shared = {"people": [{"username": "before", "role": "reader"}], "visibility": "shared"}
    changed = client.patch(
        f"/api/collections/{collection.pk}", shared, content_type="application/json"
    )
    assert changed.status_code == 200, changed.content
    fields = {
        "username": "after",
        "is_staff": "on",
        "is_active": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "10:00",
    }
    address = reverse("admin:auth_user_change", args=[leaver.pk])
    assert client.post(address, fields).status_code == 302
    User.objects.filter(pk=leaver.pk).update(username=name)
    budget = {"action": "set", "subject": "user", "name": name, "day": "5", "month": ""}
    assert client.post("/administration/budgets/", budget).status_code == 302
    group = Group.objects.create(name="Library")
    renamed(client, group, name)
    assert LogEntry.objects.filter(**person_of).exists()
    leaver.refresh_from_db()
    deletion_start(user=leaver)
    deletions_do()
    assert not User.objects.filter(pk=leaver.pk).exists()
    kept = list(LogEntry.objects.values_list("object_repr", "changes"))
    admins = list(
        AdminEntry.objects.exclude(content_type__model="group").values_list("object_repr")
    )
    for gone in ("before", name):
        assert gone not in repr(kept) and json.dumps(gone) not in json.dumps(kept)
        assert gone not in repr(admins)


def test_what_an_administrator_did_stays_when_the_account_is_deleted(
    root: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_app, "send_task", lambda *_, **__: None)
    leaver = UserFactory(username="leaver", is_staff=True, is_superuser=True)
    client = sure(leaver)
    promoted = UserFactory(username="mei")
    role = {"action": "change", "role": "Curators"}
    assert client.post(f"/administration/people/{promoted.pk}/", role).status_code == 302
    budget = {"action": "set", "subject": "each", "name": "", "day": "5", "month": ""}
    assert client.post("/administration/budgets/", budget).status_code == 302
    renamed(client, Group.objects.create(name="Library"), "Libraries")
    before = page(root)
    deletion_start(user=leaver)
    deletions_do()
    html = page(root)
    assert "leaver" in before and "leaver" not in html
    for said in ("Role: User → Curator", "Tokens a day: 5; a month: –", "<ins>Libraries</ins>"):
        assert before.count(said) == html.count(said) == 1
    assert "Role: User → Curator" in page(root, "?kind=people")
    assert html.count("<tr>") == before.count("<tr>")


def test_it_is_kept_as_long_as_the_log_of_the_desk(root: User, rag_settings: Any) -> None:
    renamed(client_of(root), Group.objects.create(name="A"), "B")
    renamed(client_of(root), Group.objects.get(name="B"), "C")
    LogEntry.objects.filter(changes__name=["A", "B"]).update(
        timestamp=timezone.now() - timedelta(days=31)
    )
    rag_settings(retention={"desk_log_days": 30})
    assert ("audit_log", 1) in list(retention_work())
    assert LogEntry.objects.get().changes == {"name": ["B", "C"]}


def test_assistants_of_the_site_are_named_and_those_of_people_are_not(root: User) -> None:
    client = client_of(root)
    address = "/api/assistants"
    house = client.post(
        address, {"name": "House", "of_site": True}, content_type="application/json"
    ).json()["id"]
    client.post(address, {"name": "Mine"}, content_type="application/json")
    client.patch(
        f"{address}/{house}",
        {"instructions": "Be brief.", "visibility": "public"},
        content_type="application/json",
    )
    client.post(f"/assistants/{house}/sharing/", {"action": "default"})
    html = page(root, "?kind=assistants")
    assert "House" in html and "Mine" not in html
    assert "<ins>Be brief.</ins>" in html and "<ins>Yes</ins>" in html
    client.delete(f"{address}/{house}")
    assert "Deleted" in page(root, "?kind=assistants")
    assert not LogEntry.objects.filter(object_repr="Mine").exists()
