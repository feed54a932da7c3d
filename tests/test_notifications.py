"""The bell: who is told of what, how much of it, how often, and what of it comes by e-mail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group, User
from django.utils import timezone

from chat.models import Message, Replay
from chat.review.roles import desk_access
from feedback.curation.gap_selectors import gap_list
from feedback.curation.gaps import (
    gap_document_add,
    gap_mark,
    gap_results_take,
    gaps_refresh,
)
from feedback.models import GapQuestion, KnowledgeGap
from feedback.rounds.live import live_revision
from feedback.rounds.revisions import revision_roll_back
from feedback.rounds.round import feedback_round
from ragsite.models import Notification
from ragsite.operations.notifications.emails import notifications_email
from ragsite.operations.notifications.selectors import shown_notifications
from ragsite.operations.notifications.services import KEPT, notifications_trim, notify
from ragsite.operations.retention import retention_work
from retrieval.knowledge.services.collections import collection_update, share_answer
from retrieval.knowledge.services.documents import document_supersede
from retrieval.models import Collection, CollectionPerson, Document
from tests.clients import api_of, client_of, person
from tests.factories import (
    CollectionFactory,
    DocumentFactory,
    SessionFactory,
    UserFactory,
    answered,
)
from tests.feedback.rated import make_answer, passage, rate, regular

pytestmark = pytest.mark.django_db
Kind = Notification.Kind
PARKING = "How do I get a parking permit for the campus?"
Committed = Callable[..., Any]


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any) -> Committed:
    """`with committed():` runs what waits for the commit."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


def told(user: User, kind: str = "") -> list[str]:
    """What the bell says to `user`, the latest first."""
    rows = Notification.objects.filter(user=user, **({"kind": kind} if kind else {}))
    return [shown.text for shown in shown_notifications(rows, user=user)]


def shared(owner: User, reader: User, name: str = "contracts") -> Collection:
    collection: Collection = CollectionFactory(owner=owner, name=name, visibility="shared")
    CollectionPerson.objects.create(collection=collection, user=reader)
    return collection


# ------------------------------------------------------------------------------------------------ shares
def test_who_gets_a_share_is_told_once_and_not_after_an_answer(committed: Committed) -> None:
    owner, reader = UserFactory(username="mei"), UserFactory()
    with committed():
        collection = shared(owner, reader)
    people = [{"username": reader.username, "role": "editor"}]
    with committed():
        collection_update(collection=collection, changes={"people": people}, by=owner)
    assert told(reader) == ["mei shares “contracts” with you"]
    assert told(owner) == []
    share_answer(user=reader, collection_id=collection.pk, accepted=True)
    assert Notification.objects.get(user=reader).read_at is not None


def test_members_of_a_group_are_told_of_its_share(committed: Committed) -> None:
    owner, member = UserFactory(), UserFactory()
    group = Group.objects.create(name="law")
    group.user_set.add(owner, member)
    collection = CollectionFactory(owner=owner, visibility="shared")
    with committed():
        collection.groups.add(group)
    assert set(Notification.objects.values_list("user", flat=True)) == {member.pk}


def test_of_a_share_that_was_taken_back_no_name_is_told(committed: Committed) -> None:
    owner, reader = UserFactory(), UserFactory()
    with committed():
        collection = shared(owner, reader, name="secret plans")
    CollectionPerson.objects.filter(collection=collection).delete()
    (shown,) = shown_notifications(Notification.objects.filter(user=reader), user=reader)
    assert (shown.text, shown.address) == ("Somebody shares a collection with you", "")


# ------------------------------------------------------------------------------------------------ documents
def test_who_uploaded_a_document_is_told_that_it_could_not_be_read(committed: Committed) -> None:
    user = UserFactory()
    document = DocumentFactory(
        collection=CollectionFactory(owner=user), uploaded_by=user, title="Plan"
    )
    document.status, document.error = Document.Status.FAILED, "The file is empty."
    with committed():
        document.save(update_fields=["status", "error"])
    (shown,) = shown_notifications(Notification.objects.all(), user=user)
    assert (shown.text, shown.detail) == ("“Plan” could not be read", "The file is empty.")


def test_files_of_a_conversation_are_not_told(committed: Committed) -> None:
    user = UserFactory()
    attached = CollectionFactory(owner=user, conversation_id="00000000-0000-0000-0000-000000000001")
    document = DocumentFactory(collection=attached, uploaded_by=user)
    document.status = Document.Status.FAILED
    with committed():
        document.save(update_fields=["status"])
    assert not Notification.objects.exists()


@pytest.mark.parametrize("by_oneself", [False, True])
def test_who_has_a_document_replaced_by_others_is_told(
    committed: Committed, by_oneself: bool
) -> None:
    owner, colleague = UserFactory(), UserFactory(username="tom")
    collection = CollectionFactory(owner=owner)
    document = DocumentFactory(collection=collection, uploaded_by=owner, title="Fees")
    DocumentFactory(
        collection=collection, uploaded_by=owner if by_oneself else colleague, replaces=document
    )
    with committed():
        document_supersede(document_id=document.pk)
    assert told(owner) == ([] if by_oneself else ["“Fees” was replaced by a newer version"])


# ------------------------------------------------------------------------------------------------ ratings
def test_whose_ratings_moved_sources_is_told_and_not_again_when_it_is_undone(
    committed: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "feedback.rounds.guard.RECENT_QUESTIONS", 0
    )  # nothing to search, so no index is needed
    ten, five, staff = passage("Ten books."), passage("Five books."), UserFactory(is_staff=True)
    answers = [make_answer("How many books?", [ten, five], user=regular()) for _ in range(2)]
    with committed():
        for answer in answers:
            rate(answer, 5, "accurate", marker=1)
        feedback_round()
    first = answers[0].session.user
    assert told(first) == ["Your ratings moved 1 source of “How many books?”"]
    Notification.objects.update(read_at=timezone.now())
    revision = live_revision()
    assert revision is not None
    with committed():
        revision_roll_back(revision=revision, by=staff)
    assert not Notification.objects.filter(read_at=None).exists()


# ------------------------------------------------------------------------------------------------ unanswered questions
@pytest.fixture
def gap(offline: None, monkeypatch: pytest.MonkeyPatch) -> KnowledgeGap:
    monkeypatch.setattr("chat.review.replay.replays.replays_queue", lambda: None)
    session = SessionFactory(user=UserFactory(username="asker"))
    answered(PARKING, text="I found nothing.", decision="NO_ANSWER", session=session)
    gaps_refresh()
    return gap_list().get()


def asker() -> User:
    return User.objects.get(username="asker")


def end_replays(*, supported: bool) -> None:
    """As if a worker had asked them."""
    Replay.objects.update(
        status="complete", finished_at=timezone.now(), summary={"supported": supported}
    )


def test_who_asked_is_told_when_a_curator_closes_it(
    committed: Committed, gap: KnowledgeGap
) -> None:
    with committed():
        gap_mark(access=desk_access(person("Curators")), gap=gap, state="closed")
    assert told(asker()) == [f"Your question “{PARKING}” was taken care of"]


@pytest.mark.parametrize("supported", [True, False])
def test_asked_again_the_result_decides(
    committed: Committed, gap: KnowledgeGap, supported: bool
) -> None:
    access = desk_access(person("Curators"))
    with committed():
        gap_document_add(access=access, gap=gap, document=DocumentFactory(), close=True)
    assert told(asker()) == []
    end_replays(supported=supported)
    with committed():
        gap_results_take()
        gap_results_take()
    assert len(told(asker())) == (1 if supported else 0)


def test_who_may_not_read_what_was_added_is_not_told(
    committed: Committed, gap: KnowledgeGap
) -> None:
    curator = person("Curators")
    hidden = DocumentFactory(collection=CollectionFactory(owner=curator, visibility="private"))
    with committed():
        gap_document_add(access=desk_access(curator), gap=gap, document=hidden, close=True)
    end_replays(supported=True)
    with committed():
        gap_results_take()
    assert told(asker()) == []


def test_with_the_conversation_goes_what_the_bell_says_of_it(
    committed: Committed, gap: KnowledgeGap
) -> None:
    user = asker()
    with committed():
        gap_mark(access=desk_access(person("Curators")), gap=gap, state="closed")
    Message.objects.filter(session__user=user).delete()
    assert PARKING not in told(user)[0]
    assert not GapQuestion.objects.exists()


# ------------------------------------------------------------------------------------------------ page and API
def notified(user: User, count: int = 1) -> list[Document]:
    documents = [DocumentFactory(title=f"Plan {number}") for number in range(count)]
    for document in documents:
        notify(Kind.DOCUMENT_FAILED, document.pk, [user.pk])
    return documents


def test_the_bell_counts_what_is_unread_and_its_page_opens_it() -> None:
    user = UserFactory()
    (document,) = notified(user)
    client = client_of(user)
    page = client.get("/notifications/").content.decode()
    assert 'id="unread">1<' in page
    row = Notification.objects.get()
    opened = client.post(f"/notifications/{row.pk}/")
    assert opened.headers["Location"] == f"/documents/{document.pk}/"
    assert 'id="unread" hidden' in client.get("/notifications/").content.decode()
    client.post(f"/notifications/{row.pk}/", {"unread": "1"})
    assert 'id="unread">1<' in client.get("/notifications/").content.decode()


def test_all_are_marked_read_at_once() -> None:
    user = UserFactory()
    notified(user, 3)
    client_of(user).post("/notifications/read/")
    assert not Notification.objects.filter(read_at=None).exists()


def test_nobody_opens_what_others_were_told() -> None:
    user, other = UserFactory(), UserFactory()
    notified(user)
    row = Notification.objects.get()
    client_of(other).post(f"/notifications/{row.pk}/")
    assert (
        api_of(other)
        .patch(f"/api/notifications/{row.pk}", {"is_read": True}, format="json")
        .status_code
        == 404
    )
    assert Notification.objects.get().read_at is None


def test_the_api_lists_changes_and_marks_all_read() -> None:
    user = UserFactory()
    notified(user, 2)
    api = api_of(user)
    first = api.get("/api/notifications?unread=1").json()["results"][0]
    assert (first["kind"], first["text"], first["is_read"]) == (
        "document.failed",
        "“Plan 1” could not be read",
        False,
    )
    changed = api.patch(
        f"/api/notifications/{first['id']}", {"is_read": True}, format="json"
    ).json()
    assert changed["is_read"] is True
    same = api.patch(f"/api/notifications/{first['id']}", {}, format="json").json()
    assert same["is_read"] is True
    assert api.get("/api/notifications?unread=1").json()["count"] == 1
    assert api.post("/api/notifications/read").json() == {"read": 1}


def test_the_same_again_is_one_notification_and_unread_anew() -> None:
    user = UserFactory()
    (document,) = notified(user)
    client_of(user).post("/notifications/read/")
    notify(Kind.DOCUMENT_FAILED, document.pk, [user.pk])
    assert Notification.objects.get().read_at is None


# ------------------------------------------------------------------------------------------------ e-mail
@pytest.fixture
def mailed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Address, subject and text of what would have been sent."""
    sent: list[tuple[str, str, str]] = []
    monkeypatch.setattr(
        "ragsite.operations.notifications.emails.email_queue", lambda *mail: sent.append(mail)
    )
    return sent


def mail_reader(**wish: Any) -> User:
    user: User = UserFactory()
    EmailAddress.objects.create(user=user, email="reader@example.org", verified=True, primary=True)
    api_of(user).put(
        "/api/notifications/settings", {"email": ["document.failed"]}, format="json", **wish
    )
    return user


def test_nothing_is_mailed_to_who_has_not_chosen_it(mailed: list[Any]) -> None:
    user = UserFactory()
    EmailAddress.objects.create(user=user, email="reader@example.org", verified=True, primary=True)
    notified(user)
    assert notifications_email() == 0


def test_what_is_new_comes_in_one_email_in_the_readers_language(mailed: list[Any]) -> None:
    notified(mail_reader(HTTP_ACCEPT_LANGUAGE="zh-hans"), 2)
    assert notifications_email() == 1
    assert notifications_email() == 0
    ((address, _subject, text),) = mailed
    assert address == "reader@example.org"
    assert "Plan 0" in text
    assert "Plan 1" in text


def test_a_flood_waits_for_the_next_email_and_what_was_read_is_not_mailed(
    mailed: list[Any],
) -> None:
    user = mail_reader()
    notified(user)
    notifications_email()
    notified(user)
    assert notifications_email() == 0
    user.notification_preference.last_email_at = timezone.now() - timedelta(hours=1)
    user.notification_preference.save()
    client_of(user).post("/notifications/read/")
    assert notifications_email() == 0


def test_the_account_page_saves_which_kinds_are_mailed(settings: Any) -> None:
    settings.SENDS_EMAIL = True
    user = UserFactory()
    client = client_of(user)
    client.post("/notifications/emails/", {"kinds": ["share.received", "nonsense"]})
    assert user.notification_preference.emailed == ["share.received"]
    page = client.get("/accounts/").content.decode()
    assert 'value="share.received" checked' in page
    assert 'value="document.failed" checked' not in page


# ------------------------------------------------------------------------------------------------ how long
def test_only_the_newest_of_each_person_are_stored() -> None:
    user, other = UserFactory(), UserFactory()
    notified(other)
    rows = [
        Notification(user=user, kind=Kind.SHARE, subject=str(number)) for number in range(KEPT + 3)
    ]
    Notification.objects.bulk_create(rows)
    assert notifications_trim() == 3
    assert Notification.objects.filter(user=other).count() == 1


def test_old_ones_go() -> None:
    user = UserFactory()
    notified(user, 2)
    oldest = Notification.objects.earliest("pk")
    Notification.objects.filter(pk=oldest.pk).update(created_at=timezone.now() - timedelta(days=91))
    list(retention_work())
    assert Notification.objects.count() == 1
