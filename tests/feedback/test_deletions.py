"""Documents, accounts and ratings that are deleted between rounds, and in the midst of one."""

from __future__ import annotations

from typing import Any

import pytest

from feedback.models import Revision
from feedback.ranking.guard import GuardReport
from feedback.rounds import round as rounds
from feedback.rounds.round import feedback_round
from tests.feedback.rated import make_answer, passage, rate, rate_chunk, regular

QUESTION = "How many books may I borrow?"
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("no_questions_to_measure"),
]


# ------------------------------------------------------------------------------------------------ in a round
@pytest.mark.parametrize("goes", ["document", "account", "asker"])
def test_what_is_deleted_while_the_guard_measures_is_left_out(
    goes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = passage("Ten books."), passage("Four weeks.")
    asker, staff = regular(), regular(is_staff=True)
    rate(make_answer(QUESTION, [gone], user=asker), 5)
    rate_chunk("How long may I keep them?", stays, by=2)

    def measure(*_: Any, **__: Any) -> GuardReport:
        {"document": gone.document, "account": staff, "asker": asker}[goes].delete()
        return GuardReport()

    monkeypatch.setattr(rounds, "guard_measure", measure)
    outcome = feedback_round(by=staff)
    revision = Revision.objects.get()
    left = {boost.document_id for boost in revision.boosts.all()}
    assert outcome.status == "live"
    assert left == {stays.document_id} | ({gone.document_id} if goes == "account" else set())
    assert revision.made_by == (None if goes == "account" else staff)
