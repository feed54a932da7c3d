"""What staff change by pages and programs is kept with its old and new values (django-auditlog).

Only what decides what the site does or who may do what is kept (`AUDITED`), never conversations, documents or what
people do with their own. Its middleware is for WSGI and looks the person up in every request, so the person comes from
`ragsite.web.acting_request`. What has a sentence in a log already (a change of role, an import) is not kept twice:
`disable_auditlog` stands around it.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from auditlog.context import auditlog_disabled
from auditlog.models import LogEntry
from auditlog.registry import auditlog
from auditlog.signals import pre_log
from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.db.models.signals import m2m_changed, pre_save

from ragsite.core.runtime_settings import changeable_fields
from ragsite.core.settings_group import MODEL_SERVER
from ragsite.web.acting_request import acting_request

AUDITED: dict[str, tuple[str, ...]] = {  # table → fields; of relations to several the names
    "constance.Constance": ("key", "value"),
    "auth.User": (
        "username",
        "email",
        "first_name",
        "last_name",
        "is_active",
        "is_staff",
        "is_superuser",
        "password",
        "groups",
        "user_permissions",
    ),
    "auth.Group": ("name", "permissions"),
    "ragsite.ApiToken": ("user", "name", "prefix", "scopes", "collection_ids", "expires_at"),
    "ragsite.Webhook": ("name", "url", "events", "is_active", "secret"),
    "ragsite.NotificationPreference": ("user", "emailed"),
    "ragsite.OwnPrompt": ("name", "text"),
    "retrieval.Collection": (
        "name",
        "owner",
        "visibility",
        "approved",
        "groups",
        "editor_groups",
    ),
    "retrieval.CollectionPerson": ("collection", "user", "role"),
    "chat.Assistant": (
        "name",
        "description",
        "instructions",
        "collections",
        "with_own",
        "workflow",
        "options",
        "filters",
        "model",
        "starters",
        "visibility",
        "groups",
        "people",
        "is_default",
    ),
    "feedback.CuratedAnswer": ("question", "wordings", "text", "expires_at", "ended_at"),
    "feedback.GoldenQuestion": ("text", "collection", "expects", "documents"),
}
MASKED = {"auth.User": ["password"], "ragsite.Webhook": ["secret"]}
MASK = "•••"
SECRET_SETTINGS = {
    name for name, (*_, field) in changeable_fields(MODEL_SERVER).items() if not field.repr
}
OPERATIONS = {"post_add": "add", "post_remove": "delete"}


def connect() -> None:
    """Once, when the site starts."""
    for label, names in AUDITED.items():
        model = apps.get_model(label)
        several = {field.name for field in model._meta.many_to_many}
        auditlog.register(
            model,
            include_fields=[name for name in names if name not in several],
            mask_fields=MASKED.get(label, []),
            mask_callable="ragsite.administration.audit.masked",
        )
        for name in several.intersection(names):
            through = getattr(model, name).through
            m2m_changed.connect(
                _Relation(name), sender=through, weak=False, dispatch_uid=f"audit {label}.{name}"
            )
    pre_log.connect(_is_kept, dispatch_uid="audit")
    pre_save.connect(_complete, sender=LogEntry, dispatch_uid="audit")


def masked(value: str) -> str:
    return MASK if value else ""


def request_id() -> str | None:
    """The same for all that one request changes."""
    request = acting_request.get()
    number: str | None = request.META.setdefault("ragsite.audit", uuid4().hex) if request else None
    return number


def _staff() -> User | None:
    """Who acts, where it is somebody of the staff, by a page or the API."""
    request = acting_request.get()
    user = getattr(request, "user", None)
    return user if isinstance(user, User) and user.is_staff else None


def _is_kept(sender: type[Model], instance: Any, **_: Any) -> bool:
    """Not the tokens of sign-ins, what holds the files of a conversation, nor assistants that are somebody's own."""
    if auditlog_disabled.get():
        return False
    label = sender._meta.label
    if label == "ragsite.ApiToken" and not instance.scopes:
        return False
    if label == "retrieval.Collection" and instance.conversation_id is not None:
        return False
    if label == "chat.Assistant" and instance.owner_id is not None:
        return False
    return _staff() is not None


def _complete(sender: type[LogEntry], instance: LogEntry, **_: Any) -> None:
    if instance.pk is not None:
        return
    instance.actor = _staff()
    instance.cid = request_id()
    if instance.object_repr in SECRET_SETTINGS and instance.changes:
        sides = instance.changes.get("value", ())
        instance.changes["value"] = [masked(side) for side in sides]


class _Relation:
    """Receiver for a relation to several rows. Of auditlog's own no receiver of `pre_log` is asked."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, action: str, instance: Any, model: Any, pk_set: Any, **more: Any) -> None:
        if action == "pre_clear":
            rows: QuerySet[Any] = getattr(instance, self._name).all()
            operation = "delete"
        elif action in OPERATIONS:
            rows = model._default_manager.filter(pk__in=pk_set)
            operation = OPERATIONS[action]
        else:
            return
        if more["reverse"] or not _is_kept(type(instance), instance):
            return
        LogEntry.objects.log_m2m_changes(rows, instance, operation, self._name)
