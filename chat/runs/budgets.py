"""How many tokens somebody may still use today and this month, and what is refused once they are used up.

A person's own budget counts before those of their groups, of which the most generous does, and these before that of
each person. The site's budget holds for all beside it. Answers that are being written end, so that what they use may go
beyond: nothing is reserved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Literal, get_args

from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from ragsite.core.errors import AppError
from ragsite.core.messages import worded

Period = Literal["day", "month"]
Whose = Literal["person", "site"]
PERIODS: tuple[Period, ...] = get_args(Period)
REFRESH_S = 2.0  # how often a process looks whether there are budgets
SITE_SUM_S = 30.0  # how long the sum of everybody is believed: on a large site it takes 0.1 s
UNLIMITED = 2**62  # within the database; None elsewhere
NEARLY = 0.8  # used: from then on people are shown what is left
# Asked before the first token: Django would take ten times as long to build these statements as the database to answer.
BY_SUBJECT = "SELECT subject, MAX(day_tokens), MAX(month_tokens) FROM chat_budget GROUP BY subject"
USED_BY_ALL = (
    "(SELECT SUM(prompt_tokens + completion_tokens) FROM chat_usageday WHERE day >= %({period})s)"
)
USED = USED_BY_ALL.removesuffix(")") + " AND user_id = %(user)s)"
OWN_LIMIT = (
    "SELECT COALESCE({period}_tokens, %(unlimited)s) FROM chat_budget WHERE user_id = %(user)s"
)
MOST_OF_GROUPS = (
    "SELECT MAX(COALESCE({period}_tokens, %(unlimited)s)) FROM chat_budget AS budget"
    " JOIN auth_user_groups AS member ON member.group_id = budget.group_id"
    " WHERE member.user_id = %(user)s"
)
LIMIT = f"COALESCE(({OWN_LIMIT}), ({MOST_OF_GROUPS}))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Tokens of a person, or of the site, in a period. limit: None where there is none."""

    period: Period
    whose: Whose
    used: int
    limit: int | None
    starts_again_at: datetime

    @property
    def left(self) -> int | None:
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def is_used_up(self) -> bool:
        return self.limit is not None and self.used >= self.limit

    @property
    def share_used(self) -> float | None:
        """0 to 1; None where there is no limit."""
        if self.limit is None:
            return None
        return min(1.0, self.used / self.limit) if self.limit else 1.0

    @property
    def is_nearly_used(self) -> bool:
        return self.share_used is not None and self.share_used >= NEARLY


class BudgetUsedUpError(AppError):
    """429, before anything is asked of a model; `Retry-After` is when the period ends."""

    code = "budget_used_up"
    status = 429

    def __init__(self, allowance: Allowance) -> None:
        wait_s = math.ceil((allowance.starts_again_at - timezone.now()).total_seconds())
        super().__init__(_used_up(allowance), retry_after_s=max(1, wait_s))


def _used_up(allowance: Allowance) -> str:
    """What is used, the limit, and when it starts again, in the site's time zone."""
    values = {
        "used": allowance.used,
        "limit": allowance.limit,
        "time": allowance.starts_again_at.strftime("%Y-%m-%d %H:%M %Z"),
    }
    match allowance.period, allowance.whose:
        case "day", "person":
            return worded(
                "You have used {used:,} of your {limit:,} tokens for today."
                " You can ask again from {time}.",
                **values,
            )
        case "month", "person":
            return worded(
                "You have used {used:,} of your {limit:,} tokens for this month."
                " You can ask again from {time}.",
                **values,
            )
        case "day", _:
            return worded(
                "The site has used {used:,} of its {limit:,} tokens for today."
                " You can ask again from {time}.",
                **values,
            )
    return worded(
        "The site has used {used:,} of its {limit:,} tokens for this month."
        " You can ask again from {time}.",
        **values,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _BudgetState:
    """What this process knows of the site. any_rows: whether anybody has a budget. site, each: those of all together
    and of each person, as far as they have a limit."""

    any_rows: bool = False
    site: Mapping[Period, int] = field(default_factory=dict)
    each: Mapping[Period, int] = field(default_factory=dict)


_known = _BudgetState()
_looked_at = float("-inf")
_site_used: dict[Period, int] = {}
_site_counted: tuple[float, date | None] = (float("-inf"), None)


# ------------------------------------------------------------------------------------------------ asked before an answer
def has_budgets() -> bool:
    """Whether anybody has one; as of REFRESH_S ago."""
    return _budgets_known().any_rows


def budget_check(user: User) -> None:
    """One statement, and none where nobody has a budget. Raises BudgetUsedUpError."""
    known = _budgets_known()
    if known.any_rows:
        _check_allowances(_allowances(user, known, at_once=False))


def site_budget_check() -> None:
    """For work that is nobody's. Raises BudgetUsedUpError."""
    _check_allowances(_site_allowances(_budgets_known()))


def _check_allowances(allowances: list[Allowance]) -> None:
    """The one that lasts longest says it."""
    over = [allowance for allowance in allowances if allowance.is_used_up]
    if over:
        raise BudgetUsedUpError(max(over, key=lambda allowance: allowance.starts_again_at))


def allowances(user: User) -> list[Allowance]:
    """Of the person for a day and a month; and of the site, as far as it has a limit."""
    return _allowances(user, _budgets_known(at_once=True), at_once=True)


def _site_allowances(known: _BudgetState) -> list[Allowance]:
    """As far as the site has a limit."""
    return [_of_the_site(period, known, _used(period)) for period in known.site]


def site_sums() -> dict[Period, int]:
    """What all people and the site's own work have used."""
    return {period: _used(period) for period in PERIODS}


def _allowances(user: User, known: _BudgetState, *, at_once: bool) -> list[Allowance]:
    """at_once: the site's sum is counted now; else one of this process's last SITE_SUM_S may serve."""
    counted = list(known.site) if at_once or _site_sum_is_old(known) else []
    row = _row(
        {f"used_{period}": USED.format(period=period) for period in PERIODS}
        | {f"limit_{period}": LIMIT.format(period=period) for period in PERIODS}
        | {f"site_{period}": USED_BY_ALL.format(period=period) for period in counted},
        user_id=user.pk,
    )
    _remember_site_sum({period: row[f"site_{period}"] or 0 for period in counted})
    found = [
        Allowance(
            period=period,
            whose="person",
            used=row[f"used_{period}"] or 0,
            limit=_limit_or_none(row[f"limit_{period}"], known.each.get(period)),
            starts_again_at=starts_again(period),
        )
        for period in PERIODS
    ]
    return found + [_of_the_site(period, known, _site_used.get(period, 0)) for period in known.site]


def _of_the_site(period: Period, known: _BudgetState, used: int) -> Allowance:
    return Allowance(
        period=period,
        whose="site",
        used=used,
        limit=known.site[period],
        starts_again_at=starts_again(period),
    )


# ------------------------------------------------------------------------------------------------ in the database
def _budgets_known(*, at_once: bool = False) -> _BudgetState:
    global _known, _looked_at
    if at_once or time.monotonic() - _looked_at >= REFRESH_S:
        with connection.cursor() as cursor:
            cursor.execute(BY_SUBJECT)
            found = {subject: _limited(limits) for subject, *limits in cursor.fetchall()}
        _known = _BudgetState(
            any_rows=bool(found), site=found.get("site", {}), each=found.get("each", {})
        )
        _looked_at = time.monotonic()
    return _known


def _limited(limits: Sequence[int | None]) -> dict[Period, int]:
    """limits: of a day and of a month."""
    found = dict(zip(PERIODS, limits, strict=True))
    return {period: tokens for period, tokens in found.items() if tokens is not None}


def budgets_changed() -> None:
    """This process looks again at the next question; others do within REFRESH_S."""
    global _looked_at
    _looked_at = float("-inf")


def _row(columns: Mapping[str, str], *, user_id: int | None = None) -> dict[str, int | None]:
    """One statement. columns: a scalar query by name; PostgreSQL gives sums as decimals."""
    adapted = connection.ops.adapt_datefield_value
    values: dict[str, str | int | None] = {"user": user_id, "unlimited": UNLIMITED}
    values |= {period: adapted(began(period)) for period in PERIODS}
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(columns.values())}", values)
        found = cursor.fetchone()
    return {
        name: None if value is None else int(value)
        for name, value in zip(columns, found, strict=True)
    }


def _limit_or_none(found: int | None, each: int | None) -> int | None:
    """each: what each person may use who has no other budget."""
    if found is None:
        return each
    return None if found == UNLIMITED else found


def _used(period: Period) -> int:
    return _row({"used": USED_BY_ALL.format(period=period)})["used"] or 0


def _site_sum_is_old(known: _BudgetState) -> bool:
    counted_at, day = _site_counted
    if day != timezone.localdate() or not _site_used.keys() >= known.site.keys():
        return True
    return time.monotonic() - counted_at >= SITE_SUM_S


def _remember_site_sum(sums: dict[Period, int]) -> None:
    global _site_used, _site_counted
    if sums:
        _site_used = sums
        _site_counted = (time.monotonic(), timezone.localdate())


# ------------------------------------------------------------------------------------------------ time
def began(period: Period) -> date:
    """Its first day, in the site's time zone."""
    today = timezone.localdate()
    return today if period == "day" else today.replace(day=1)


def starts_again(period: Period) -> datetime:
    """The midnight at which the next one begins, in the site's time zone."""
    first = began(period)
    ahead = first + timedelta(days=1 if period == "day" else 31)
    begin = ahead if period == "day" else ahead.replace(day=1)
    return timezone.make_aware(datetime(begin.year, begin.month, begin.day))
