"""For the account's page: the tokens that a person has used."""

from __future__ import annotations

from django import template
from django.contrib.auth.models import User

from chat.runs.budgets import Allowance, allowances

register = template.Library()


@register.filter
def token_allowances(user: User) -> list[Allowance]:
    """For a day and a month; and of the site, as far as it has a limit."""
    return allowances(user)


@register.filter
def percent_used(allowance: Allowance) -> int:
    """0 to 100, rounded down; 0 where there is no limit."""
    return int(100 * (allowance.share_used or 0))
