"""Filters that are kept under a name."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from chat.models import SavedView
from chat.review.fields import FILTER_NAMES, FiltersSerializer, read_filters
from chat.review.queue import answers_queue
from chat.review.roles import DeskAccess
from ragsite.core.api.fields import checked, unknown_fields
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError
from ragsite.core.text import clean_line
from ragsite.core.wording import worded

MOST_VIEWS = 50  # of one person
MOST_SHOWN = 200
COME_AND_GO = ("label", "model", "reviewer")


def saved_views(access: DeskAccess) -> list[SavedView]:
    """One's own and the shared ones, as far as one's role may use their filters: a view may name a person."""
    views = SavedView.objects.filter(Q(owner=access.user) | Q(shared=True)).select_related("owner")[:MOST_SHOWN]
    return [view for view in views if _is_usable(access, view.filters)]


def saved_view_create(*, access: DeskAccess, name: str, filters: Mapping[str, str], shared: bool) -> SavedView:
    """Raises InvalidInputError, ValidationError and RightMissingError for what the queue would refuse."""
    name = clean_line(name)
    if not name:
        raise InvalidInputError(fields={"name": [worded("Give it a name.")]})
    if unknown := unknown_fields(filters, FILTER_NAMES):
        raise InvalidInputError(fields={"filters": unknown})
    filters = {key: value for key, value in filters.items() if value}
    _check(access, filters)
    if SavedView.objects.filter(owner=access.user).count() >= MOST_VIEWS:
        raise InvalidInputError(worded("You have {most} saved views; delete one first.", most=MOST_VIEWS))
    try:
        with transaction.atomic():
            return SavedView.objects.create(owner=access.user, name=name, filters=dict(filters), shared=shared)
    except IntegrityError as error:
        raise InvalidInputError(
            fields={"name": [worded("You have a view of that name; choose another one.")]}
        ) from error


def saved_view_delete(*, access: DeskAccess, view_id: UUID) -> None:
    """One's own; administrators of the desk those that are shared, too. Raises NotFoundError."""
    mine = Q(owner=access.user)
    if access.may("administer"):
        mine |= Q(shared=True)
    if not SavedView.objects.filter(mine, pk=view_id).delete()[0]:
        raise NotFoundError


def _check(access: DeskAccess, filters: Mapping[str, str]) -> None:
    query = QueryDict(mutable=True)
    query.update(filters)
    answers_queue(access=access, filters=read_filters(checked(FiltersSerializer, query)))


def _is_usable(access: DeskAccess, filters: Mapping[str, str]) -> bool:
    """Also while no answer has its label, model or reviewer, which the next one may have."""
    try:
        _check(access, {name: value for name, value in filters.items() if name not in COME_AND_GO})
    except (AppError, ValidationError):
        return False
    return True
