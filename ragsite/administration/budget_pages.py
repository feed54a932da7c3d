"""The page /administration/budgets/."""

from __future__ import annotations

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.models import Group
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from chat.models import Budget
from chat.review.desk_page import desk_page, problem_sentences
from chat.review.roles import DeskAccess
from chat.runs.budgets import site_sums
from ragsite.administration.budgets import budget_list, budget_remove, budget_set
from ragsite.core.errors import AppError, NotFoundError
from ragsite.core.text import row_id

BUDGETS_A_PAGE = 50
NAMES_OFFERED = 200
GIVEN = ("subject", "name", "day", "month")


@never_cache
@desk_page("administer", methods=("GET", "HEAD", "POST"), query=("page", "edit"))
@reauthentication_required(allow_get=True)
def budgets_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    """The list; POST sets the budget of a subject, or removes one, by `action`."""
    problems: list[str] = []
    if request.method == "POST":
        try:
            _act(request, access)
        except AppError as error:
            problems = problem_sentences(error)
        else:
            messages.success(request, _("Saved."))
            return redirect("administration_budgets")
    context = {
        "section": "administration",
        "place": "budgets",
        "page": Paginator(budget_list(), BUDGETS_A_PAGE).get_page(request.GET.get("page")),
        "subjects": Budget.Subject.choices,
        "groups": Group.objects.order_by("name").values_list("name", flat=True)[:NAMES_OFFERED],
        "sums": site_sums(),
        "given": _given(request, problems),
        "problems": problems,
    }
    return render(request, "administration/budgets.html", context, status=400 if problems else 200)


def _act(request: HttpRequest, access: DeskAccess) -> None:
    values = {name: request.POST.get(name, "") for name in GIVEN}
    match request.POST.get("action"):
        case "set":
            budget_set(by=access.user, **values)
        case "remove" if number := row_id(request.POST.get("budget", "")):
            budget_remove(by=access.user, budget_id=number)
        case _:
            raise NotFoundError


def _given(request: HttpRequest, problems: list[str]) -> dict[str, str]:
    """What stands in the form: what was refused, or the budget that is to be changed."""
    if problems:
        return {name: request.POST.get(name, "") for name in GIVEN}
    number = row_id(request.GET.get("edit", ""))
    budget = budget_list().filter(pk=number).first() if number else None
    if budget is None:
        return dict.fromkeys(GIVEN, "")
    return {
        "subject": budget.subject,
        "name": budget.name,
        "day": "" if budget.day_tokens is None else str(budget.day_tokens),
        "month": "" if budget.month_tokens is None else str(budget.month_tokens),
    }
