"""Budgets as administrators set them; the log tells each change. What they mean: `chat.runs.budgets`."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from chat.models import Budget
from chat.models.budgets import MOST_TOKENS
from chat.runs.budgets import budgets_changed
from ragsite.core.database import after_commit
from ragsite.core.errors import InvalidInputError, NotFoundError
from ragsite.core.messages import worded


def budget_list() -> QuerySet[Budget]:
    """Those of all first, then groups and people by name."""
    by_name = [F(name).asc(nulls_first=True) for name in ("user__username", "group__name")]
    return Budget.objects.select_related("user", "group").order_by(*by_name, "-subject")


@transaction.atomic
def budget_set(*, by: User, subject: str, name: str, day: str, month: str) -> Budget:
    """Make or change the budget of a subject. name: of a group or person. day, month: digits; empty: no limit.

    Raises InvalidInputError.
    """
    if subject not in Budget.Subject.values:
        raise InvalidInputError(fields={"subject": [worded("Choose whose budget it is.")]})
    of: dict[str, Any] = {"subject": subject}
    if subject == Budget.Subject.GROUP:
        of["group"] = Group.objects.filter(name=name.strip()).first()
    if subject == Budget.Subject.USER:
        of["user"] = User.objects.filter(username=name.strip()).first()
    if None in of.values():
        raise InvalidInputError(
            fields={"name": [worded("There is no group or person of this name.")]}
        )
    tokens = {"day_tokens": _tokens("day", day), "month_tokens": _tokens("month", month)}
    budget, is_new = Budget.objects.update_or_create(**of, defaults=tokens)
    _log(budget, by, ADDITION if is_new else CHANGE, _described(budget))
    return budget


@transaction.atomic
def budget_remove(*, by: User, budget_id: int) -> None:
    """Raises NotFoundError."""
    budget = Budget.objects.filter(pk=budget_id).first()
    if budget is None:
        raise NotFoundError
    _log(budget, by, DELETION, _("Budget removed."))
    budget.delete()


def _tokens(name: str, text: str) -> int | None:
    """Raises InvalidInputError."""
    digits = text.strip()
    if not digits:
        return None
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 16):
        raise InvalidInputError(
            fields={name: [worded("Enter a whole number of tokens, or nothing.")]}
        )
    if int(digits) > MOST_TOKENS:
        raise InvalidInputError(
            fields={name: [worded("At most {most:,} tokens.", most=MOST_TOKENS)]}
        )
    return int(digits)


def _described(budget: Budget) -> str:
    figures = (budget.day_tokens, budget.month_tokens)
    day, month = ("–" if tokens is None else f"{tokens:,}" for tokens in figures)
    return _("Tokens a day: %(day)s; a month: %(month)s") % {"day": day, "month": month}


def _log(budget: Budget, by: User, flag: int, what: str) -> None:
    LogEntry.objects.log_actions(by.pk, [budget], flag, change_message=what, single_object=True)
    after_commit(budgets_changed)
