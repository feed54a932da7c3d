"""All that is a person's: given out as a ZIP, and deleted.

Accounts import no other app, so tables are named by their labels here. An export is made whole, then sent. A
deletion begins at once and cannot be taken back: the account is closed in the same transaction, so that nothing new
comes while a worker empties it in small steps. One that was killed, or two at once, do no harm: what is left goes.
"""

from __future__ import annotations

import json
import logging
import shutil
import zipfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial, reduce
from itertools import chain
from operator import or_
from tempfile import TemporaryFile
from typing import IO, Any

from asgiref.sync import sync_to_async
from auditlog.context import disable_auditlog
from auditlog.models import LogEntry as AuditEntry
from auditlog.registry import auditlog
from django.apps import apps
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from ragsite.accounts.borne_names import BorneName, is_anothers, names_borne
from ragsite.core.errors import PermissionDeniedError
from ragsite.core.messages import worded
from ragsite.core.queueing import enqueue
from ragsite.core.text import clean_file_name
from ragsite.models import Account

logger = logging.getLogger(__name__)
ROWS_AT_ONCE = 100  # read, or deleted with all that leans on them
SENT_BYTES = 64 * 1024

OWNED = {  # the way from a row to its person → tables, in the order in which they are given out
    "pk": ("auth.User",),
    "user": (
        "ragsite.Account",
        "account.EmailAddress",
        "mfa.Authenticator",
        "socialaccount.SocialAccount",
        "usersessions.UserSession",
        "ragsite.ApiToken",
        "ragsite.Notification",
        "ragsite.NotificationPreference",
        "chat.Session",
        "chat.Budget",
        "chat.UsageDay",
        "feedback.Rating",
        "retrieval.Memory",
        "retrieval.MemoryPreference",
        "retrieval.SamplePreference",
    ),
    "owner": ("retrieval.Collection", "retrieval.SyncSource", "chat.Assistant"),
    "collection__owner": ("retrieval.Document",),
    "uploaded_by": ("retrieval.Document",),
    "session__user": ("chat.Message",),
    "message__session__user": ("chat.Source", "chat.DecisionStep", "feedback.GapQuestion"),
    "voter": ("feedback.Evidence",),
    "made_by": ("chat.Replay",),
    "asker": ("feedback.GapRequest",),
    "by": ("chat.DeskEvent", "feedback.CurationImport"),
    "of__by": ("feedback.CurationImportPart",),
}
# Secrets, and what is the site's own.
LEFT_OUT = {
    "password",
    "key_hash",
    "session_key",
    "data",
    "vector",
    "lease_token",
    "lease_expires_at",
    "credentials",
    "undo",
    "seen",
}
# Table → rows in one transaction; a document has up to thousands of chunks. What is left goes by cascade.
ERASED = {
    "chat.Message": 100,
    "chat.Session": 50,
    "retrieval.Document": 5,
    "retrieval.Collection": 20,
}
FORGOTTEN = "–"  # in place of a name
# What the person wrote for others, which stays with these: file → table, the way to the person, and columns.
WRITTEN = {
    "feedback/reply": (
        "feedback.GapRequest",
        "ended_by",
        ("id", "question", "state", "reply", "ended_at"),
    ),
    "feedback/goldenquestion": (
        "feedback.GoldenQuestion",
        "created_by",
        ("id", "text", "collection_id", "expects", "created_at", "updated_at"),
    ),
    "feedback/curatedanswer": (
        "feedback.CuratedAnswer",
        "created_by",
        ("id", "question", "wordings", "text", "created_at", "expires_at", "ended_at"),
    ),
    "feedback/manualboost": (
        "feedback.ManualBoost",
        "created_by",
        ("id", "document_id", "question", "multiplier", "hide", "why", "created_at", "ended_at"),
    ),
}
# The others hold the words of the asker, not of the person who made a test of them.
OWN_WORDS = {"feedback/goldenquestion": {"from_answer": False}}
ACTIONS = {  # of the admin's log, as the log of changes calls them
    ADDITION: AuditEntry.Action.CREATE,
    CHANGE: AuditEntry.Action.UPDATE,
    DELETION: AuditEntry.Action.DELETE,
}


class LastAdministratorError(PermissionDeniedError):
    code = "last_administrator"
    message = worded(
        "You are the last administrator; make somebody else one first, then delete your account."
    )


def _rows(label: str, user: User, *ways: str) -> QuerySet[Any]:
    """Rows of a table that are the person's, by all ways or by these."""
    ways = ways or tuple(way for way, labels in OWNED.items() if label in labels)
    persons = reduce(or_, (Q((way, user.pk)) for way in ways))
    rows: QuerySet[Any] = apps.get_model(label)._default_manager.filter(persons)
    return rows.order_by("pk")


# ------------------------------------------------------------------------------------------------ given out
def export_response(user: User) -> StreamingHttpResponse:
    """The ZIP as a download."""
    file = export_file(user)

    async def pieces() -> AsyncIterator[bytes]:
        while piece := await sync_to_async(file.read)(SENT_BYTES):
            yield piece

    headers = {
        "Content-Disposition": 'attachment; filename="ragsite-data.zip"',
        "X-Content-Type-Options": "nosniff",
    }
    response = StreamingHttpResponse(pieces(), content_type="application/zip", headers=headers)
    response._resource_closers.append(file.close)  # type: ignore[attr-defined]  # as Django's FileResponse does
    return response


def export_file(user: User) -> IO[bytes]:
    """The ZIP, which goes when it is closed: a JSON file for each table, and the documents as they were uploaded."""
    file = TemporaryFile()  # noqa: SIM115 -- the caller reads and closes it
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for label in dict.fromkeys(chain.from_iterable(OWNED.values())):
            names = [field.attname for field in apps.get_model(label)._meta.concrete_fields]
            rows = _rows(label, user).values(*(name for name in names if name not in LEFT_OUT))
            _write_rows(archive, label.replace(".", "/").lower(), rows.iterator(ROWS_AT_ONCE))
        for name, (label, way, columns) in WRITTEN.items():
            written = apps.get_model(label)._default_manager.filter(**{way: user})
            own = written.filter(**OWN_WORDS.get(name, {})).order_by("pk")
            _write_rows(archive, name, own.values(*columns).iterator(ROWS_AT_ONCE))
        for document in (
            _rows("retrieval.Document", user).exclude(file="").iterator(chunk_size=ROWS_AT_ONCE)
        ):
            name = f"documents/{document.pk.hex[:8]}-{clean_file_name(document.file_name)[-120:]}"
            try:
                with (
                    document.file.open("rb") as content,
                    archive.open(name, "w", force_zip64=True) as entry,
                ):
                    shutil.copyfileobj(content, entry)
            except (
                OSError,
                ValueError,
            ) as error:  # who opens the archive sees that something is missing
                logger.warning(
                    "The file of document %s is not in an export: %s", document.pk, error
                )
                archive.writestr(f"{name}.txt", _("This file could not be read."))
    file.seek(0)
    return file


def _write_rows(archive: zipfile.ZipFile, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    with archive.open(f"{name}.json", "w", force_zip64=True) as entry:
        mark = "["
        for row in rows:
            text = json.dumps(row, ensure_ascii=False, indent=2, cls=DjangoJSONEncoder)
            entry.write(f"{mark}\n{text}".encode())
            mark = ","
        entry.write(b"[]\n" if mark == "[" else b"\n]\n")


def _replies(user: User) -> QuerySet[Any]:
    """Questions of others that the person answered or declined."""
    requests = apps.get_model("feedback.GapRequest")._default_manager
    rows: QuerySet[Any] = requests.filter(ended_by=user).order_by("pk")
    return rows


# ------------------------------------------------------------------------------------------------ deleted
@disable_auditlog()  # recorded in the administration's log, where it was not the person itself
@transaction.atomic
def deletion_start(*, user: User) -> None:
    """Close the account now, and let a worker empty it. Raises LastAdministratorError."""
    administrators = (
        User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    )
    if [admin.pk for admin in administrators] == [user.pk]:
        raise LastAdministratorError
    user.is_active = False
    user.save(
        update_fields=["is_active"]
    )  # ends its sessions and tokens, too (ragsite.accounts.signals)
    Account.objects.update_or_create(user=user, defaults={"deletion_requested_at": timezone.now()})
    # Without this message the schedule does it, within a minute.
    transaction.on_commit(partial(enqueue, "ragsite.tasks.deletions_do_task"))


def deletions_do() -> int:
    """Empty the accounts that wait for it, or that a dead worker left half empty. Returns how many are gone."""
    waiting = User.objects.filter(account__deletion_requested_at__isnull=False)
    return sum(_erase(user) for user in waiting)


def _erase(user: User) -> bool:
    """In short transactions; started again, it continues with what is left. False: another worker was faster."""
    _rows("retrieval.Document", user, "uploaded_by").exclude(collection__owner=user).update(
        uploaded_by=None
    )
    # Others may be at an answer: what waits stays without name, remark and conversation.
    _rows("feedback.GapRequest", user, "asker").filter(state="open").update(
        asker=None, message=None, collection=None, remark=""
    )
    for label, at_once in ERASED.items():
        rows = _rows(label, user)
        while batch := list(rows.values_list("pk", flat=True)[:at_once]):
            rows.model._default_manager.filter(pk__in=batch).delete()
    names = names_borne(user, _changes_of(user))
    _forget_in_answers(user, names)
    unique = [one for one in names if not one.is_full]
    _forget_at_the_desk(user, unique)
    _forget_changes(user, unique)
    with transaction.atomic():
        _keep_acts(user)
        of_user = LogEntry.objects.filter(
            content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk)
        )
        of_user.update(object_repr="")
        return bool(User.objects.filter(pk=user.pk).delete()[0])


def _changes_of(user: User) -> QuerySet[AuditEntry]:
    of_user = ContentType.objects.get_for_model(User)
    entries: QuerySet[AuditEntry] = AuditEntry.objects.filter(
        content_type=of_user, object_id=user.pk
    )
    return entries


def _forget_in_answers(user: User, names: Sequence[BorneName]) -> None:
    """In those that others got and that the person had checked or written: they bear the name of that day, also where
    another curator has changed the checked answer since, or had checked it before."""
    answers = apps.get_model("chat.Message")._default_manager
    checked = apps.get_model("feedback.CuratedAnswer")._default_manager.filter(created_by=user)
    ids = {str(key) for key in checked.values_list("pk", flat=True)}
    given: QuerySet[Any] = answers.filter(curated__isnull=False)
    for answer in given.iterator(chunk_size=ROWS_AT_ONCE):
        said = answer.curated
        if _is_theirs(said["by"], answer.created_at, user, names, is_own=said["id"] in ids):
            _forget_in_answer(answer, "curated")
    questions = _replies(user).exclude(message=None).values("message__reply_to")
    written: QuerySet[Any] = answers.filter(reply_to__in=questions, written_by__isnull=False)
    for answer in written.iterator(chunk_size=ROWS_AT_ONCE):
        if _is_theirs(answer.written_by["by"], answer.created_at, user, names, is_own=True):
            _forget_in_answer(answer, "written_by")


def _is_theirs(
    name: str, at: datetime, user: User, names: Sequence[BorneName], *, is_own: bool
) -> bool:
    """Whether a name that was written `at` that time means the person. is_own: it stands beside something of theirs, so
    that a name that nobody else goes by is one of theirs which the log of changes no longer has."""
    borne = [one for one in names if one.text == name and one.covers(at)]
    if any(is_own or not one.is_full for one in borne):
        return True
    return (is_own or bool(borne)) and not is_anothers(name, user=user)


@transaction.atomic
def _forget_in_answer(answer: Any, column: str) -> None:
    """Its path, too. column: where the name stands beside a day."""
    said = getattr(answer, column)
    name = said["by"]
    if name == FORGOTTEN:
        return
    for step in answer.decision_steps.all():
        step.summary = step.summary.replace(name, FORGOTTEN)
        step.detail = _without(step.detail, name, within=True)
        step.save(update_fields=["summary", "detail"])
    answer.reason = answer.reason.replace(name, FORGOTTEN)
    answer.wordings = _without(answer.wordings, name, within=True)
    setattr(answer, column, {**said, "by": FORGOTTEN})
    answer.save(update_fields=[column, "reason", "wordings"])


def _forget_at_the_desk(user: User, names: Sequence[BorneName]) -> None:
    """In the log of the desk, which stays."""
    events = apps.get_model("chat.DeskEvent")._default_manager
    events.filter(by=user).update(by_name=FORGOTTEN)
    for borne in names:
        name = borne.text
        in_detail = Q(detail__from=name) | Q(detail__to=name) | Q(detail__filters__user=name)
        in_detail |= Q(detail__filters__reviewer=name)
        for event in events.filter(in_detail, borne.within("at")).iterator(ROWS_AT_ONCE):
            event.detail = _without(event.detail, name)
            event.save(update_fields=["detail"])


def _forget_changes(user: User, names: Sequence[BorneName]) -> None:
    """In the logs of what staff changed, which stay: what they hold of the account, and its names elsewhere."""
    own = _changes_of(user).values("pk")
    for borne in names:
        name = borne.text
        LogEntry.objects.filter(borne.within("action_time"), object_repr=name).update(
            object_repr=FORGOTTEN
        )
        named = Q(changes__icontains=_as_stored(name)) | Q(object_repr=name)
        others = AuditEntry.objects.filter(named, borne.within("timestamp")).exclude(pk__in=own)
        for entry in others.iterator(chunk_size=ROWS_AT_ONCE):
            entry.changes = _without(entry.changes, name)
            entry.object_repr = _without(entry.object_repr, name)
            entry.save(update_fields=["changes", "object_repr"])
    _changes_of(user).update(object_repr=FORGOTTEN, changes={})  # last: they know the names


def _keep_acts(user: User) -> None:
    """What the person did as staff, which goes with the account in the admin's own log, is moved to the other one;
    nobody can take back a trace by leaving."""
    for act in LogEntry.objects.filter(user=user).select_related("content_type").order_by("pk"):
        if act.content_type is None or _is_kept_with_values(act):
            continue
        AuditEntry.objects.create(
            content_type=act.content_type,
            object_pk=act.object_id or "",
            object_repr=act.object_repr,
            action=ACTIONS[act.action_flag],
            timestamp=act.action_time,
            additional_data={"sentence": str(act.get_change_message())},
        )


def _is_kept_with_values(act: LogEntry) -> bool:
    model = act.content_type.model_class() if act.content_type else None
    if model is None or not auditlog.contains(model):
        return False
    is_deletion = act.action_flag == DELETION and model is not User
    return is_deletion or act.change_message.startswith("[")


def _as_stored(text: str) -> str:
    """Within JSON, as the database compares its text: SQLite has it as it was written, in ASCII."""
    return json.dumps(text, ensure_ascii=connection.vendor == "sqlite")[1:-1]


def _without(value: Any, name: str, *, within: bool = False) -> Any:
    """within: in sentences, too, and in what they are called by."""
    match value:
        case dict():
            keys = [key.replace(name, FORGOTTEN) if within else key for key in value]
            held = [_without(one, name, within=within) for one in value.values()]
            return dict(zip(keys, held, strict=True))
        case list():
            return [_without(held, name, within=within) for held in value]
        case str() if within:
            return value.replace(name, FORGOTTEN)
    return FORGOTTEN if value == name else value
