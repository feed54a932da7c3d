"""Lists of the desk do not read all answers for one page, as far as SQLite tells."""

from __future__ import annotations

import pytest
from django.db import connection

from chat.models import AnswerReview
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
