"""What is older than the site keeps it goes, with all that hangs on it, and nothing else."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.utils import timezone, translation
from django_celery_beat.models import PeriodicTask

from chat.models import (
    AnswerReview,
    DecisionStep,
    DeskEvent,
    FilledPrompt,
    Message,
    Replay,
    ReplayBatch,
    RetentionRun,
    Session,
    Share,
)
from chat.review.records import answers_record
from chat.review.retention import kinds as chat_kinds
from chat.review.retention.runs import SCHEDULE, kinds_over, next_run, retention_begin, retention_work
from chat.tasks import retention_go_on, retention_nightly
from feedback.models import Evidence, RatedPassage, RatedQuestion, Rating
from feedback.rounds.evidence import evidence_gather
from ragsite.core import retention
from ragsite.core.retention import Kind, kinds
from retrieval.models import Memory, MemoryOrigin
from retrieval.services.collections import collection_of_conversation
from tests.factories import (
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
from tests.review.people import client_of, person

pytestmark = pytest.mark.django_db
NOW = timezone.now()
OLD = NOW - timedelta(days=400)


def rows_of_all_tables() -> dict[str, int]:
    """How many rows each table has, but those of runs."""
    models = [model for model in apps.get_models() if model is not RetentionRun and not model._meta.proxy]
    return {model._meta.label: model._default_manager.count() for model in models}


def conversation(*, at: datetime = OLD, user: Any = None, **values: Any) -> Session:
    """A question and its answer; last used then."""
    session: Session = SessionFactory(user=user or UserFactory(), **values)
    question = MessageFactory(session=session, question=True)
    answer = MessageFactory(session=session, reply_to=question)
    Message.objects.filter(session=session).update(created_at=at)
    Session.objects.filter(pk=session.pk).update(updated_at=at)
    answers_record([answer.pk])
    return session


def with_everything(session: Session) -> None:
    """All that can hang on a conversation."""
    answer = session.messages.get(role="assistant")
    SourceFactory(message=answer, marker=1)
    DecisionStepFactory(message=answer, seq=1)
    rating = RatingFactory(message=answer, score=1, comment="No.")
    question = RatedQuestion.objects.create(signature=session.pk.hex[:16], text="What of zebras?")
    passage = RatedPassage.objects.first() or RatedPassage.objects.create(document=DocumentFactory(), content_hash="h")
    Evidence.objects.create(
        rating=rating, question=question, passage=passage, voter=session.user, weight=1, document_weight=0.5, day=1
    )
    memory = MemoryFactory(user=session.user)
    MemoryOrigin.objects.create(memory=memory, conversation_id=session.pk, answer_id=answer.pk)
    drawer = collection_of_conversation(owner=session.user, conversation_id=session.pk)
    document = DocumentFactory(collection=drawer)
    document.file.save("fees.md", ContentFile(b"# Fees"))
    Share.objects.create(session=session, scope="site", message_ids=[str(answer.pk)], expires_at=OLD)
    Replay.objects.create(message=answer, question="?", status=Replay.Status.COMPLETE, finished_at=NOW)
    FilledPrompt.objects.create(message=answer, step=1, call=0, name="generate")
    row = AnswerReview.objects.get(message=answer)
    row.labels.create(name="hr")
    DeskEvent.objects.create(by_name="ann", kind=DeskEvent.Kind.READ, answer=row)


def run() -> RetentionRun:
    retention_begin()
    assert retention_work() == "done"
    return RetentionRun.objects.get(state=RetentionRun.State.DONE)


@pytest.fixture(autouse=True)
def site(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "uploads"


# ------------------------------------------------------------------------------------------------ conversations
def test_without_a_setting_nothing_that_people_made_goes() -> None:
    with_everything(conversation())
    before = rows_of_all_tables()
    assert run().deleted == {"prompts": 1}  # which a site without the setting never stores
    assert rows_of_all_tables() == before | {"chat.FilledPrompt": 0}


def test_a_conversation_goes_with_all_that_hangs_on_it(
    rag_settings: Any, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    rag_settings(retention={"ages": {"conversations": 365, "prompts": 365}})
    stays = conversation(at=NOW - timedelta(days=364))
    RatedPassage.objects.create(document=DocumentFactory(), content_hash="h")
    user = stays.user
    before = rows_of_all_tables()
    goes = conversation(user=user)
    with_everything(goes)
    assert sum(rows_of_all_tables().values()) > sum(before.values()) + 15
    with django_capture_on_commit_callbacks(execute=True):
        assert run().deleted == {"conversations": 1}
    assert rows_of_all_tables() == before
    assert not [path for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file()]
    assert Session.objects.get() == stays


@pytest.mark.parametrize("why", ["pinned", "archived", "shared", "assigned", "running", "used"])
def test_a_conversation_that_somebody_wants_still_is_kept(why: str, rag_settings: Any) -> None:
    rag_settings(retention={"ages": {"conversations": 30}})
    session = conversation()
    answer = session.messages.get(role="assistant")
    rows = Session.objects.filter(pk=session.pk)
    match why:
        case "pinned":
            rows.update(pinned_at=OLD)
        case "archived":
            rows.update(archived_at=OLD)
        case "shared":
            Share.objects.create(session=session, scope="site", message_ids=[str(answer.pk)])
        case "assigned":
            AnswerReview.objects.update(assignee=UserFactory())
        case "running":
            Message.objects.filter(pk=answer.pk).update(status="streaming")
        case "used":
            rows.update(updated_at=NOW - timedelta(days=29))
    assert "conversations" not in run().deleted
    assert rows.exists()


def test_an_answer_that_was_assigned_and_reviewed_holds_nothing(rag_settings: Any) -> None:
    rag_settings(retention={"ages": {"conversations": 30}})
    conversation()
    AnswerReview.objects.update(assignee=UserFactory(), state="reviewed")
    assert run().deleted == {"conversations": 1}


def test_archived_conversations_have_an_age_of_their_own(rag_settings: Any) -> None:
    rag_settings(retention={"ages": {"archived": 30}})
    conversation()
    lately, long_ago = (conversation(archived_at=at) for at in (NOW - timedelta(days=2), OLD))
    assert run().deleted == {"archived": 1}
    assert Session.objects.filter(pk=lately.pk).exists() and not Session.objects.filter(pk=long_ago.pk).exists()


def test_a_long_conversation_goes_in_parts_and_stays_where_it_is_used_meanwhile(
    rag_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_kinds, "MESSAGES_AT_ONCE", 2)
    rag_settings(retention={"ages": {"conversations": 30}})
    session = conversation()
    for _ in range(4):
        MessageFactory(session=session, question=True)
    before = NOW - timedelta(days=30)
    steps = chat_kinds.sessions_eraser(chat_kinds.conversations_over)(before)
    assert next(steps) == 0 and session.messages.count() == 4
    Session.objects.filter(pk=session.pk).update(updated_at=NOW)
    assert list(steps) == [0] and session.messages.count() == 4
    Session.objects.filter(pk=session.pk).update(updated_at=OLD)
    assert run().deleted == {"conversations": 1}


# ------------------------------------------------------------------------------------------------ parts of them
def test_a_path_goes_and_its_answer_stays(rag_settings: Any) -> None:
    rag_settings(retention={"ages": {"paths": 30}})
    old, new, held = conversation(), conversation(at=NOW), conversation()
    for session in (held, old, new):
        DecisionStepFactory.create_batch(3, message=session.messages.get(role="assistant"))
    AnswerReview.objects.filter(session=held).update(assignee=UserFactory())
    assert run().deleted == {"paths": 3}
    assert DecisionStep.objects.filter(message__session=old).count() == 0
    assert DecisionStep.objects.count() == 6 and Message.objects.count() == 6


def test_what_a_rating_says_goes_and_is_not_drawn_again(rag_settings: Any) -> None:
    rag_settings(retention={"ages": {"evidence": 30}})
    session = conversation()
    with_everything(session)
    Rating.objects.update(attributed_at=Rating.objects.get().updated_at)
    RetentionRun.objects.all().delete()
    assert run().deleted == {"evidence": 1, "prompts": 1}
    assert not Evidence.objects.exists() and not RatedQuestion.objects.exists() and Rating.objects.count() == 1
    evidence_gather()
    assert not Evidence.objects.exists()


def test_other_kinds_go_by_their_age(rag_settings: Any) -> None:
    rag_settings(retention={"ages": {"memories": 30, "desk_log": 30, "replays": 30}})
    for at, use in ((OLD, None), (OLD, NOW), (NOW, None)):
        Memory.objects.filter(pk=MemoryFactory().pk).update(updated_at=at, last_used_at=use)
    batch = ReplayBatch.objects.create(name="b")
    ReplayBatch.objects.update(created_at=OLD)
    for at in (OLD, NOW):
        event = DeskEvent.objects.create(by_name="ann", kind=DeskEvent.Kind.EXPORT)
        DeskEvent.objects.filter(pk=event.pk).update(at=at)
        Replay.objects.create(question="?", finished_at=at, batch=batch if at == OLD else None)
    assert run().deleted == {"memories": 1, "desk_log": 1, "replays": 1}
    assert Memory.objects.count() == 2 and not ReplayBatch.objects.exists()


# ------------------------------------------------------------------------------------------------ runs
def test_a_run_whose_process_was_killed_is_gone_on_with(rag_settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_kinds, "SESSIONS_AT_ONCE", 1)
    rag_settings(retention={"ages": {"conversations": 30}})
    for _ in range(3):
        conversation()
    retention_begin()

    def killed(kind: Kind, count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retention_work(report=killed)
    assert Session.objects.count() == 2
    assert retention_work() == "idle"  # as long as the dead process' lease lasts
    RetentionRun.objects.update(lease_expires_at=OLD)
    assert retention_begin() is None
    assert retention_work() == "done"
    assert not Session.objects.exists()


def test_a_round_ends_in_time_and_the_next_one_goes_on(rag_settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_kinds, "SESSIONS_AT_ONCE", 1)
    rag_settings(retention={"ages": {"conversations": 30}})
    for _ in range(2):
        conversation()
    retention_begin()
    assert retention_work(within_s=0) == "left"
    assert RetentionRun.objects.get().deleted == {"conversations": 1}
    assert retention_work() == "done"
    assert RetentionRun.objects.get().deleted == {"conversations": 2}


def test_a_kind_that_fails_leaves_the_others_theirs(rag_settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rag_settings(retention={"ages": {"conversations": 30}})

    def broken(before: datetime) -> Iterator[int]:
        raise OSError("the disk is away")
        yield 0

    kind = Kind(name="aaa", title="A", rule="", moment="pk", rows=lambda before: Session.objects.none(), erase=broken)  # type: ignore[arg-type]
    monkeypatch.setattr(retention, "_kinds", {"aaa": kind} | retention._kinds)
    conversation()
    done = run()
    assert done.deleted == {"conversations": 1} and list(done.failed) == ["aaa"] and "disk" not in str(done.failed)


def test_the_nightly_task_begins_a_run_and_the_other_one_only_goes_on() -> None:
    assert retention_go_on() == "idle"
    assert retention_nightly() == "done"
    assert RetentionRun.objects.count() == 1
    task = PeriodicTask.objects.get(name=SCHEDULE)
    assert task.task == retention_nightly.name
    following = next_run(now=NOW)
    assert following is not None and timezone.localtime(following).strftime("%H:%M") == "04:20"
    PeriodicTask.objects.filter(pk=task.pk).update(enabled=False)
    assert next_run(now=NOW) is None


# ------------------------------------------------------------------------------------------------ told
def test_a_dry_run_tells_and_deletes_nothing(rag_settings: Any) -> None:
    rag_settings(retention={"ages": {"conversations": 30}})
    for days in (0, 100, 200):
        conversation(at=NOW - timedelta(days=days))
    before = rows_of_all_tables()
    out = io.StringIO()
    call_command("retention", "--dry-run", "--json", stdout=out)
    (told,) = (row for row in json.loads(out.getvalue()) if row["kind"] == "conversations")
    assert told["count"] == 2 and told["variable"] == "RAGSITE_RETENTION: conversations" and told["kept_days"] == 30
    assert told["oldest"][:10] == str((NOW - timedelta(days=200)).date())
    assert told["newest"][:10] == str((NOW - timedelta(days=100)).date())
    assert rows_of_all_tables() == before
    words = io.StringIO()
    call_command("retention", "--dry-run", stdout=words)
    assert "Conversations (RAGSITE_RETENTION: conversations): kept 30 days; 2 would go" in words.getvalue()
    call_command("retention", stdout=io.StringIO())
    assert Session.objects.count() == 1
    with pytest.raises(CommandError, match="no kind"):
        call_command("retention", "--dry-run", "--kind", "cats", stdout=io.StringIO())


@pytest.mark.parametrize(
    ("language", "told"),
    [("zh-hans", "保留 30 天；没有要删除的"), ("zh-hant", "保留 30 天；沒有要刪除的")],
)
def test_a_dry_run_tells_in_the_terminals_language(rag_settings: Any, language: str, told: str) -> None:
    rag_settings(retention={"ages": {"conversations": 30}})
    words = io.StringIO()
    with translation.override(language):
        call_command("retention", "--dry-run", "--kind", "conversations", stdout=words)
    assert told in words.getvalue()


def test_every_kind_can_be_looked_at_with_and_without_a_bound(rag_settings: Any) -> None:
    rag_settings(retention={"ages": {kind.setting: 1 for kind in kinds() if kind.setting}})
    with_everything(conversation())
    with_everything(conversation(archived_at=OLD))
    for most in (None, 0, 1, 100):
        for kind, gone in kinds_over(now=NOW, most=most):
            assert gone.count <= (100 if most is None else most), kind.name
    found = {kind.name: gone for kind, gone in kinds_over(now=NOW, most=0)}
    assert found["paths"].more and found["paths"].oldest and found["paths"].newest is None


def test_the_page_is_for_administrators_of_the_desk(rag_settings: Any) -> None:
    rag_settings(retention={"ages": {"conversations": 30, "paths": 1}})
    conversation()
    run()
    client: Callable[[str], Any] = lambda role: client_of(person(role)).get("/review/retention/")  # noqa: E731
    page = client("Administrators")
    text = page.content.decode()
    assert page.status_code == 200
    assert "30 days" in text and "1 day<" in text and "RAGSITE_RETENTION: conversations" in text
    assert client("Reviewers").status_code == client("Curators").status_code == 403
    assert client_of(UserFactory()).get("/review/retention/").status_code == 404
    assert client_of(None).get("/review/retention/").status_code == 302


def test_collections_that_are_not_of_conversations_stay(rag_settings: Any) -> None:
    rag_settings(retention={"ages": {"conversations": 1}})
    document = DocumentFactory(collection=CollectionFactory())
    run()
    document.refresh_from_db()
