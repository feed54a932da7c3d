"""The pages of documents and of what is remembered. What is on them is loaded and changed through the API."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError, NotFoundError
from ragsite.core.localized import localized
from ragsite.core.text import clean_line
from retrieval.knowledge.api.sync_sources import SyncSourceInputSerializer, SyncSourceSerializer
from retrieval.knowledge.choices import collections_offered
from retrieval.knowledge.ingest.sniff import EXTENSIONS
from retrieval.knowledge.selectors import (
    as_uuid,
    document_get,
    owned_collections,
    passages_changed,
    shares_unanswered,
    visible_documents,
)
from retrieval.knowledge.services import documents, sharing
from retrieval.knowledge.services.collections import may_publish, share_answer
from retrieval.knowledge.services.reviews import months_to_next_review
from retrieval.knowledge.services.sync_sources import (
    sync_source_create,
    sync_source_delete,
    sync_source_get,
    sync_source_list,
    sync_source_start,
    sync_source_stop,
    sync_source_update,
)
from retrieval.memory import services
from retrieval.memory.selectors import memory_enabled, memory_list
from retrieval.models import Collection, CollectionPerson, Document, SyncSource

MEMORIES_A_PAGE = 50


@require_safe
@login_required
@ensure_csrf_cookie
def documents_page(request: HttpRequest) -> HttpResponse:
    """The user's collections and documents, and the way in for new ones."""
    boot = {
        "username": request.user.get_username(),
        "default_collection": documents.DEFAULT_COLLECTION,
        "accept": list(EXTENSIONS),
        "limits": {
            "file_bytes": settings.RAG.ingest.max_file_mib * 1024 * 1024,
            "files": settings.RAG.ingest.max_files_per_upload,
        },
    }
    context = {
        "boot": boot,
        "section": "documents",
        "shares": shares_unanswered(asking_user(request)),
    }
    return render(request, "documents/documents.html", context)


@require_POST
@login_required
def share_reply(request: HttpRequest, collection_id: uuid.UUID) -> HttpResponse:
    """Whether the user's questions search what somebody shares with them."""
    accepted = request.POST.get("accepted") == "1"
    try:
        collection = share_answer(
            user=asking_user(request), collection_id=collection_id, accepted=accepted
        )
    except NotFoundError as error:
        raise Http404 from error
    return redirect(
        f"{reverse('documents')}?{urlencode({'collection': collection.address}) if accepted else ''}"
    )


@require_safe
@login_required
@ensure_csrf_cookie
def document_page(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """One document with its chunks; somebody else's answers like none at all."""
    try:
        document = document_get(user=request.user, document_id=document_id)
    except NotFoundError as error:
        raise Http404 from error
    boot = {
        "id": str(document.pk),
        "collection": document.collection.address,
        "review_months": months_to_next_review(document),
    }
    is_owned = owned_collections(request.user).filter(pk=document.collection_id).exists()
    earlier = visible_documents(request.user).filter(newer_versions=document).first()
    changes = (
        passages_changed(earlier, document)
        if earlier and document.status == Document.Status.READY
        else None
    )
    context = {
        "document": document,
        "earlier": earlier,
        "changes": changes,
        "is_owned": is_owned,
        "boot": boot,
        "section": "documents",
    }
    return render(request, "documents/document.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def sharing_page(request: HttpRequest, collection_id: uuid.UUID) -> HttpResponse:
    """Whom one of the user's collections is shared with; from anybody else's it is as far as from none."""
    user = asking_user(request)
    problem = ""
    collection = owned_collections(user).filter(pk=collection_id).first()
    if collection is None:
        raise Http404
    if request.method == "POST":
        name = clean_line(request.POST.get("name", ""))
        role = request.POST.get("role", "")
        try:
            match request.POST.get("action"):
                case "add" if role in CollectionPerson.Role.values:
                    sharing.collection_share(collection=collection, by=user, name=name, role=role)
                case "remove":
                    sharing.collection_share(collection=collection, by=user, name=name)
                case "publish" | "withdraw" as action:
                    sharing.collection_publish(
                        collection=collection, by=user, public=action == "publish"
                    )
            return redirect("sharing", collection_id)
        except AppError as error:
            problem = " ".join(_sentences(error))
            collection.refresh_from_db()
    context = {
        "section": "documents",
        "shared": collection,
        "shared_with": _people_and_groups(collection),
        "own_groups": user.groups.all(),
        "roles": CollectionPerson.Role.choices,
        "may_publish": may_publish(user),
        "looks_up": sharing.may_look_up(user),
        "problem": problem,
    }
    return render(request, "documents/sharing.html", context)


def _people_and_groups(collection: Collection) -> list[tuple[str, str]]:
    """Names of those with whom it is shared, each with their role."""
    people = collection.people.select_related("user")
    rows = [(person.user.username, person.get_role_display()) for person in people]
    editors = set(collection.editor_groups.values_list("pk", flat=True))
    roles = CollectionPerson.Role
    for group in collection.groups.all():
        role = roles.EDITOR if group.pk in editors else roles.READER
        rows.append((group.name, f"{_('Group')} · {role.label}"))
    return rows


@login_required
@require_http_methods(["GET", "POST"])
def document_sharing(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """One document is shared by a collection of its own: the page says so before it moves there."""
    user = asking_user(request)
    problem = ""
    owned = owned_collections(user).values("pk")
    document = visible_documents(user).filter(pk=document_id, collection__in=owned).first()
    if document is None:
        raise Http404
    if request.method == "POST" or sharing.is_alone(document):
        try:
            return redirect("sharing", sharing.document_share_alone(document=document, by=user).pk)
        except AppError as error:
            problem = " ".join(_sentences(error))
    context = {"document": document, "problem": problem, "section": "documents"}
    return render(request, "documents/document_sharing.html", context)


@require_safe
@login_required
def names_offered(request: HttpRequest) -> HttpResponse:
    """Choices for the field of a name, for those who may look people up."""
    names = sharing.names_offered(
        user=asking_user(request), begun=request.GET.get("begun", "").strip()
    )
    return HttpResponse(format_html_join("", '<option value="{}">', ((name,) for name in names)))


@require_safe
@login_required
@ensure_csrf_cookie
def search_page(request: HttpRequest) -> HttpResponse:
    """A search by itself, with the scores of every leg."""
    limits = settings.RAG
    collections = collections_offered(user=request.user)
    context = {
        "section": "documents",
        "limits": limits.limits,
        "search": limits.search,
        "collections": collections,
    }
    return render(request, "documents/search.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def memory_page(request: HttpRequest) -> HttpResponse:
    """What earlier answers have left for this user: found, deleted, switched on and off."""
    user = asking_user(request)
    search = request.GET.get("search", "").strip()[:200]
    if request.method == "POST":
        match request.POST.get("action"):
            case "forget" if key := as_uuid(request.POST.get("memory", "")):
                services.memories_forget(user_id=user.pk, memory_ids=[key])
            case "clear":
                services.memories_forget(user_id=user.pk)
            case "switch":
                services.memory_switch(user=user, enabled=request.POST.get("enabled") == "1")
        return redirect("memory")
    context = {
        "section": "memory",
        "enabled": memory_enabled(user_id=user.pk),
        "search": search,
        "page": Paginator(memory_list(user=user, search=search), MEMORIES_A_PAGE).get_page(
            request.GET.get("page")
        ),
        "most": services.MAX_PER_USER,
    }
    return render(request, "memory/memory.html", context)


NEW_SOURCE = dict.fromkeys(
    ("kind", "name", "collection", "address", "username", "branch", "region"), ""
) | {
    "every_hours": "24",
    "depth": "1",
    "most_pages": "200",
}


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def sources_page(request: HttpRequest) -> HttpResponse:
    """The user's sources with their last runs, and the form for a new one, which stays filled in where it is wrong."""
    user = asking_user(request)
    problems = []
    if request.method == "POST":
        fields = SyncSourceInputSerializer().fields
        sent: dict[str, Any] = {
            name: value for name, value in request.POST.items() if name in fields
        }
        try:
            row = sync_source_create(owner=user, **{"kind": "", "collection": "", **sent})
            sync_source_start(row=row)
            return redirect("sources")
        except AppError as error:
            problems = _sentences(error)
    context = {
        "section": "documents",
        "rows": [SyncSourceSerializer(row).data for row in sync_source_list(user=user)],
        "kinds": [
            choice for choice in SyncSource.Kind.choices if choice[0] != "folder" or user.is_staff
        ],
        "folders": settings.SITE.source_folders if user.is_staff else None,
        "given": NEW_SOURCE | request.POST.dict(),
        "problems": problems,
    }
    return render(request, "documents/sources.html", context, status=400 if problems else 200)


@require_POST
@login_required
def source_act(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    """Run it, dry or not; end a run; change its schedule or credentials; delete it."""
    try:
        row = sync_source_get(user=asking_user(request), source_id=source_id)
    except NotFoundError as error:
        raise Http404 from error
    match request.POST.get("action"):
        case "delete":
            sync_source_delete(row=row)
            messages.success(request, _("Source deleted. Its documents stay."))
        case "stop":
            sync_source_stop(row=row)
            messages.success(request, _("The run ends within a few seconds."))
        case "run" | "dry_run" as action:
            sync_source_start(row=row, dry_run=action == "dry_run")
            messages.success(request, _("It starts in a moment."))
        case _:
            names = [
                "every_hours",
                *(("username", "password") if request.POST.get("password") else ()),
            ]
            try:
                sync_source_update(
                    row=row, changes={name: request.POST.get(name, "") for name in names}
                )
                messages.success(request, _("Saved."))
            except AppError as error:
                messages.error(request, " ".join(_sentences(error)))
    return redirect("sources")


def _sentences(error: AppError) -> list[str]:
    """What is wrong with each field, else with all of it, in the active language."""
    fields = {} if isinstance(error, NotFoundError) else error.fields
    sentences = [sentence for of_field in fields.values() for sentence in of_field]
    return [str(localized(sentence)) for sentence in sentences or [error.message]]
