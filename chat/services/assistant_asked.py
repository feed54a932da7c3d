"""By which assistant a question is asked, and what that gives of its request: what the request names itself holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet

from chat.assistant_selectors import assistant_find, assistant_get, visible_assistants
from chat.errors import AssistantCollectionsUnreadableError
from chat.models import Assistant
from chat.selectors import own_sessions
from chat.services.default_assistant import default_assistant
from retrieval.engine.values import AnswerOptions, AskedBy, Question, SearchFilters, SearchScope
from retrieval.engine.workflows.registry import offered_workflows
from retrieval.knowledge.scopes import scope_readable
from retrieval.knowledge.selectors import (
    default_documents,
    documents_searched,
    readable_collections,
)
from retrieval.models import Document

KEPT = ("name", "version", "instructions", "collections", "unreadable", "lost", "gone")


def without_assistant_values(request: Mapping[str, Any]) -> dict[str, Any]:
    """What of an earlier request was named in it, and not given by its assistant."""
    given: Mapping[str, Any] = request.get("assistant", {}).get("given", {})
    named = {name: value for name, value in request.items() if name not in given}
    if "collections" in given:
        named.pop("collection_ids", None)
    if "options" in given:
        own = {
            name: value
            for name, value in request.get("options", {}).items()
            if name not in given["options"]
        }
        named |= {"options": own} if own else {}
    return named


@dataclass(frozen=True, slots=True)
class AppliedAssistant:
    """scope: where the assistant decides it. remembered: what the session keeps of the assistant; empty: none."""

    scope: SearchScope | None = None
    remembered: Mapping[str, str] = field(default_factory=dict)


def asked_assistant(request: Mapping[str, Any], *, user: User) -> Assistant | None:
    """By which a new conversation with this request begins; None also for an address that means nothing."""
    address = request.get("assistant")
    if address is None:
        return default_assistant()
    return assistant_find(user=user, address=address) if address else None


def assistant_apply(
    request: dict[str, Any], *, user: User, session_id: UUID | None, as_before: bool
) -> AppliedAssistant:
    """Complete `request` by what its assistant gives, and keep that in it as `assistant`.

    An assistant that the request names by its address counts ("": none), else the one of the earlier request
    (as_before), else the session's, for a new session the site's default. One that is gone since changes nothing, which
    is kept, too. Raises AssistantNotFoundError for an address, AssistantCollectionsUnreadableError.
    """
    chosen = request.pop("assistant", {} if as_before else None)
    if chosen is None:
        chosen = _of_session(user=user, session_id=session_id)
    known: Mapping[str, Any] = {}
    assistant: Assistant | None = None
    if isinstance(chosen, str):
        assistant = assistant_get(user=user, address=chosen) if chosen else None
    elif chosen is None:
        assistant = default_assistant()
    else:
        known = chosen
        assistant = _remembered(known, user=user)
    if assistant is None:
        if known:
            request["assistant"] = {"id": known["id"], "name": known["name"], "gone": True}
        return AppliedAssistant()
    about = _about(assistant)
    given = _given(assistant, request, about)
    scope = None
    if assistant.collections and not {"collections", "documents"} & request.keys():
        scope, addresses = scope_readable(
            user=user, ids=assistant.collections, with_own=bool(assistant.with_own)
        )
        read = set(assistant.collections) & set(scope.ids)
        if not read:
            raise AssistantCollectionsUnreadableError(assistant.name)
        given["collections"] = addresses
        request["collection_ids"] = list(scope.ids)
        about["collections"] = len(assistant.collections)
        about["unreadable"] = len(assistant.collections) - len(read)
    options = {**given.get("options", {}), **request.get("options", {})}
    request.update(given)
    if options:
        request["options"] = options
    request["assistant"] = about | {"given": given}
    return AppliedAssistant(scope, {name: about[name] for name in ("id", "name")})


def by_default(question: Question) -> Question:
    """As somebody asks it in a new conversation who chooses nothing: by the site's default assistant, in the same
    scope."""
    assistant = default_assistant()
    if assistant is None:
        return question
    about = _about(assistant)
    given = _given(assistant, {}, about)
    return replace(
        question,
        filters=filters_of(given),
        options=AnswerOptions(**given.get("options", {})),
        model=given.get("model", ""),
        assistant=asked_by({"assistant": about}),
    )


def documents_by_default(user: User) -> QuerySet[Document]:
    """Those that such a question searches."""
    assistant = default_assistant()
    if assistant is None or not assistant.collections:
        return default_documents(user)
    ids = assistant.collections
    looked_into = readable_collections(user=user, ids=ids, with_own=bool(assistant.with_own))
    return documents_searched(looked_into)


def filters_of(request: Mapping[str, Any]) -> SearchFilters:
    """Those of a request, in its mode."""
    filters = request.get("filters", {})
    given = SearchFilters(**{**filters, "tags": tuple(filters.get("tags", ()))})
    return given.in_mode(request.get("filters_mode", "strict"))


def _about(assistant: Assistant) -> dict[str, Any]:
    return {
        "id": str(assistant.pk),
        "name": assistant.name,
        "version": assistant.version,
        "instructions": assistant.instructions,
    }


def _of_session(*, user: User, session_id: UUID | None) -> Mapping[str, Any] | None:
    """What a session keeps of the assistant that it was asked by last; None: it begins with this question."""
    if session_id is None:
        return None
    kept = own_sessions(user).filter(pk=session_id).values_list("assistant", flat=True)
    remembered: Mapping[str, Any] | None = kept.order_by().first()
    return remembered


def _remembered(known: Mapping[str, Any], *, user: User) -> Assistant | None:
    """The site's default is at hand, and everybody's."""
    if not known:
        return None
    default = default_assistant()
    if default is not None and str(default.pk) == known["id"]:
        return default
    return visible_assistants(user).filter(pk=known["id"]).first()


def _given(
    assistant: Assistant, request: Mapping[str, Any], about: dict[str, Any]
) -> dict[str, Any]:
    """But for collections. Options belong to a workflow: they count where that does."""
    given: dict[str, Any] = {}
    if "workflow" not in request:
        if assistant.workflow and assistant.workflow not in offered_workflows(settings.RAG):
            about["lost"] = [assistant.workflow]
        elif assistant.workflow:
            given["workflow"] = assistant.workflow
        if assistant.options and "lost" not in about:
            given["options"] = assistant.options
    for name in ("filters", "model"):
        value = getattr(assistant, name)
        if value and name not in request:
            given[name] = value
    return given


def asked_by(request: Mapping[str, Any]) -> AskedBy | None:
    """As the engine has it."""
    about = request.get("assistant")
    if not about:
        return None
    values = {name: about[name] for name in KEPT if name in about}
    return AskedBy(**values | {"lost": tuple(values.get("lost", ()))})
