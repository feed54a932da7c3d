"""What tests of the staff side share: clients, and a site where a revision is live."""

from __future__ import annotations

import pytest

from feedback.models import Revision
from feedback.ranking.guard import GuardReport
from feedback.rounds import round as rounds
from feedback.rounds.round import feedback_round
from retrieval.models import Chunk
from tests.feedback.rated import passage, rate_chunk

QUESTION = "How many books may I borrow?"


def live_revision(text: str = "Ten books.", question: str = QUESTION) -> tuple[Revision, Chunk]:
    """Two people liked the passage, and a round made it live."""
    chunk = passage(text)
    rate_chunk(question, chunk, by=2)
    outcome = feedback_round()
    return Revision.objects.get(pk=outcome.revision), chunk


def held_revision(monkeypatch: pytest.MonkeyPatch, question: str = "How long may I keep a book?") -> Revision:
    """The guard found that a golden question gets worse."""
    report = GuardReport(
        golden=4,
        recent=2,
        ndcg_before=0.81,
        ndcg_after=0.64,
        drop=0.17,
        worse=[{"question": "When does the library open?", "before": 1.0, "after": 0.43}],
        reason="nDCG@10 on the golden questions drops by 0.1700, more than 0.005",
    )
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "guard_measure", lambda *_, **__: report)
        rate_chunk(question, passage("Four weeks."), by=2)
        return Revision.objects.get(pk=feedback_round().revision)
