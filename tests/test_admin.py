"""The admin: every page opens for staff and for nobody else, history stays as it was, hostile text stays text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django_celery_beat.models import PeriodicTask

from chat.models import Message, Session
from feedback.models import Rating
from retrieval.models import Collection, Document, IngestJob
from tests.clients import administrator
from tests.factories import (
    ChunkFactory,
    CollectionFactory,
    DecisionStepFactory,
    DocumentFactory,
    IngestJobFactory,
    MessageFactory,
    RatingFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
)

OURS = [Session, Message, Rating, Collection, Document]
HIDDEN = (  # from the index
    "django_celery_beat", "evidence", "ingestjob", "revision", "manualboost", "goldenquestion", "emailaddress",
    "authenticator", "usersession",
)  # fmt: skip
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"


@pytest.fixture
def staff(db: None) -> Client:
    return administrator()


def url_of(model: type[Model], page: str = "changelist", row: Any = None) -> str:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    return reverse(name, args=[row.pk] if row is not None else None)


def one_of_each(text: str = "Plain text.") -> dict[type[Model], Any]:
    """A rated conversation about a document, with `text` wherever people or models can write."""
    document = DocumentFactory(
        title=text,
        error=text[:500],
        file_name=f"{text}.md",
        collection__description=text,
        tags=[text],
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
        message=message,
        document_id=document.pk,
        chunk_id=str(chunk.pk),
        title=text,
        text=text,
        heading=text,
    )
    DecisionStepFactory(message=message, summary=text, detail={"variants": [text]})
    rating = RatingFactory(message=message, score=1, comment=text, tags=["outdated"])
    RatingFactory(message=message, source=source, score=2, comment=text)
    IngestJobFactory(document=document, error=text)
    return {
        Session: session,
        Message: message,
        Rating: rating,
        Collection: document.collection,
        Document: document,
    }


@pytest.mark.parametrize("model", OURS)
def test_lists_and_pages_are_closed_to_others(db: None, client: Client, model: type[Model]) -> None:
    row = one_of_each("Secret text.")[model]
    client.force_login(UserFactory())
    for url in (url_of(model), url_of(model, "change", row)):
        response = client.get(url)
        assert response.status_code == 302
        assert b"Secret" not in response.content


@pytest.mark.parametrize("model", OURS)
def test_lists_and_pages_open_for_staff_with_hostile_text_escaped(
    staff: Client, model: type[Model]
) -> None:
    row = one_of_each(HOSTILE)[model]
    for url in (url_of(model), f"{url_of(model)}?q=alert", url_of(model, "change", row)):
        response = staff.get(url)
        html = response.content.decode()
        assert response.status_code == 200
        assert "<script>alert" not in html
        assert "<img src=x" not in html


@pytest.mark.parametrize("model", OURS)
def test_history_cannot_be_added_to_or_changed(staff: Client, model: type[Model]) -> None:
    row = one_of_each()[model]
    assert staff.get(url_of(model, "add")).status_code == 403
    assert (
        staff.post(url_of(model, "change", row), {"text": "forged", "score": 5}).status_code == 403
    )


def test_a_part_of_what_happened_cannot_be_deleted_alone(staff: Client) -> None:
    row = one_of_each()[Message]
    assert staff.post(url_of(Message, "delete", row), {"post": "yes"}).status_code == 403
    assert Message.objects.filter(pk=row.pk).exists()


def test_the_index_shows_what_people_look_for_and_no_machinery(staff: Client) -> None:
    html = staff.get("/admin/").content.decode()
    for table in (
        "auth/user",
        "retrieval/document",
        "chat/session",
        "ragsite/webhook",
        "constance/config",
    ):
        assert f'href="/admin/{table}/"' in html
    for name in HIDDEN:
        assert name not in html


def test_the_schedule_is_changed_from_the_page_of_health(staff: Client) -> None:
    page = "/admin/django_celery_beat/periodictask/"
    assert page in staff.get("/administration/health/").content.decode()
    task = PeriodicTask.objects.get(name="Apply new ratings")
    assert staff.get(f"{page}{task.pk}/change/").status_code == 200


def test_dates_are_written_as_on_the_sites_own_pages(staff: Client) -> None:
    SessionFactory()
    Session.objects.update(updated_at=datetime(2026, 11, 28, 14, 5, tzinfo=UTC))
    assert "28 Nov 2026 14:05" in staff.get(url_of(Session)).content.decode()


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


@pytest.mark.parametrize("model", [Collection, Document])
def test_who_may_only_look_is_offered_no_actions(
    db: None, client: Client, model: type[Model]
) -> None:
    looker = UserFactory(is_staff=True)
    looker.user_permissions.set(
        Permission.objects.filter(codename=f"view_{model._meta.model_name}")
    )
    client.force_login(looker)
    row = one_of_each()[model]
    jobs = IngestJob.objects.count()
    for action in ("approve", "reembed", "read_again"):
        client.post(url_of(model), {"action": action, "_selected_action": [str(row.pk)]})
    assert IngestJob.objects.count() == jobs
    assert b'value="reembed"' not in client.get(url_of(model)).content
    assert b'value="read_again"' not in client.get(url_of(model)).content


@pytest.mark.parametrize(("action", "approved"), [("approve", True), ("withdraw_approval", False)])
def test_staff_approve_public_collections_of_users(
    staff: Client, action: str, approved: bool
) -> None:
    public = CollectionFactory(owner=UserFactory(), approved=not approved)
    private = CollectionFactory(owner=UserFactory(), visibility="private")
    chosen = [str(public.pk), str(private.pk), str(CollectionFactory().pk)]
    html = staff.post(
        url_of(Collection), {"action": action, "_selected_action": chosen}, follow=True
    ).content.decode()
    public.refresh_from_db()
    private.refresh_from_db()
    assert (public.approved, private.approved) == (approved, False)
    assert "1 collection is" in html and "2 stay as they are" in html
