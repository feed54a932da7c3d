"""The admin: every page opens for staff and for nobody else, history stays as it was, hostile text stays text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.core.files.base import ContentFile
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils.translation import gettext, override
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from chat.models import DecisionStep, Message, Session, Source
from feedback.models import Rating
from retrieval import tasks
from retrieval.models import Chunk, Collection, Document, IngestJob, Memory, MemoryOwner, WriteLease
from tests.factories import (
    ChunkFactory,
    CollectionFactory,
    DecisionStepFactory,
    DocumentFactory,
    IngestJobFactory,
    MemoryFactory,
    MessageFactory,
    RatingFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
)

OURS = [Session, Message, Source, DecisionStep, Rating, Collection, Document, Chunk, IngestJob, MemoryOwner, WriteLease]
HISTORY = [Session, Message, Source, DecisionStep, Rating, Collection, Document, Chunk, IngestJob]
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(UserFactory(is_superuser=True))
    return client


def url_of(model: type[Model], page: str = "changelist", row: Any = None) -> str:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    return reverse(name, args=[row.pk] if row is not None else None)


def one_of_each(text: str = "Plain text.") -> dict[type[Model], Any]:
    """A rated conversation about a document, with `text` wherever people or models can write."""
    document = DocumentFactory(
        title=text, error=text[:500], file_name=f"{text}.md", collection__description=text, tags=[text]
    )
    chunk = ChunkFactory(document=document, text=text, heading=text)
    session = SessionFactory(title=text)
    MessageFactory(session=session, question=True, text=text)
    message = MessageFactory(
        session=session,
        text=text,
        reason=text,
        degraded=[{"step": "rerank", "reason": text}],
        error={"code": "x", "content": text},
        clarification={"question": text, "options": [text]},
        request={"filters": {"department": text}},
    )
    source = SourceFactory(
        message=message, document_id=document.pk, chunk_id=str(chunk.pk), title=text, text=text, heading=text
    )
    step = DecisionStepFactory(message=message, summary=text, detail={"variants": [text]})
    rating = RatingFactory(message=message, score=1, comment=text, tags=["outdated"])
    RatingFactory(message=message, source=source, score=2, comment=text)
    lease = WriteLease.objects.create(space="lexical", holder=text[:100], lease_expires_at=message.created_at)
    return {
        Session: session, Message: message, Source: source, DecisionStep: step, Rating: rating,
        Collection: document.collection, Document: document, Chunk: chunk,
        IngestJob: IngestJobFactory(document=document, error=text), WriteLease: lease,
        MemoryOwner: MemoryOwner.objects.get(pk=MemoryFactory(question=text[:500], text=text).user.pk),
    }  # fmt: skip


def test_every_model_of_ours_is_registered() -> None:
    assert [model for model in OURS if not admin.site.is_registered(model)] == []


@pytest.mark.parametrize("model", OURS)
def test_lists_and_pages_open_for_staff(staff: Client, model: type[Model]) -> None:
    row = one_of_each()[model]
    assert staff.get(url_of(model)).status_code == 200
    assert staff.get(url_of(model), {"q": "plain"}).status_code == 200
    assert staff.get(url_of(model, "change", row)).status_code == 200


@pytest.mark.parametrize("model", [Session, Message, Document, Chunk, Rating])
def test_lists_are_searched_in_both_chinese_scripts(staff: Client, model: type[Model]) -> None:
    one_of_each("研討室在三樓。")
    for words in ("研討室", "研讨室", "研究室"):
        found = staff.get(url_of(model), {"q": words}).context["cl"].result_count
        assert (found > 0) is (words != "研究室")


@pytest.mark.parametrize("model", OURS)
def test_lists_and_pages_are_closed_to_others(db: None, client: Client, model: type[Model]) -> None:
    row = one_of_each("Secret text.")[model]
    client.force_login(UserFactory())
    for url in (url_of(model), url_of(model, "change", row)):
        response = client.get(url)
        assert response.status_code == 302
        assert b"Secret" not in response.content


@pytest.mark.parametrize("model", OURS)
def test_hostile_text_is_escaped_on_every_page(staff: Client, model: type[Model]) -> None:
    row = one_of_each(HOSTILE)[model]
    for url in (url_of(model), url_of(model, "change", row)):
        html = staff.get(url).content.decode()
        assert "<script>alert" not in html
        assert "<img src=x" not in html


@pytest.mark.parametrize("model", HISTORY)
def test_history_cannot_be_added_to_or_changed(staff: Client, model: type[Model]) -> None:
    row = one_of_each()[model]
    assert staff.get(url_of(model, "add")).status_code == 403
    assert staff.post(url_of(model, "change", row), {"text": "forged", "score": 5}).status_code == 403


@pytest.mark.parametrize("model", [Message, Source, DecisionStep])
def test_a_part_of_a_conversation_cannot_be_deleted_alone(staff: Client, model: type[Model]) -> None:
    row = one_of_each()[model]
    assert staff.post(url_of(model, "delete", row), {"post": "yes"}).status_code == 403
    assert model._default_manager.filter(pk=row.pk).exists()


def test_with_a_conversation_goes_what_was_remembered_from_it(staff: Client) -> None:
    answer = MessageFactory()
    memory = MemoryFactory(user=answer.session.user)
    memory.origins.create(conversation_id=answer.session_id, answer_id=answer.pk)
    assert staff.post(url_of(Session, "delete", answer.session), {"post": "yes"}).status_code == 302
    assert not Memory.objects.exists()


def test_a_conversation_can_be_deleted_as_a_whole(staff: Client) -> None:
    session = one_of_each()[Session]
    assert staff.post(url_of(Session, "delete", session), {"post": "yes"}).status_code == 302
    assert not Message.objects.exists()
    assert not Rating.objects.exists()


@pytest.mark.parametrize("model", OURS)
def test_lists_take_the_same_number_of_queries_however_long(
    staff: Client, model: type[Model], django_assert_max_num_queries: Callable[..., Any]
) -> None:
    one_of_each()
    for _ in range(11):
        document = DocumentFactory(uploaded_by=UserFactory())
        ChunkFactory(document=document)
        IngestJobFactory(document=document)
        message = MessageFactory()
        RatingFactory(message=message, source=SourceFactory(message=message))
        DecisionStepFactory(message=message)
    with django_assert_max_num_queries(16):
        assert staff.get(url_of(model)).status_code == 200


def test_the_text_of_private_documents_is_not_shown_to_staff(staff: Client) -> None:
    private = CollectionFactory(owner=UserFactory(), visibility="private")
    chunk = ChunkFactory(document__collection=private, text="A private thought.")
    assert "A private thought." not in staff.get(url_of(Chunk)).content.decode()
    assert staff.get(url_of(Chunk, "change", chunk)).status_code == 302


# ------------------------------------------------------------------------------------------------ documents
def test_staff_see_how_much_is_remembered_and_never_what(staff: Client) -> None:
    owner = MemoryFactory(question="A secret question?", text="A secret fact.").user
    MemoryFactory(user=owner, text="Another secret fact.")
    row = MemoryOwner.objects.get(pk=owner.pk)
    for url in (url_of(MemoryOwner), url_of(MemoryOwner, "change", row), url_of(User, "change", owner)):
        assert "secret" not in staff.get(url).content.decode()
    page = staff.get(url_of(MemoryOwner)).content.decode()
    assert 'class="field-remembered">2<' in page
    assert staff.post(url_of(MemoryOwner, "delete", row), {"post": "yes"}).status_code == 403


def test_read_again_starts_the_ingest_from_the_file(staff: Client) -> None:
    document = DocumentFactory(chunk_count=1)
    ChunkFactory(document=document)
    busy = DocumentFactory(status=Document.Status.PARSING, collection=document.collection)
    data = {"action": "read_again", "_selected_action": [str(document.pk), str(busy.pk)]}
    html = staff.post(url_of(Document), data, follow=True).content.decode()
    document.refresh_from_db()
    assert (document.status, document.chunk_count, document.chunks.count()) == ("queued", 0, 0)
    assert document.jobs.count() == 1
    assert busy.jobs.count() == 0
    assert "1 document is being read again." in html


def test_a_collection_is_embedded_anew_by_the_worker(staff: Client, queued: list[tuple[str, str]]) -> None:
    collection = CollectionFactory()
    data = {"action": "reembed", "_selected_action": [str(collection.pk)]}
    html = staff.post(url_of(Collection), data, follow=True).content.decode()
    assert queued == [(tasks.collection_reembed_task.name, str(collection.pk))]
    assert "A worker does it as soon as it can" in html


@pytest.mark.parametrize("model", [Collection, Document])
def test_who_may_only_look_is_offered_no_actions(db: None, client: Client, model: type[Model]) -> None:
    looker = UserFactory(is_staff=True)
    looker.user_permissions.set(Permission.objects.filter(codename=f"view_{model._meta.model_name}"))
    client.force_login(looker)
    row = one_of_each()[model]
    jobs = IngestJob.objects.count()
    for action in ("approve", "reembed", "read_again"):
        client.post(url_of(model), {"action": action, "_selected_action": [str(row.pk)]})
    assert IngestJob.objects.count() == jobs
    assert b'value="reembed"' not in client.get(url_of(model)).content
    assert b'value="read_again"' not in client.get(url_of(model)).content


@pytest.mark.parametrize(("action", "approved"), [("approve", True), ("withdraw_approval", False)])
def test_staff_approve_public_collections_of_users(staff: Client, action: str, approved: bool) -> None:
    public = CollectionFactory(owner=UserFactory(), approved=not approved)
    private = CollectionFactory(owner=UserFactory(), visibility="private")
    chosen = [str(public.pk), str(private.pk), str(CollectionFactory().pk)]
    html = staff.post(url_of(Collection), {"action": action, "_selected_action": chosen}, follow=True).content.decode()
    public.refresh_from_db()
    private.refresh_from_db()
    assert (public.approved, private.approved) == (approved, False)
    assert "1 collection is" in html and "2 stay as they are" in html


def stored_document(collection: Collection, settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    document = DocumentFactory(collection=collection)
    document.file.save("note.md", ContentFile(b"# Note"), save=True)
    return Path(document.file.path)


def space_columns() -> dict[str, Any]:
    return {"embedding_model": "lexical", "embedding_dim": 512}


def test_deleting_selected_documents_clears_files_and_index_rows_of_each(
    staff: Client,
    settings: Any,
    tmp_path: Path,
    queued: list[tuple[str, str]],
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    collection = CollectionFactory(**space_columns())
    files = [stored_document(collection, settings, tmp_path) for _ in range(2)]
    ids = [str(pk) for pk in collection.documents.values_list("pk", flat=True)]
    data = {"action": "delete_selected", "_selected_action": ids, "post": "yes"}
    with django_capture_on_commit_callbacks(execute=True):
        staff.post(url_of(Document), data)
    assert not any(path.exists() for path in files)
    assert sorted(queued) == sorted(("retrieval.tasks.document_unindex", document_id) for document_id in ids)


def test_an_account_is_deleted_on_the_page_of_its_data_alone(staff: Client) -> None:
    user = UserFactory()
    response = staff.post(url_of(User, "delete", user), {"post": "yes"})
    assert (response.status_code, response["Location"]) == (302, f"/admin/auth/user/{user.pk}/personal-data/")
    assert staff.get(f"/admin/auth/user/{user.pk + 1}/delete/").status_code == 404
    staff.post(url_of(User), {"action": "delete_selected", "_selected_action": [str(user.pk)], "post": "yes"})
    page = staff.get(url_of(User, "change", user)).content.decode()
    assert "personal-data/" in page and f"/admin/auth/user/{user.pk}/delete/" not in page
    assert User.objects.filter(pk=user.pk).exists()


@pytest.mark.django_db
def test_a_deleted_user_takes_their_data_along_and_leaves_other_peoples(
    settings: Any,
    tmp_path: Path,
    queued: list[tuple[str, str]],
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    user = UserFactory()
    private = CollectionFactory(owner=user, visibility="private", **space_columns())
    own_file = stored_document(private, settings, tmp_path)
    shared_file = stored_document(CollectionFactory(), settings, tmp_path)
    Document.objects.exclude(collection=private).update(uploaded_by=user)
    RatingFactory(message__session__user=user)
    kept = MessageFactory()
    with django_capture_on_commit_callbacks(execute=True):
        user.delete()
    assert not User.objects.filter(pk=user.pk).exists()
    assert list(Message.objects.all()) == [kept]
    assert not Rating.objects.exists()
    assert not own_file.exists()
    assert shared_file.exists()
    assert queued == [("retrieval.tasks.collection_unindex", str(private.pk))]


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(task, first argument) of the messages to the workers, which are not sent."""
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "celery.app.base.Celery.send_task",
        lambda self, name, args=None, **options: sent.append((name, str((args or [""])[0]))),
    )
    return sent


def test_a_round_is_switched_off_and_gets_another_time_and_none_is_added_or_deleted(staff: Client) -> None:
    round_ = PeriodicTask.objects.get(name="Feedback round")
    page = staff.get(url_of(PeriodicTask), headers={"Accept-Language": "zh-TW"}).content.decode()
    with override("zh-hant"):
        assert gettext("Feedback round") in page
    other = CrontabSchedule.objects.create(minute="7", hour="7")
    staff.post(url_of(PeriodicTask, "change", round_), {"crontab": other.pk})
    round_.refresh_from_db()
    assert (round_.enabled, round_.crontab) == (False, other)
    assert "One of clocked" in staff.post(url_of(PeriodicTask, "change", round_), {}).content.decode()
    assert staff.get(url_of(PeriodicTask, "add")).status_code == 403
    assert staff.post(url_of(PeriodicTask, "delete", round_), {"post": "yes"}).status_code == 403


OWNER_CHOICES = "/admin/autocomplete/?app_label=retrieval&model_name=collection&field_name=owner&term=wages"


def test_staff_without_rights_are_refused_choices_in_one_line_of_the_log(
    db: None, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.force_login(UserFactory(is_staff=True))
    assert client.get(OWNER_CHOICES).status_code == 403
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("WARNING", None)]
