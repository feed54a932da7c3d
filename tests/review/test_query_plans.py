"""Lists of the desk and of the administration do not read all answers for one page, as far as SQLite tells."""

from __future__ import annotations

from typing import Any, cast

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import Model, QuerySet
from django.test import RequestFactory

from chat.models import AnswerReview, Message, Session
from chat.review.filters import RatingFilter
from chat.review.queue import SORTS, Sort

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by what is in its tables"),
]


@pytest.mark.parametrize("sort", ["newest", "oldest", "worst"])
@pytest.mark.parametrize("state", ["", *AnswerReview.State.values])
def test_the_queue_of_a_state_comes_sorted_from_an_index(state: str, sort: Sort) -> None:
    rows = AnswerReview.objects.filter(**({"state": state} if state else {}))
    for order in (rows.order_by(*SORTS[sort]), rows.order_by(*SORTS[sort]).reverse()):
        assert "ORDER BY" not in order[:50].explain()


@pytest.mark.parametrize("model", [Session, Message])
@pytest.mark.parametrize("rating", ["bad", "good", "any"])
def test_ratings_are_read_once_and_not_for_every_row(model: type[Model], rating: str) -> None:
    request = RequestFactory().get("/")
    chosen = RatingFilter(request, {"rating": [rating]}, model, admin.site.get_model_admin(model))
    rows = cast("QuerySet[Any]", chosen.queryset(request, model._default_manager.order_by()))
    assert "CORRELATED" not in rows.explain()
