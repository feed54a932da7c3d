"""The pages of assistants: which there are, one to change, and whom it is shared with."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chat.assistant_form import AssistantForm
from chat.assistant_selectors import (
    assistant_get,
    assistant_list,
    assistant_owned,
    owned_assistants,
)
from chat.models import Assistant
from chat.services.assistants import (
    assistant_create,
    assistant_duplicate,
    assistant_make_default,
    assistant_publish,
    assistant_share,
    assistant_update,
)
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError, NotFoundError
from ragsite.core.localized import localized
from ragsite.core.text import clean_line
from retrieval.knowledge.services.collections import may_publish
from retrieval.knowledge.services.sharing import may_look_up

A_PAGE = 50


@require_safe
@login_required
def assistants_page(request: HttpRequest) -> HttpResponse:
    """Those that the user may ask by."""
    user = asking_user(request)
    page = Paginator(assistant_list(user=user), A_PAGE).get_page(request.GET.get("page"))
    keys = [assistant.pk for assistant in page.object_list]
    owned = set(owned_assistants(user).filter(pk__in=keys).values_list("pk", flat=True))
    rows = [(assistant, assistant.pk in owned) for assistant in page.object_list]
    return render(
        request, "assistants/list.html", {"section": "assistants", "page": page, "rows": rows}
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def assistant_new(request: HttpRequest) -> HttpResponse:
    """A new one."""
    user = asking_user(request)
    form = AssistantForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        try:
            assistant = assistant_create(by=user, **form.values)
            return redirect("assistant", assistant.pk)
        except AppError as error:
            form.refuse(error)
    return _form(request, form, None)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def assistant_page(request: HttpRequest, assistant_id: uuid.UUID) -> HttpResponse:
    """One of the user's, to be changed."""
    user = asking_user(request)
    assistant = _owned(request, assistant_id)
    form = AssistantForm(request.POST or None, user=user, assistant=assistant)
    if request.method == "POST" and form.is_valid():
        form.values.pop("of_site", None)
        try:
            assistant_update(assistant=assistant, changes=form.values, by=user)
            messages.success(request, _("Saved. Questions use it from now on."))
            return redirect("assistant", assistant.pk)
        except AppError as error:
            form.refuse(error)
    return _form(request, form, assistant)


def _form(request: HttpRequest, form: AssistantForm, assistant: Assistant | None) -> HttpResponse:
    context = {"section": "assistants", "form": form, "assistant": assistant}
    status = 400 if form.errors else 200
    return render(request, "assistants/form.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def assistant_sharing(request: HttpRequest, assistant_id: uuid.UUID) -> HttpResponse:
    """Whom one of the user's is shared with."""
    user = asking_user(request)
    assistant = _owned(request, assistant_id)
    problem = ""
    if request.method == "POST":
        name = clean_line(request.POST.get("name", ""))
        try:
            match request.POST.get("action"):
                case "add" | "remove" as action:
                    removes = action == "remove"
                    assistant_share(assistant=assistant, by=user, name=name, remove=removes)
                case "publish" | "withdraw" as action:
                    assistant_publish(assistant=assistant, by=user, public=action == "publish")
                case "default" | "no_default" as action:
                    is_default = action == "default"
                    assistant_make_default(assistant=assistant, by=user, default=is_default)
            return redirect("assistant_sharing", assistant_id)
        except AppError as error:
            reasons = [reason for field in error.fields.values() for reason in field]
            problem = " ".join(str(localized(reason)) for reason in reasons or [error.message])
            assistant.refresh_from_db()
    context = {
        "section": "assistants",
        "shared": assistant,
        "shared_with": _people_and_groups(assistant),
        "own_groups": user.groups.all(),
        "may_publish": may_publish(user),
        "looks_up": may_look_up(user),
        "problem": problem,
    }
    return render(request, "assistants/sharing.html", context)


def _people_and_groups(assistant: Assistant) -> list[tuple[str, str]]:
    """Names of those with whom it is shared; a group says that it is one."""
    people = assistant.people.order_by("username").values_list("username", flat=True)
    groups = assistant.groups.order_by("name").values_list("name", flat=True)
    return [*((name, "") for name in people), *((name, _("Group")) for name in groups)]


@require_POST
@login_required
def assistant_copy(request: HttpRequest, assistant_id: uuid.UUID) -> HttpResponse:
    """One of the user's own like one that they may ask by."""
    user = asking_user(request)
    try:
        assistant = assistant_get(user=user, address=str(assistant_id))
        copy = assistant_duplicate(assistant=assistant, by=user)
        if left_out := len(assistant.collections) - len(copy.collections):
            _say_left_out(request, left_out)
    except NotFoundError as error:
        raise Http404 from error
    except AppError as error:
        messages.error(request, str(localized(error.message)))
        return redirect("assistants")
    return redirect("assistant", copy.pk)


def _say_left_out(request: HttpRequest, count: int) -> None:
    sentence = ngettext(
        "{count} collection that you may not read is left out.",
        "{count} collections that you may not read are left out.",
        count,
    )
    messages.info(request, sentence.format(count=count))


@require_POST
@login_required
def assistant_delete(request: HttpRequest, assistant_id: uuid.UUID) -> HttpResponse:
    """Conversations go on without it."""
    assistant = _owned(request, assistant_id)
    assistant.delete()
    messages.success(request, _("“{name}” is deleted.").format(name=assistant.name))
    return redirect("assistants")


def _owned(request: HttpRequest, assistant_id: uuid.UUID) -> Assistant:
    """Raises Http404."""
    try:
        return assistant_owned(user=asking_user(request), assistant_id=assistant_id)
    except NotFoundError as error:
        raise Http404 from error
