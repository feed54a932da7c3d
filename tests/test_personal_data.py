"""All that is a person's: given out as a file to its owner alone, and deleted to the last row."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from asgiref.sync import sync_to_async
from celery import current_app
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.files.base import ContentFile
from django.db.models import ForeignKey, OneToOneField, QuerySet
from django.test import AsyncClient, Client

from chat.models import Message, Session
from feedback.curation.curated import CuratedPassage, curated_save
from feedback.models import (
    Evidence,
    GapRequest,
    GoldenQuestion,
    KnowledgeGap,
    ManualBoost,
    RatedPassage,
    RatedQuestion,
    Rating,
)
from ragsite.accounts import personal_data
from ragsite.accounts.personal_data import deletion_start, deletions_do, export_file
from ragsite.models import Account, ApiToken, Notification, NotificationPreference
from retrieval.models import Collection, Document, Memory, SamplePreference
from tests.clients import browser, sure
from tests.factories import (
    PASSWORD,
    ChunkFactory,
    CollectionFactory,
    DecisionStepFactory,
    DocumentFactory,
    MemoryFactory,
    MessageFactory,
    RatingFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
    answered,
)

pytestmark = pytest.mark.django_db
# What an account did for others, or is part of, and which is not given out: stays without it, or goes with it.
NOT_OWNED = {
    "admin.LogEntry.user",
    "auditlog.LogEntry.actor",
    "auth.User_groups.user",
    "auth.User_user_permissions.user",
    "chat.AnswerReview.assignee",
    "chat.AnswerReview.state_by",
    "chat.AnswerReview.user",  # a copy of what is in the answer
    "chat.Assistant_people.user",
    "feedback.CuratedAnswer.created_by",
    "feedback.CuratedAnswer.ended_by",
    "feedback.GapDocument.added_by",
    "feedback.GapRequest.ended_by",
    "feedback.GoldenQuestion.created_by",
    "feedback.KnowledgeGap.assignee",
    "feedback.KnowledgeGap.state_by",
    "feedback.ManualBoost.created_by",
    "feedback.ManualBoost.ended_by",
    "feedback.Revision.live_by",
    "feedback.Revision.made_by",
    "retrieval.CollectionPerson.user",
    "retrieval.DocumentChange.by",
    "retrieval.Document.reviewed_by",
    "retrieval.IngestJob.user",
    "retrieval.ShareReply.user",
}
FILE = b"# Fees\n\nThe deposit is EUR 300.\n"


@pytest.fixture(autouse=True)
def site(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> list[str]:
    """Files in a folder of their own; messages to the worker are collected, not sent."""
    settings.MEDIA_ROOT = tmp_path / "uploads"
    sent: list[str] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, *_, **__: sent.append(name))
    return sent


def person(**values: Any) -> User:
    """Somebody with a row of every kind."""
    user: User = UserFactory(**values)
    Account.objects.create(user=user)
    EmailAddress.objects.create(
        user=user, email=f"{user.pk}@example.org", verified=True, primary=True
    )
    answer = answered(session=SessionFactory(user=user, title="图书馆 fees / deposit"))
    SourceFactory(message=answer, marker=1)
    DecisionStepFactory(message=answer, seq=1)
    rating = RatingFactory(message=answer, user=user, comment="too old")
    document = stored_document(
        CollectionFactory(owner=user, visibility="private", name="mine"), uploaded_by=user
    )
    rated = RatedQuestion.objects.create(signature=f"s{user.pk}", text="What is the deposit?")
    passage = RatedPassage.objects.create(document=stored_document(), content_hash="h")
    Evidence.objects.create(
        rating=rating,
        question=rated,
        passage=passage,
        voter=user,
        weight=1,
        document_weight=0.5,
        day=1,
    )
    ChunkFactory(document=document)
    MemoryFactory(user=user)
    GapRequest.objects.create(
        gap=KnowledgeGap.objects.create(),
        message=answer,
        asker=user,
        question="What is the deposit?",
        key="k",
        sent_to="curators",
    )
    SamplePreference.objects.create(user=user, left_out=True)
    Notification.objects.create(
        user=user, kind=Notification.Kind.DOCUMENT_FAILED, subject=str(document.pk)
    )
    NotificationPreference.objects.create(user=user, emailed=["document.failed"])
    ApiToken.objects.create(user=user, name="laptop", prefix="abcdefgh", key_hash=str(user.pk))
    return user


def stored_document(collection: Collection | None = None, **values: Any) -> Document:
    document: Document = DocumentFactory(
        collection=collection or CollectionFactory(), file_name="fees.md", **values
    )
    document.file.save("fees.md", ContentFile(FILE))
    return document


def archive_of(user: User) -> zipfile.ZipFile:
    with export_file(user) as file:
        return zipfile.ZipFile(io.BytesIO(file.read()))


# ------------------------------------------------------------------------------------------------ export
def test_an_export_holds_every_kind_of_row_and_the_files_as_uploaded() -> None:
    user, other = person(), person()
    browser(user)
    archive = archive_of(user)
    assert archive.testzip() is None
    names = archive.namelist()
    assert len(names) == len(set(names)) and not any(
        name.startswith("/") or ".." in name for name in names
    )
    read = {name: json.loads(archive.read(name)) for name in names if name.endswith(".json")}
    question, answer = sorted(read["chat/message.json"], key=lambda row: row["created_at"])
    assert (
        question["text"]
        and answer["text"]
        and read["chat/source.json"][0]["text"]
        and read["chat/decisionstep.json"]
    )
    assert (
        read["feedback/rating.json"][0]["comment"] == "too old" and read["feedback/evidence.json"]
    )
    assert read["retrieval/samplepreference.json"][0]["left_out"] is True
    assert read["feedback/gaprequest.json"][0]["question"] == "What is the deposit?"
    assert read["retrieval/memory.json"] and read["ragsite/apitoken.json"][0]["name"] == "laptop"
    assert (
        read["auth/user.json"][0]["username"] == user.username
        and read["usersessions/usersession.json"]
    )
    (file,) = (name for name in names if name.startswith("documents/"))
    assert archive.read(file) == FILE
    everything = b"".join(archive.read(name) for name in names).decode()
    assert other.username not in everything and user.password not in everything
    assert not any(
        key in everything for key in UserSession.objects.values_list("session_key", flat=True)
    )


@pytest.mark.django_db(transaction=True)
async def test_an_export_comes_in_pieces_to_its_owner_alone(async_client: AsyncClient) -> None:
    user = await sync_to_async(person)()
    assert (await async_client.post("/accounts/export/")).status_code == 302
    await async_client.aforce_login(user)
    assert (await async_client.get("/accounts/export/")).status_code == 405
    response = await async_client.post("/accounts/export/")
    assert response.status_code == 200 and response.headers["Content-Disposition"].startswith(
        "attachment"
    )
    archive = zipfile.ZipFile(
        io.BytesIO(b"".join([piece async for piece in response.streaming_content]))
    )
    assert json.loads(archive.read("auth/user.json"))[0]["username"] == user.username


def test_every_table_that_names_an_account_is_given_out_or_known_not_to_be() -> None:
    named = set()
    for relation in User._meta.get_fields(include_hidden=True):
        field = getattr(relation, "field", None)
        if relation.auto_created and isinstance(field, ForeignKey | OneToOneField):
            named.add(f"{field.model._meta.label}.{field.name}")
    owned = {f"{label}.{way}" for way, labels in personal_data.OWNED.items() for label in labels}
    assert named - owned == NOT_OWNED


def test_an_export_holds_replies_to_others_but_nothing_else_of_their_questions() -> None:
    mei, tom = UserFactory(username="mei"), UserFactory(username="tom")
    request = GapRequest.objects.create(
        gap=KnowledgeGap.objects.create(),
        message=answered("Where is the gate?", session=SessionFactory(user=tom)),
        asker=tom,
        question="Where is the gate?",
        key="k",
        remark="I am Tom.",
        sent_to="curators",
        state="answered",
        reply="By the river.",
        ended_by=mei,
    )
    archive = archive_of(mei)
    (row,) = json.loads(archive.read("feedback/reply.json"))
    assert (row["id"], row["reply"]) == (str(request.pk), "By the river.")
    everything = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert "I am Tom." not in everything and "tom" not in everything


def test_an_export_holds_the_test_questions_that_the_person_wrote_and_no_words_of_others() -> None:
    mei, tom = UserFactory(username="mei"), UserFactory(username="tom")
    collection = CollectionFactory()
    for by, text, from_answer in (
        (mei, "Who opens the gate?", False),
        (mei, "Where did I lose my umbrella?", True),
        (tom, "When is the pool closed?", False),
    ):
        GoldenQuestion.objects.create(
            text=text, collection=collection, created_by=by, from_answer=from_answer
        )
    rows = json.loads(archive_of(mei).read("feedback/goldenquestion.json"))
    assert [row["text"] for row in rows] == ["Who opens the gate?"]


def test_an_export_holds_checked_answers_and_reasons_of_rank_changes_that_the_person_wrote() -> (
    None
):
    mei, tom = UserFactory(username="mei"), UserFactory(username="tom")
    chunk = ChunkFactory()
    for by, text in ((mei, "By the river [1]."), (tom, "By the hill [1].")):
        curated_save(
            by=by,
            question=f"Where is the gate of {by.username}?",
            text=text,
            passages=[CuratedPassage(chunk.document_id, "Gates", chunk.text)],
        )
        ManualBoost.objects.create(
            document=stored_document(), created_by=by, why=f"{by.username} read it"
        )
    archive = archive_of(mei)
    answers = json.loads(archive.read("feedback/curatedanswer.json"))
    boosts = json.loads(archive.read("feedback/manualboost.json"))
    assert [row["text"] for row in answers] == ["By the river [1]."]
    assert [row["why"] for row in boosts] == ["mei read it"]


# ------------------------------------------------------------------------------------------------ deletion
def rows_of(user_id: int) -> dict[str, int]:
    """Table → rows that name this account, over all tables of the site."""
    found = {}
    for relation in User._meta.get_fields(include_hidden=True):
        field = getattr(relation, "field", None)
        if relation.auto_created and isinstance(field, ForeignKey | OneToOneField):
            count = field.model._default_manager.filter(**{field.attname: user_id}).count()
            found |= {f"{field.model.__name__}.{field.name}": count} if count else {}
    return found


def test_a_deletion_leaves_no_row_that_names_the_account_and_no_file() -> None:
    user, other = person(), person()
    client, kept = sure(user), rows_of(other.pk)
    own_file = Path(Document.objects.get(collection__owner=user).file.path)
    assert "Your conversations" in client.get("/accounts/delete/").content.decode()
    done = client.post("/accounts/delete/")
    assert done.status_code == 200 and "Your account is closed" in done.content.decode()
    assert client.get("/accounts/").status_code == 302
    assert not Client().login(username=user.username, password=PASSWORD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda work, **_: work())
        assert deletions_do() == 1
    assert rows_of(user.pk) == {} and not User.objects.filter(pk=user.pk).exists()
    assert not own_file.exists()
    assert list(RatedQuestion.objects.values_list("signature", flat=True)) == [f"s{other.pk}"]
    assert rows_of(other.pk) == kept


def test_a_deletion_goes_in_small_steps_and_goes_on_where_it_was_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = person()
    MessageFactory.create_batch(7, session=SessionFactory(user=user))
    monkeypatch.setitem(personal_data.ERASED, "chat.Message", 2)
    deletion_start(user=user)
    before, delete = Message.objects.count(), QuerySet.delete

    def killed(rows: QuerySet[Any]) -> Any:
        if Message.objects.count() < before:
            raise SystemExit
        return delete(rows)

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(QuerySet, "delete", killed)
        deletions_do()
    assert 0 < Message.objects.count() < before
    assert deletions_do() == 1
    assert not User.objects.filter(pk=user.pk).exists() and not Message.objects.exists()


def test_the_password_is_asked_for_first() -> None:
    user = person()
    client = browser(user)
    for answer in (client.get("/accounts/delete/"), client.post("/accounts/delete/")):
        assert answer.headers["Location"].startswith("/accounts/reauthenticate/")
    client.post("/accounts/reauthenticate/", {"password": "guess"})
    assert client.post("/accounts/delete/").status_code == 302
    assert User.objects.get(pk=user.pk).is_active


def test_the_last_administrator_stays() -> None:
    first, second = UserFactory(is_superuser=True), UserFactory(is_superuser=True, is_active=False)
    client = sure(first)
    assert "last administrator" in client.post("/accounts/delete/").content.decode()
    assert User.objects.get(pk=first.pk).is_active
    User.objects.filter(pk=second.pk).update(is_active=True)
    assert "is closed" in client.post("/accounts/delete/").content.decode()


def test_what_was_done_for_others_stays_without_the_name() -> None:
    user = person()
    given = stored_document(uploaded_by=user)
    golden = GoldenQuestion.objects.create(
        text="What is the deposit?",
        collection=given.collection,
        message=Message.objects.filter(role="assistant").first(),
    )
    deletion_start(user=user)
    deletions_do()
    given.refresh_from_db()
    golden.refresh_from_db()
    assert given.uploaded_by is None and golden.message is None and Path(given.file.path).exists()


def test_a_checked_answer_loses_the_name_though_another_curator_has_changed_it_since() -> None:
    mei = UserFactory(username="mei", first_name="Mei", last_name="Lam")
    chunk = ChunkFactory()
    checked = curated_save(
        by=UserFactory(),
        question="Where is the gate?",
        text="By the river [1].",
        passages=[CuratedPassage(chunk.document_id, "Gates", chunk.text)],
    )
    given = MessageFactory(curated={"id": str(checked.pk), "by": "Mei Lam", "on": "2026-01-01"})
    other = MessageFactory(curated={"id": str(checked.pk), "by": "Tom", "on": "2026-01-02"})
    deletion_start(user=mei)
    deletions_do()
    given.refresh_from_db()
    other.refresh_from_db()
    assert (given.curated["by"], other.curated["by"]) == ("–", "Tom")


def test_a_full_name_that_somebody_else_bears_too_stays_but_for_their_own_answers() -> None:
    mei = UserFactory(username="mei", first_name="Mei", last_name="Lam")
    UserFactory(username="mei2", first_name="Mei", last_name="Lam")
    chunk = ChunkFactory()
    passages = [CuratedPassage(chunk.document_id, "Gates", chunk.text)]
    own = curated_save(by=mei, question="Where is it?", text="Here [1].", passages=passages)
    theirs = MessageFactory(curated={"id": str(own.pk), "by": "Mei Lam", "on": "2026-01-01"})
    other = MessageFactory(curated={"id": str(uuid4()), "by": "Mei Lam", "on": "2026-01-01"})
    deletion_start(user=mei)
    deletions_do()
    theirs.refresh_from_db()
    other.refresh_from_db()
    assert (theirs.curated["by"], other.curated["by"]) == ("–", "Mei Lam")


def test_who_had_checked_an_answer_before_stays_named() -> None:
    tom, mei = UserFactory(username="tom"), UserFactory(username="mei")
    chunk = ChunkFactory()
    passages = [CuratedPassage(chunk.document_id, "Gates", chunk.text)]
    checked = curated_save(by=mei, question="Where is it?", text="Here [1].", passages=passages)
    given = MessageFactory(curated={"id": str(checked.pk), "by": tom.username, "on": "2026-01-01"})
    deletion_start(user=mei)
    deletions_do()
    given.refresh_from_db()
    assert given.curated["by"] == "tom"


# ------------------------------------------------------------------------------------------------ staff
def test_staff_give_out_and_delete_a_persons_data_and_the_log_says_who_did() -> None:
    user, admin = person(), UserFactory(is_superuser=True, is_staff=True)
    client = browser(admin)
    export = {"action": "export_data", "_selected_action": [user.pk]}
    archive = client.post("/admin/auth/user/", export)
    assert archive.streaming and archive.headers["Content-Type"] == "application/zip"
    archive._resource_closers[0]()  # the file
    address = f"/admin/auth/user/{user.pk}/delete/"
    assert user.username in client.get(address).content.decode()
    client.post(address, {"post": "yes"})
    assert not User.objects.get(pk=user.pk).is_active
    deletions_do()
    assert not Session.objects.filter(user=user.pk).exists() and not Memory.objects.exists()
    log = LogEntry.objects.filter(object_id=str(user.pk)).order_by("pk")
    assert [(entry.user_id, entry.object_repr) for entry in log] == [(admin.pk, "")] * 2, (
        "by whom, not whose"
    )
    assert not Rating.objects.exists()


def test_an_export_is_of_one_person() -> None:
    people = [person(), person()]
    export = {"action": "export_data", "_selected_action": [user.pk for user in people]}
    page = browser(UserFactory(is_superuser=True, is_staff=True)).post(
        "/admin/auth/user/", export, follow=True
    )
    assert "Choose one person" in page.content.decode()


def test_staff_delete_several_but_not_the_last_administrator() -> None:
    admin, people = UserFactory(is_superuser=True, is_staff=True), [person(), person()]
    client = browser(admin)
    delete = {"action": "delete_selected", "post": "yes"}
    ids = [user.pk for user in people]
    for address, form in (
        ("/admin/auth/user/", {**delete, "_selected_action": [*ids, admin.pk]}),
        (f"/admin/auth/user/{admin.pk}/delete/", {"post": "yes"}),
    ):
        assert "last administrator" in client.post(address, form).content.decode()
    assert User.objects.filter(is_active=True).count() == 3 and not LogEntry.objects.exists()
    client.post("/admin/auth/user/", {**delete, "_selected_action": ids})
    assert deletions_do() == 2
    assert User.objects.get().is_active


def test_staff_without_the_permission_may_not() -> None:
    user = person()
    staff = UserFactory(is_staff=True)
    staff.user_permissions.add(
        *Permission.objects.filter(codename__in=["view_user", "change_user", "delete_user"])
    )
    export = {"action": "export_data", "_selected_action": [user.pk]}
    assert not browser(staff).post("/admin/auth/user/", export).streaming
    assert browser(staff).get(f"/admin/auth/user/{user.pk}/delete/").status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="handle_personal_data"))
    assert browser(staff).get(f"/admin/auth/user/{user.pk}/delete/").status_code == 200


def test_only_an_administrator_exports_or_deletes_an_administrator() -> None:
    _, admin = UserFactory(is_superuser=True), UserFactory(is_superuser=True)
    staff = UserFactory(is_staff=True)
    permissions = ["view_user", "handle_personal_data"]
    staff.user_permissions.add(*Permission.objects.filter(codename__in=permissions))
    client, chosen = browser(staff), {"_selected_action": [admin.pk]}
    for address, form in (
        ("/admin/auth/user/", {"action": "export_data", **chosen}),
        ("/admin/auth/user/", {"action": "delete_selected", "post": "yes", **chosen}),
        (f"/admin/auth/user/{admin.pk}/delete/", {"post": "yes"}),
    ):
        assert client.post(address, form).status_code == 403
    admin.refresh_from_db()
    assert admin.is_active and not LogEntry.objects.exists()
