"""A site is carried over to an empty one by a file, whole or not at all."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from auditlog.models import LogEntry as AuditEntry
from django.apps import apps
from django.contrib.admin.models import LogEntry as AdminEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.models import AnswerReview, Message, Source
from feedback.models import GapRequest, GoldenQuestion, KnowledgeGap, Rating
from ragsite.models import ApiToken
from ragsite.operations.site_transfer import CARRIED, RECOMPUTED
from retrieval.models import Collection, CollectionPerson, Document, IngestJob
from tests.factories import (
    PASSWORD,
    ChunkFactory,
    CollectionFactory,
    DecisionStepFactory,
    DocumentFactory,
    MessageFactory,
    RatingFactory,
    SessionFactory,
    SourceFactory,
    UserFactory,
    answered,
)

TEXT = "# Deposits\n\nThe deposit for a room in the hall of residence is EUR 300.\n"
QUESTION = "How much is the deposit for a room in the hall of residence?"


# What a new site finds out anew, and what belongs to the former one's rounds and replays.
LEFT_BEHIND = {
    "chat.FilledPrompt", "chat.Replay", "chat.Starter", "chat.StarterLook",
    "feedback.Boost", "feedback.CurationImport", "feedback.CurationImportPart",
    "feedback.FeedbackState", "feedback.GapQuestion", "feedback.Revision",
    "ragsite.NamedLock", "ragsite.SiteProcess",
    "retrieval.Chunk", "retrieval.DocumentChange", "retrieval.DocumentPart", "retrieval.IngestJob", "retrieval.Reembedding",
}  # fmt: skip


def test_every_table_is_carried_or_left_behind_on_purpose() -> None:
    own = [
        apps.get_app_config(name).get_models()
        for name in ("chat", "feedback", "ragsite", "retrieval")
    ]
    assert {model._meta.label for models in own for model in models} - set(CARRIED) == LEFT_BEHIND


# ------------------------------------------------------------------------------------------------ in this process
@pytest.fixture
def site_file(db: None, settings: Any, tmp_path: Path) -> Path:
    """What a site of rows of many kinds was written to; the site is empty again."""
    settings.MEDIA_ROOT, settings.DATA_DIR = tmp_path / "uploads", tmp_path / "data"
    ada, ben = UserFactory(username="ada"), UserFactory(username="ben", is_staff=True)
    curators = Group.objects.create(name="Site curators")
    curators.permissions.add(Permission.objects.get(codename="curate_answers"))
    ben.groups.add(curators)
    EmailAddress.objects.create(user=ada, email=ada.email, verified=True, primary=True)
    Authenticator.objects.create(user=ada, type=Authenticator.Type.TOTP, data={"secret": "s"})
    ApiToken.objects.create(user=ada, name="laptop", prefix="abcdefgh", key_hash="h")
    halls = CollectionFactory(owner=ada, name="halls", visibility="shared")
    halls.groups.add(curators)
    CollectionPerson.objects.create(collection=halls, user=ben, role="editor")
    document = DocumentFactory(collection=halls, uploaded_by=ada, file_name="deposits.md")
    document.file.save("deposits.md", ContentFile(TEXT.encode()))
    chunk = ChunkFactory(document=document, text=TEXT)
    answer = answered(session=SessionFactory(user=ada))
    source = SourceFactory(
        message=answer, marker=1, document_id=document.pk, chunk_id=str(chunk.pk)
    )
    DecisionStepFactory(message=answer, seq=1)
    RatingFactory(message=answer, user=ada, source=source)
    AnswerReview.objects.create(
        message=answer, session=answer.session, user=ada, created_at=answer.created_at, status="complete",
        state="reviewed", state_by=ben, note="right",
    )  # fmt: skip
    golden = GoldenQuestion.objects.create(
        text=QUESTION, collection=halls, message=answer, created_by=ben
    )
    golden.documents.add(document)
    gap = KnowledgeGap.objects.create(collection=halls, terms="deposit", note="Ask the office.")
    request = GapRequest.objects.create(
        gap=gap, message=answer, asker=ada, question=QUESTION, key="k", sent_to="curators"
    )
    request.sources.create(marker=1, document_id=document.pk, title="Deposits", text=TEXT)
    of_groups = ContentType.objects.get_for_model(Group)
    kept = {"content_type": of_groups, "object_repr": "Site curators"}
    AdminEntry.objects.create(
        **kept, user=ben, object_id=curators.pk, action_flag=2, change_message="Role"
    )
    of_gone = ContentType.objects.create(app_label="gone", model="since")
    for content_type in (of_groups, of_gone):
        AuditEntry.objects.create(
            **{**kept, "content_type": content_type},
            actor=ben,
            object_pk=curators.pk,
            action=1,
            changes={"name": ["a", "b"]},
        )
    path = tmp_path / "site.zip"
    path.with_suffix(".json").write_text(json.dumps(carried_rows(), default=str))
    call_command("export_site", path)
    for label in (*reversed(CARRIED), "retrieval.Chunk"):
        apps.get_model(label)._base_manager.all().delete()
    of_gone.delete()
    return path


def carried_rows() -> dict[str, Any]:
    """By table, without what a site finds out anew."""
    found = {}
    for label in CARRIED:
        left_out = {*RECOMPUTED.get(label.lower(), ()), "status", "progress", "updated_at"}
        left_out |= {"content_type_id"}  # has another number
        rows = apps.get_model(label)._base_manager.order_by("pk").values()
        found[label] = [
            {name: value for name, value in row.items() if name not in left_out} for row in rows
        ]
    return found


def rewritten(path: Path, change: Callable[[dict[str, bytes]], Any]) -> Path:
    """A copy whose members were changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    changed = path.with_name("changed.zip")
    with zipfile.ZipFile(changed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return changed


def test_every_row_is_as_it_was_and_documents_wait_to_be_read(site_file: Path) -> None:
    call_command("import_site", site_file)
    assert json.loads(json.dumps(carried_rows(), default=str)) == json.loads(
        site_file.with_suffix(".json").read_text()
    )
    said = AuditEntry.objects.order_by("pk").values_list("content_type__model", flat=True)
    assert list(said) == ["group", "since"] and AdminEntry.objects.get().user.username == "ben"
    assert User.objects.get(username="ada").check_password(PASSWORD)
    assert User.objects.get(username="ben").has_perm("chat.curate_answers")
    assert [group.name for group in Collection.objects.get().groups.all()] == ["Site curators"]
    document = Document.objects.get()
    with document.file.open("rb") as content:
        assert (document.status, content.read().decode()) == ("queued", TEXT)
    assert IngestJob.objects.get(document=document).user == document.uploaded_by
    MessageFactory(session=Message.objects.first().session)  # numbers of rows go on
    SourceFactory(message=Message.objects.last(), marker=2)


@pytest.mark.django_db
def test_temporary_conversations_stay_behind(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT, settings.DATA_DIR = tmp_path / "uploads", tmp_path / "data"
    ends = timezone.now() + timedelta(hours=1)
    temporary = SessionFactory(kept=False, expires_at=ends)
    SourceFactory(message=answered("Is Ms Ames ill?", session=temporary), marker=1)
    answered("How many books?")
    for session, name in ((temporary, "ill.md"), (SessionFactory(), "books.md")):
        attached = CollectionFactory(owner=session.user, conversation_id=session.pk)
        document = DocumentFactory(collection=attached, file_name=name)
        document.file.save(name, ContentFile(b"# Days"))
    call_command("export_site", tmp_path / "site.zip")
    with zipfile.ZipFile(tmp_path / "site.zip") as archive:
        rows = archive.read("rows.jsonl").decode()
        files = [name for name in archive.namelist() if name.startswith("files/")]
    assert ("Is Ms Ames ill?" in rows, str(temporary.pk) in rows) == (False, False)
    assert ("How many books?" in rows, "ill.md" in rows, len(files)) == (True, False, 1)


def test_a_site_with_accounts_is_left_as_it_is(site_file: Path) -> None:
    UserFactory(username="carol")
    with pytest.raises(CommandError, match="not empty"):
        call_command("import_site", site_file)
    assert User.objects.get().username == "carol"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "why"),
    [("nowhere.zip", "cannot be read"), ("notes.txt", "was not made by export_site")],
)
def test_what_is_no_file_of_ours_is_told_as_that(
    tmp_path: Path, settings: Any, name: str, why: str
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    (tmp_path / "notes.txt").write_text("Buy milk.")
    with pytest.raises(CommandError, match=why):
        call_command("import_site", tmp_path / name)


def without_the_session(members: dict[str, bytes]) -> None:
    lines = members["rows.jsonl"].splitlines(keepends=True)
    members["rows.jsonl"] = b"".join(
        line for line in lines if b'"model": "chat.session"' not in line
    )


def with_a_schedule(members: dict[str, bytes]) -> None:
    interval = {
        "model": "django_celery_beat.intervalschedule",
        "pk": 99,
        "fields": {"every": 1, "period": "seconds"},
    }
    members["rows.jsonl"] += json.dumps(interval).encode() + b"\n"


def test_names_in_a_file_lead_nowhere(site_file: Path, settings: Any) -> None:
    def change(members: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in members["rows.jsonl"].splitlines()]
        for row in rows:
            if row["model"] == "retrieval.document":
                row["fields"] |= {"file": "../../secret_key", "file_name": "../../../outside.md"}
        members["rows.jsonl"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    call_command("import_site", rewritten(site_file, change))
    path = Path(Document.objects.get().file.path)
    assert path.is_relative_to(settings.MEDIA_ROOT) and path.read_text() == TEXT


def test_a_file_that_unpacks_to_more_than_the_disk_holds_is_refused(
    site_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragsite.core.storage.free_mib", lambda: 0.0001)
    with pytest.raises(CommandError, match="no room"):
        call_command("import_site", site_file)


@pytest.mark.parametrize(
    "change",
    [
        without_the_session,
        lambda members: members.update({"rows.jsonl": members["rows.jsonl"][:-40]}),
        lambda members: members.update({"../outside.md": b"x"}),
        lambda members: members.update({"files/../../outside.md": b"x"}),
        with_a_schedule,
        lambda members: members.update({"site.json": b'{"kind": "another"}'}),
        lambda members: members.pop("rows.jsonl"),
    ],
    ids=[
        "a row is missing",
        "cut off",
        "a path outside",
        "a path out of the files",
        "a row of another table",
        "of another kind",
        "no rows",
    ],
)
def test_of_a_damaged_or_foreign_file_nothing_is_imported(
    site_file: Path, change: Callable[[dict[str, bytes]], Any], settings: Any
) -> None:
    stored = [path for path in settings.MEDIA_ROOT.rglob("*") if path.is_file()]
    with pytest.raises(CommandError, match="nothing was imported"):
        call_command("import_site", rewritten(site_file, change))
    assert not any(
        apps.get_model(label)._base_manager.exists() for label in CARRIED if label != "auth.Group"
    )
    assert [path for path in settings.MEDIA_ROOT.rglob("*") if path.is_file()] == stored
    assert not Rating.objects.exists()


def test_an_export_overwrites_nothing_and_is_its_owners_alone(site_file: Path) -> None:
    assert site_file.stat().st_mode & 0o077 == 0
    with pytest.raises(CommandError, match="does not exist"):
        call_command("export_site", site_file)


@pytest.mark.django_db
def test_a_site_of_the_version_with_many_migrations_is_imported(
    settings: Any, tmp_path: Path
) -> None:
    """Tables and fields that are gone since are left out."""
    settings.MEDIA_ROOT, settings.DATA_DIR = tmp_path / "uploads", tmp_path / "data"
    call_command("import_site", Path(__file__).parent / "site-before-one-migration.zip")
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    assert User.objects.get(username="ada").check_password("correct-horse-battery")
    assert (Message.objects.count(), Rating.objects.count(), IngestJob.objects.count()) == (8, 8, 5)
    cited = Source.objects.filter(cited=True).values("document_id")
    assert Document.objects.filter(pk__in=cited).exists()
