"""How the site is doing, for administrators: each finding with what to do about it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import django
from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.db.models import Count, Max, Min, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_celery_beat.models import PeriodicTask

from chat.review.queue import ATTENTION, todo_counts
from chat.review.roles import DeskAccess
from feedback.models import FeedbackState, KnowledgeGap, Revision
from ragsite.checks import SetupFinding, findings
from ragsite.core import storage
from ragsite.core.localized import localized
from ragsite.models import Webhook
from ragsite.operations.health import dependency_states
from retrieval.compose import with_engine
from retrieval.models import Document, IngestJob, SyncSource

LOW_DISK_MIB = 1024  # well before uploads are refused (`storage.MIN_FREE_MIB`)
LATE = timedelta(minutes=10)  # the scheduler writes down what it did every three minutes
STARTED_AT = (
    timezone.now()
)  # of this process: a site that was just started has nothing written down yet

State = Literal["ok", "offline", "incomplete", "down"]
NAMES: dict[str, Promise] = {
    "database": gettext_lazy("Database"),
    "milvus": gettext_lazy("Search index"),
    "ollama": gettext_lazy("Model server"),
    "broker": gettext_lazy("Task queue"),
    "storage": gettext_lazy("Disk"),
    "uploads": gettext_lazy("Uploaded files"),
    "channel_layer": gettext_lazy("Live updates"),
    "worker": gettext_lazy("Worker"),
    "schedule": gettext_lazy("Schedule"),
}
STATES: dict[str, Promise] = {
    "ok": gettext_lazy("working"),
    "offline": gettext_lazy("not connected"),
    "incomplete": gettext_lazy("incomplete"),
    "down": gettext_lazy("not working"),
}
ADVICE: dict[tuple[str, str], Promise] = {
    ("database", "down"): gettext_lazy(
        "Check that the database server is running and that DATABASE_URL is right. Nothing works without it."
    ),
    ("milvus", "down"): gettext_lazy(
        "Check that Milvus is running and that MILVUS_URI is right. Until then, searches find words only, not meanings."
    ),
    ("milvus", "incomplete"): gettext_lazy(
        "A worker is writing the missing rows. If the number does not go down within a few minutes, run "
        "“manage.py rebuild_index”; searches go on meanwhile."
    ),
    ("milvus", "ok"): gettext_lazy(
        "Set up a Milvus server, set MILVUS_URI to it, and run “manage.py rebuild_index”: “A Milvus server” in "
        "docs/operations.md. Searches go on meanwhile, and get slower with each document."
    ),
    ("ollama", "offline"): gettext_lazy(
        "Start the model server, or check its address and the models chosen."
    ),
    ("ollama", "switched off"): gettext_lazy(
        "RAG_OFFLINE=1 in the environment switches models off. Remove it to connect one."
    ),
    ("ollama", "down"): gettext_lazy(
        "Start the model server, or check its address. RAG_OFFLINE=0 makes the site depend on it; “auto” does not."
    ),
    ("ollama", "ok"): gettext_lazy(
        "These models ignore the form that is asked of them, so some steps are less reliable. Another model, or a "
        "newer server, does better."
    ),
    ("broker", "down"): gettext_lazy(
        "Check Redis and REDIS_URL; without Redis, check that the site may write to the folder “broker” of its data. "
        "Until then, no document is read and no e-mail is sent."
    ),
    ("storage", "down"): gettext_lazy(
        "Free some space or enlarge the disk. Until then, nothing can be uploaded."
    ),
    ("uploads", "down"): gettext_lazy(
        "Check the bucket that RAGSITE_UPLOADS names, its address and its key. Until then, documents can neither be "
        "uploaded nor read nor opened; questions are answered."
    ),
    ("channel_layer", "down"): gettext_lazy(
        "Check Redis and REDIS_URL. Until then, answers do not appear while they are written."
    ),
    ("worker", "down"): gettext_lazy(
        "Check that a Celery worker is running: “manage.py up” starts one, and its log says why it stopped. Documents "
        "wait until it is back."
    ),
    ("schedule", "down"): gettext_lazy(
        "Check that Celery beat is running: “manage.py up” starts it. Until then, nothing happens by the clock: "
        "ratings are not applied, sources are not synced, and nothing is tidied."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the site. reason: what was found; advice: what to do."""

    name: str
    state: State
    reason: str = ""
    ms: float | None = None

    @property
    def title(self) -> str:
        return str(NAMES[self.name])

    @property
    def state_label(self) -> str:
        return str(STATES[self.state])

    @property
    def summary(self) -> str:
        """What is not working, or what is to be known of a part that works."""
        said = self.reason if self.state == "ok" and self.reason else self.state_label
        return _("%(part)s: %(state)s") % {"part": self.title, "state": said}

    @property
    def is_switched_off(self) -> bool:
        """By the operator, who knows."""
        return self.name == "ollama" and settings.RAG.ollama.offline == "1"

    @property
    def needs_attention(self) -> bool:
        return (self.state != "ok" or bool(self.reason)) and not self.is_switched_off

    @property
    def advice(self) -> str:
        if self.state == "ok" and not self.reason:
            return ""
        return str(
            ADVICE.get((self.name, "switched off" if self.is_switched_off else self.state), "")
        )


def health_parts() -> list[Part]:
    """What /readyz asks, then worker and schedule, which a web process can only judge by what they leave undone."""
    states = with_engine(lambda _engine: dependency_states())
    parts = [
        Part(
            name=name,
            state=found["state"],
            reason=str(localized(found.get("reason", ""))),
            ms=found["ms"],
        )
        for name, found in states.items()
    ]
    if states["database"]["state"] == "ok":
        parts += [_worker(), _schedule()]
    return parts


def setup_findings() -> list[SetupFinding]:
    """What the processes of the site do not share; none where the database is away, which a part says."""
    try:
        return findings()
    except DatabaseError:
        return []


def _worker() -> Part:
    """Takes for stopped a worker whose oldest document has been due for LATE while none is being read."""
    now = timezone.now()
    due = IngestJob.objects.filter(state=IngestJob.State.WAITING).filter(
        Q(not_before=None) | Q(not_before__lte=now)
    )
    oldest: datetime | None = due.aggregate(first=Min("created_at"))["first"]
    busy = IngestJob.objects.filter(
        state=IngestJob.State.RUNNING, lease_expires_at__gt=now
    ).exists()
    if oldest is None or busy or now - oldest < LATE:
        return Part(name="worker", state="ok")
    return Part(
        name="worker",
        state="down",
        reason=_("Documents have been waiting, and none is being read."),
    )


def _schedule() -> Part:
    last: datetime | None = PeriodicTask.objects.aggregate(last=Max("last_run_at"))["last"]
    now = timezone.now()
    if now - STARTED_AT < LATE or (last is not None and now - last < LATE):
        return Part(name="schedule", state="ok")
    if last is None:
        return Part(name="schedule", state="down", reason=_("It has not run yet."))
    moment = timezone.localtime(last).strftime("%Y-%m-%d %H:%M")
    return Part(
        name="schedule", state="down", reason=_("It last ran at %(moment)s.") % {"moment": moment}
    )


# ------------------------------------------------------------------------------------------------ the overview
@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    """Something that needs a person. address: where it can be dealt with; empty: this person can't open that page."""

    text: str
    address: str = ""
    link: str = ""


def matters(
    *, access: DeskAccess, parts: list[Part], setup: Sequence[SetupFinding]
) -> list[Matter]:
    """The most urgent first."""
    said = [part.summary for part in parts if part.needs_attention]
    said += [finding.sentence for finding in setup]
    health = reverse("administration_health")
    found = [Matter(text=text, address=health, link=_("What to do")) for text in said]
    free = storage.free_mib()
    if storage.MIN_FREE_MIB <= free < LOW_DISK_MIB:
        found.append(Matter(text=_("Only %(mib)d MiB are left on the disk.") % {"mib": free}))
    found += _failed_documents(access.user) + _failed_sources() + _failed_webhooks(access.user)
    if access.may("curate"):
        found += _ratings_waiting()
    return found


def _failed_documents(user: User) -> list[Matter]:
    count = Document.objects.filter(
        status=Document.Status.FAILED, collection__conversation_id=None
    ).count()
    if not count:
        return []
    text = ngettext(
        "%(count)d document could not be read.", "%(count)d documents could not be read.", count
    )
    page = reverse("admin:retrieval_document_changelist") + "?status__exact=failed"
    may_look = user.has_perm("retrieval.view_document")
    return [
        Matter(text=text % {"count": count}, address=page if may_look else "", link=_("Show them"))
    ]


def _failed_sources() -> list[Matter]:
    """They are their owners' to mend: only how many there are is said."""
    count = SyncSource.objects.exclude(report={}).exclude(report__error="").count()
    if not count:
        return []
    text = ngettext(
        "%(count)d synced source failed in its last run; its owner sees why.",
        "%(count)d synced sources failed in their last run; their owners see why.",
        count,
    )
    return [Matter(text=text % {"count": count})]


def _failed_webhooks(user: User) -> list[Matter]:
    count = Webhook.objects.filter(is_active=True).exclude(last_error="").count()
    if not count:
        return []
    text = ngettext(
        "%(count)d webhook is not reached.", "%(count)d webhooks are not reached.", count
    )
    may_look = user.has_perm("ragsite.view_webhook")
    page = reverse("admin:ragsite_webhook_changelist") if may_look else ""
    return [Matter(text=text % {"count": count}, address=page, link=_("Show them"))]


def _ratings_waiting() -> list[Matter]:
    """Changes of the ranking that did not go live by themselves, and a round that failed."""
    held = Revision.objects.filter(status=Revision.Status.HELD).first()
    if held is not None:
        text = _(
            "A change of the ranking made of new ratings is held back: it would make checked questions worse."
        )
        return [
            Matter(
                text=text, address=reverse("review_revision", args=[held.number]), link=_("Decide")
            )
        ]
    state = FeedbackState.objects.filter(pk=1).first()
    if state is not None and state.last_round.get("status") == "failed":
        text = _("New ratings could not be applied.")
        return [Matter(text=text, address=reverse("review_revisions"), link=_("Why"))]
    return []


def figures() -> Mapping[str, Any]:
    """Counts for the overview, each by one query on an index."""
    waiting = IngestJob.objects.filter(state=IngestJob.State.WAITING)
    jobs = waiting.aggregate(waiting=Count("pk"), oldest=Min("created_at"))
    return {
        "documents": Document.objects.filter(collection__conversation_id=None).count(),
        "people": User.objects.filter(is_active=True).count(),
        "waiting": jobs["waiting"],
        "running": IngestJob.objects.filter(state=IngestJob.State.RUNNING).count(),
        "oldest": jobs["oldest"],
        "answers_to_do": todo_counts()[ATTENTION],
        "gaps": KnowledgeGap.objects.filter(state=KnowledgeGap.State.OPEN).count(),
        "free_gib": storage.free_mib() / 1024,
    }


def versions() -> list[tuple[str, str]]:
    number = ".".join(str(part) for part in connection.get_database_version())
    return [
        ("Ragsite", str(settings.SPECTACULAR_SETTINGS["VERSION"])),
        ("Django", django.get_version()),
        ("Python", platform.python_version()),
        (connection.display_name, number),
    ]
