"""The pages under /administration/, for superusers and the group Administrators; and the door of an invitation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from allauth.account.decorators import reauthentication_required
from allauth.account.utils import perform_login
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import Group, User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chat.review.desk_page import desk_page, problem_sentences
from chat.review.roles import SHIPPED, DeskAccess
from ragsite.administration import people
from ragsite.administration.state import figures, health_parts, matters, setup_findings, versions
from ragsite.core.errors import AppError, NotFoundError
from ragsite.core.text import row_id

PEOPLE_A_PAGE = 50
GROUPS_SHOWN = 200
SEARCH_CHARS = 150


@never_cache
@desk_page("administer", query=())
def overview_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """What needs a person, and how much there is of everything."""
    parts = health_parts()
    context = {
        "section": "administration",
        "place": "overview",
        "matters": matters(access=access, parts=parts, setup=setup_findings()),
        "parts": parts,
        "figures": figures(),
        "versions": versions(),
    }
    return render(request, "administration/overview.html", context)


@never_cache
@desk_page("administer", query=())
def health_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """What /readyz knows, and how the processes of the site are set up, with what to do about it."""
    context = {
        "section": "administration",
        "place": "health",
        "parts": health_parts(),
        "setup": setup_findings(),
    }
    return render(request, "administration/health.html", context)


# ------------------------------------------------------------------------------------------------ people
@never_cache
@desk_page("administer", methods=("GET", "HEAD", "POST"), query=("page", "search"))
@reauthentication_required(allow_get=True)
def people_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """The list; POST invites somebody, whose link is shown this once."""
    problems: list[str] = []
    invited: User | None = None
    if request.method == "POST":
        try:
            name = request.POST.get("name", "")
            role = request.POST.get("role", "")
            invited = people.person_invite(name=name, by=access.user, role=role)
        except AppError as error:
            problems = problem_sentences(error)
    return _people(request, access, invited=invited, problems=problems)


@never_cache
@desk_page("administer", methods=("GET", "POST"))
@reauthentication_required(allow_get=True)
def person_page(request: HttpRequest, *, access: DeskAccess, user_id: int) -> HttpResponse:
    """One account; POST changes it, by `action`."""
    user = get_object_or_404(User, pk=user_id)
    if request.method == "POST":
        act = _action(request, user, access.user)
        try:
            act()
        except AppError as error:
            messages.error(request, " ".join(problem_sentences(error)))
        else:
            if request.POST["action"] == "invite":
                user.refresh_from_db()
                return _person(request, access, user, link=_invitation_link(request, user))
            messages.success(request, _("Saved."))
        return redirect("administration_person", user_id)
    return _person(request, access, user)


def _action(request: HttpRequest, user: User, by: User) -> Callable[[], None]:
    match request.POST.get("action"):
        case "change":
            chosen = [key for text in request.POST.getlist("groups") if (key := row_id(text))]
            offered = request.POST.get("offered", "").split(",")
            role = request.POST.get("role", "")
            return partial(
                people.person_change,
                user=user,
                by=by,
                role=role,
                group_ids=chosen if by.is_superuser else None,
                among=[key for text in offered if (key := row_id(text))],
            )
        case "close" | "open" as action:
            return partial(people.person_close, user=user, by=by, active=action == "open")
        case "sign_out":
            return partial(people.person_sign_out, user=user, by=by)
        case "invite":
            return partial(people.person_invite_again, user=user, by=by)
    raise NotFoundError


def _people(
    request: HttpRequest, access: DeskAccess, *, invited: User | None, problems: list[str]
) -> HttpResponse:
    search = request.GET.get("search", "").strip()[:SEARCH_CHARS]
    page = Paginator(people.people_list(search=search), PEOPLE_A_PAGE).get_page(
        request.GET.get("page")
    )
    context = {
        "section": "administration",
        "place": "people",
        "people": people.people_shown(users=list(page), by=access.user),
        "page": page,
        "search": search,
        "roles": people.roles_given_by(access.user),
        "usage_days": people.USAGE_DAYS,
        "invitation_days": people.INVITATION_DAYS,
        "invited": invited,
        "link": _invitation_link(request, invited) if invited else "",
        "problems": problems,
        "given": {
            name: request.POST.get(name, "") if problems else "" for name in ("name", "role")
        },
    }
    return render(request, "administration/people.html", context, status=400 if problems else 200)


def _person(
    request: HttpRequest, access: DeskAccess, user: User, *, link: str = ""
) -> HttpResponse:
    [person] = people.people_shown(users=[user], by=access.user)
    groups = _groups_offered(person) if access.user.is_superuser else []
    context = {
        "section": "administration",
        "place": "people",
        "person": person,
        "roles": people.roles_given_by(access.user),
        "groups": groups,
        "offered": ",".join(str(group.pk) for group, _is_member in groups),
        "groups_left": Group.objects.exclude(name__in=SHIPPED).count() - len(groups),
        "usage_days": people.USAGE_DAYS,
        "invitation_days": people.INVITATION_DAYS,
        "link": link,
    }
    return render(request, "administration/person.html", context)


def _groups_offered(person: people.Person) -> list[tuple[Group, bool]]:
    """Each with whether the person is in it: all of the person's own, and the first of the others."""
    own = [group.pk for group in person.groups]
    groups = Group.objects.exclude(name__in=SHIPPED).order_by("name")
    first = groups.exclude(pk__in=own)[:GROUPS_SHOWN]
    offered = sorted([*person.groups, *first], key=lambda group: group.name)
    return [(group, group.pk in own) for group in offered]


def _invitation_link(request: HttpRequest, user: User) -> str:
    return request.build_absolute_uri(reverse("invitation", args=[people.invitation_of(user)]))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation_page(request: HttpRequest, token: str) -> HttpResponse:
    """Choose a password, then be signed in. A session of somebody else in this browser ends with it."""
    try:
        user = people.invited_by_link(token)
    except NotFoundError:
        return render(request, "accounts/invitation_over.html", status=404)
    form = SetPasswordForm(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        logout(request)
        response: HttpResponse = perform_login(request, user)
        return response
    return render(request, "accounts/invitation.html", {"form": form, "name": user.get_username()})
