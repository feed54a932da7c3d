"""All that is a person's: given out as a file to its owner alone, and deleted to the last row."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from celery import current_app
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core import mail
from django.core.files.base import ContentFile
from django.db.models import ForeignKey, OneToOneField
from django.test import Client
from django.utils import timezone

from chat.models import Message, Session
from chat.services import personal_data as chat_data
from feedback.models import Evidence, GoldenQuestion, RatedPassage, RatedQuestion, Rating
from ragsite.accounts import personal_data_jobs
from ragsite.accounts.letters import letter_deliver
from ragsite.accounts.personal_data_jobs import (
    deletion_start,
    export_start,
    personal_data_purge,
    personal_data_take_next,
)
from ragsite.models import Account, ApiToken, PersonalDataJob
from retrieval.models import Collection, Document, Memory
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
)

pytestmark = pytest.mark.django_db
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
    Account.objects.create(user=user, language="en", theme="dark")
    EmailAddress.objects.create(user=user, email=f"{user.pk}@example.org", verified=True, primary=True)
    session = SessionFactory(user=user, title="图书馆 fees / deposit")
    question = MessageFactory(session=session, question=True)
    answer = MessageFactory(session=session, reply_to=question)
    SourceFactory(message=answer, marker=1)
    DecisionStepFactory(message=answer, seq=1)
    rating = RatingFactory(message=answer, user=user, comment="too old")
    document = stored_document(CollectionFactory(owner=user, visibility="private", name="mine"), uploaded_by=user)
    rated = RatedQuestion.objects.create(signature=f"s{user.pk}", text="What is the deposit?")
    passage = RatedPassage.objects.create(document=stored_document(), content_hash="h")
    Evidence.objects.create(
        rating=rating, question=rated, passage=passage, voter=user, weight=1, document_weight=0.5, day=1
    )
    ChunkFactory(document=document)
    MemoryFactory(user=user)
    ApiToken.objects.create(user=user, name="laptop", prefix="abcdefgh", key_hash=str(user.pk))
    return user


def stored_document(collection: Collection | None = None, **values: Any) -> Document:
    document: Document = DocumentFactory(collection=collection or CollectionFactory(), file_name="fees.md", **values)
    document.file.save("fees.md", ContentFile(FILE))
    return document


def browser(user: User) -> Client:
    client = Client()
    client.post("/accounts/login/", {"username": user.username, "password": PASSWORD})
    return client


def sure(client: Client) -> Client:
    """Asked for the password once more."""
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    return client


def status_of(client: Client, address: str) -> int:
    response = client.get(address)
    if response.streaming:
        b"".join(response.streaming_content)  # which closes the file
    return response.status_code


def archive_of(client: Client) -> zipfile.ZipFile:
    response = client.get("/api/account/export/file")
    assert response.status_code == 200 and response.streaming
    content = b"".join(response.streaming_content)
    return zipfile.ZipFile(io.BytesIO(content))


# ------------------------------------------------------------------------------------------------ export
def test_an_export_holds_every_kind_of_row_and_the_files_as_uploaded() -> None:
    user, other = person(), person()
    client = browser(user)
    started = client.post("/api/account/export", {}, "application/json")
    assert started.status_code == 202 and started.json()["state"] == "waiting"
    assert personal_data_take_next() == "export"
    archive = archive_of(client)
    assert archive.testzip() is None
    names = archive.namelist()
    assert len(names) == len(set(names)) and not any(name.startswith("/") or ".." in name for name in names)
    read = {name: json.loads(archive.read(name)) for name in names if name.endswith(".json")}
    (conversation,) = (read[name] for name in names if name.startswith("conversations/"))
    question, answer = conversation
    assert question["text"] and answer["sources"][0]["text"] and answer["decision_path"] and "html" not in answer
    assert read["ratings.json"][0]["comment"] == "too old" and read["votes.json"][0]["asked"] == "What is the deposit?"
    assert read["memories.json"] and read["api-tokens.json"][0]["name"] == "laptop" and read["collections.json"]
    assert read["profile.json"]["username"] == user.username and read["signed-in-browsers.json"]
    (file,) = (name for name in names if name.startswith("documents/"))
    assert archive.read(file) == FILE
    everything = b"".join(archive.read(name) for name in names).decode()
    assert other.username not in everything and user.password not in everything
    assert not any(key in everything for key in UserSession.objects.values_list("session_key", flat=True))


def test_an_export_is_its_owners_alone_and_for_a_day() -> None:
    user = person()
    job = export_start(user=user, by=user)
    personal_data_take_next()
    owner, stranger, admin = browser(user), browser(UserFactory()), browser(UserFactory(is_superuser=True))
    assert status_of(owner, f"/accounts/export/{job.pk}/") == 200
    for other in (stranger, admin):
        assert status_of(other, f"/accounts/export/{job.pk}/") == 404
    assert status_of(Client(), f"/accounts/export/{job.pk}/") == 302
    job.refresh_from_db()
    PersonalDataJob.objects.filter(pk=job.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert status_of(owner, f"/accounts/export/{job.pk}/") == 404
    assert owner.get("/api/account/export").status_code == 404
    personal_data_purge()
    assert not PersonalDataJob.objects.exists()
    assert not list((Path(personal_data_jobs.settings.MEDIA_ROOT) / "exports").iterdir())


def test_one_export_at_a_time_and_a_finished_one_gives_way() -> None:
    user = person()
    client = browser(user)
    assert client.post("/api/account/export", {}, "application/json").status_code == 202
    again = client.post("/api/account/export", {}, "application/json")
    assert again.status_code == 409 and again.json()["error"]["code"] == "export_runs"
    personal_data_take_next()
    assert client.post("/api/account/export", {}, "application/json").status_code == 202
    assert PersonalDataJob.objects.count() == 1
    assert not list((Path(personal_data_jobs.settings.MEDIA_ROOT) / "exports").iterdir())


def test_an_export_that_a_dead_worker_left_is_made_anew() -> None:
    user = person()
    job = export_start(user=user, by=user)
    PersonalDataJob.objects.filter(pk=job.pk).update(
        state="running", lease_token=job.pk, lease_expires_at=timezone.now() - timedelta(seconds=1), attempts=1
    )
    assert personal_data_take_next() == "export"
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("done", 2)
    assert personal_data_take_next() == "idle"


def test_an_export_that_fails_again_and_again_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    user = person()
    job = export_start(user=user, by=user)

    def broken(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(personal_data_jobs, "_write", broken)
    for _ in range(personal_data_jobs.ATTEMPTS):
        personal_data_take_next()
    job.refresh_from_db()
    assert job.state == "failed" and "could not be put together" in browser(user).get("/accounts/").content.decode()


def test_an_export_whose_account_goes_meanwhile_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    user = person()
    export_start(user=user, by=user)
    monkeypatch.setattr(personal_data_jobs, "REPORT_EVERY_S", 0.0)
    write = personal_data_jobs._write

    def deleted_meanwhile(*given: Any) -> None:
        User.objects.filter(pk=user.pk).delete()
        write(*given)

    monkeypatch.setattr(personal_data_jobs, "_write", deleted_meanwhile)
    personal_data_take_next()
    assert not PersonalDataJob.objects.exists()
    assert not list((Path(personal_data_jobs.settings.MEDIA_ROOT) / "exports").iterdir())


def test_what_a_killed_worker_left_half_written_is_tidied_after_a_day() -> None:
    folder = Path(personal_data_jobs.settings.MEDIA_ROOT) / "exports"
    folder.mkdir(parents=True)
    (folder / "half.zip").write_bytes(b"PK")
    personal_data_purge()
    assert (folder / "half.zip").exists()
    personal_data_purge(now=timezone.now() + timedelta(days=2))
    assert not (folder / "half.zip").exists()


def test_a_file_that_is_gone_does_not_end_the_export() -> None:
    user = person()
    document = Document.objects.get(collection__owner=user)
    document.file.storage.delete(document.file.name)
    export_start(user=user, by=user)
    personal_data_take_next()
    assert not any(name.startswith("documents/") for name in archive_of(browser(user)).namelist())


def test_an_empty_account_has_an_export_too() -> None:
    user = UserFactory()
    export_start(user=user, by=user)
    personal_data_take_next()
    assert "profile.json" in archive_of(browser(user)).namelist()


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
    client, kept = sure(browser(user)), rows_of(other.pk)
    own_file = Path(Document.objects.get(collection__owner=user).file.path)
    page = client.get("/accounts/delete/").content.decode()
    assert "1 conversation" in page and "1 document with its file" in page and "1 rating" in page
    done = client.post("/accounts/delete/")
    assert done.status_code == 200 and "Your account is closed" in done.content.decode()
    assert client.get("/accounts/").status_code == 302
    assert not Client().login(username=user.username, password=PASSWORD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda work, **_: work())
        assert personal_data_take_next() == "deletion"
    assert rows_of(user.pk) == {} and not User.objects.filter(pk=user.pk).exists()
    assert not own_file.exists()
    assert list(RatedQuestion.objects.values_list("signature", flat=True)) == [f"s{other.pk}"]
    assert rows_of(other.pk) == kept
    record = PersonalDataJob.objects.get(user_number=user.pk)
    assert (record.state, record.user) == ("done", None)


def test_a_deletion_goes_in_small_steps_and_goes_on_where_it_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    user = person()
    MessageFactory.create_batch(7, session=SessionFactory(user=user))
    monkeypatch.setattr(chat_data, "MESSAGES_AT_ONCE", 2)
    deletion_start(user=user, by=user)
    before = Message.objects.count()

    def killed(*_: Any, **__: Any) -> None:
        if Message.objects.count() < before:
            raise SystemExit

    monkeypatch.setattr(personal_data_jobs._Progress, "step", killed)
    with pytest.raises(SystemExit):
        personal_data_take_next()
    assert Message.objects.count() == before - 2
    monkeypatch.undo()
    monkeypatch.setattr(current_app, "send_task", lambda *_, **__: None)
    PersonalDataJob.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert personal_data_take_next() == "deletion"
    assert not User.objects.filter(pk=user.pk).exists() and not Message.objects.exists()


def test_the_password_is_asked_for_first() -> None:
    user = person()
    client = browser(user)
    for answer in (client.get("/accounts/delete/"), client.post("/accounts/delete/")):
        assert answer.headers["Location"].startswith("/accounts/reauthenticate/")
    client.post("/accounts/reauthenticate/", {"password": "guess"})
    assert client.post("/accounts/delete/").status_code == 302
    assert User.objects.get(pk=user.pk).is_active and not PersonalDataJob.objects.exists()


def test_the_last_administrator_stays() -> None:
    first, second = UserFactory(is_superuser=True), UserFactory(is_superuser=True, is_active=False)
    client = sure(browser(first))
    assert "last administrator" in client.post("/accounts/delete/").content.decode()
    assert User.objects.get(pk=first.pk).is_active
    User.objects.filter(pk=second.pk).update(is_active=True)
    assert "is closed" in client.post("/accounts/delete/").content.decode()


def test_what_stays_is_named_and_stays_without_the_name() -> None:
    user = person()
    given = stored_document(uploaded_by=user)
    golden = GoldenQuestion.objects.create(
        text="What is the deposit?",
        collection=given.collection,
        message=Message.objects.filter(role="assistant").first(),
    )
    page = sure(browser(user)).get("/accounts/delete/").content.decode()
    assert "1 document that you put into a collection of others" in page and "1 test question" in page
    deletion_start(user=user, by=user)
    personal_data_take_next()
    given.refresh_from_db()
    golden.refresh_from_db()
    assert given.uploaded_by is None and golden.message is None and Path(given.file.path).exists()


def test_the_confirmed_address_is_told(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    user = person()
    number = user.pk
    monkeypatch.setattr(personal_data_jobs, "letter_queue", letter_deliver)
    deletion_start(user=user, by=user)
    with django_capture_on_commit_callbacks(execute=True):
        personal_data_take_next()
    assert mail.outbox[0].to == [f"{number}@example.org"] and user.username in mail.outbox[0].body


def test_with_an_account_that_the_administration_deletes_goes_its_export(
    django_capture_on_commit_callbacks: Any,
) -> None:
    user = person()
    export_start(user=user, by=user)
    personal_data_take_next()
    with django_capture_on_commit_callbacks(execute=True):
        user.delete()
    assert not list((Path(personal_data_jobs.settings.MEDIA_ROOT) / "exports").iterdir())


# ------------------------------------------------------------------------------------------------ staff
def test_staff_give_out_and_delete_a_persons_data_with_a_reason_that_is_kept() -> None:
    user, admin = person(), UserFactory(is_superuser=True, is_staff=True)
    client = browser(admin)
    address = f"/admin/auth/user/{user.pk}/personal-data/"
    assert "1 conversation" in client.get(address).content.decode()
    assert "This field is required" in client.post(address, {"action": "export"}).content.decode()
    assert client.post(address, {"action": "export", "reason": "letter of 3 May"}).status_code == 302
    personal_data_take_next()
    job = PersonalDataJob.objects.get()
    assert status_of(client, f"/accounts/export/{job.pk}/") == 200
    assert status_of(browser(user), f"/accounts/export/{job.pk}/") == 404
    wrong = client.post(address, {"action": "deletion", "reason": "letter of 4 May", "name": "somebody"})
    assert wrong.status_code == 200 and User.objects.get(pk=user.pk).is_active
    client.post(address, {"action": "deletion", "reason": "letter of 4 May", "name": user.username})
    personal_data_take_next()
    assert not Session.objects.filter(user=user.pk).exists() and not Memory.objects.exists()
    record = PersonalDataJob.objects.get(kind="deletion")
    assert (record.reason, record.requested_by) == ("letter of 4 May", admin)
    log = list(LogEntry.objects.filter(object_id=str(user.pk)).values_list("object_repr", flat=True))
    assert log == ["", ""], "what was done is kept, whose it was is not"
    assert not Rating.objects.exists()


def test_staff_without_the_permission_may_not() -> None:
    user = person()
    staff = UserFactory(is_staff=True)
    staff.user_permissions.add(*Permission.objects.filter(codename__in=["view_user", "change_user"]))
    assert browser(staff).get(f"/admin/auth/user/{user.pk}/personal-data/").status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="handle_personal_data"))
    assert browser(staff).get(f"/admin/auth/user/{user.pk}/personal-data/").status_code == 200


# ------------------------------------------------------------------------------------------------ the API
def test_the_api_is_closed_to_strangers(client: Client) -> None:
    for method, address in (("get", ""), ("post", ""), ("get", "/file")):
        assert getattr(client, method)(f"/api/account/export{address}").status_code in (401, 403)


def test_an_export_with_fields_is_bad_input() -> None:
    answer = browser(UserFactory()).post("/api/account/export", {"all": True}, content_type="application/json")
    assert answer.status_code == 400 and "all" in answer.json()["error"]["fields"]
