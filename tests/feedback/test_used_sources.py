"""Sources that were opened or copied from → weak evidence → boosts."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import IntegrityError, transaction

from chat.models import Message
from feedback.curation.evidence_selectors import vote_shown, votes_on
from feedback.models import Evidence, RatedQuestion, RevisionEvent, SourceUse
from feedback.ranking.drafting import uses_weighed
from feedback.ranking.exposure import PRIOR_EXPONENT
from feedback.ranking.snapshot import Content, parameters
from feedback.ratings.services import rating_delete, rating_set, source_use_record
from feedback.rounds.evidence import Gathered, evidence_gather
from feedback.rounds.exposure import examination_by_place
from feedback.rounds.proposals import Proposal, ballot_load, ballot_weighed, proposal_make
from retrieval.models import Document
from tests.factories import UserFactory
from tests.feedback.rated import answered, passage, rate, regular

pytestmark = pytest.mark.django_db
QUESTION = "How many books may I borrow?"
Action = SourceUse.Action


def use(message: Message, marker: int = 1, action: SourceUse.Action = Action.OPENED) -> SourceUse:
    return source_use_record(user=message.session.user, message_id=message.pk, marker=marker, action=action)


def weights() -> list[float]:
    evidence_gather()
    return [round(row.weight, 3) for row in Evidence.objects.order_by("pk")]


def proposed() -> Proposal:
    evidence_gather()
    return proposal_make(ballot_load(), Content.empty(parameters()))


def test_an_opened_source_is_weak_evidence_for_this_question_and_none_for_its_document() -> None:
    chunk = passage("Undergraduates may borrow ten books.")
    opened = use(answered(QUESTION, [chunk]))
    assert evidence_gather() == Gathered(uses=1, evidence=1)
    row = Evidence.objects.get()
    assert (row.weight, row.document_weight, row.rating, row.use) == (0.1, 0.0, None, opened)
    assert (row.passage.chunk_id, row.question.text) == (chunk.pk, QUESTION)


def test_a_copied_passage_counts_more() -> None:
    message = answered(QUESTION, [passage("Ten books.")])
    use(message)
    use(message, action=Action.COPIED)
    assert weights() == [0.25]


def test_what_stood_further_down_counts_by_the_inverse_of_its_place() -> None:
    message = answered(QUESTION, [passage(text) for text in ("Ten books.", "Four weeks.", "Two fines.", "One desk.")])
    use(message, marker=4)
    assert weights() == [0.2]
    stored = SourceUse.objects.get()
    assert (stored.place, stored.examined) == (4, pytest.approx(4**-PRIOR_EXPONENT))


def test_sources_that_nobody_opened_get_no_evidence() -> None:
    use(answered(QUESTION, [passage("Ten books."), passage("Four weeks.")]), marker=2)
    assert len(weights()) == 1


def test_a_source_that_was_not_cited_can_be_opened() -> None:
    message = answered(QUESTION, [passage("Ten books."), passage("Four weeks.")], text="It is so [1].")
    use(message, marker=2)
    assert weights() == [round(0.1 * 2**PRIOR_EXPONENT, 3)]


def test_a_rating_of_the_source_stands_in_place_of_opening_it() -> None:
    message = answered(QUESTION, [passage("Ten books.")])
    use(message)
    assert weights() == [0.1]
    rate(message, 1, "wrong_source", marker=1)
    assert weights() == [-1.0]


def test_opening_counts_again_once_the_rating_of_the_source_is_taken_back() -> None:
    message = answered(QUESTION, [passage("Ten books.")])
    use(message)
    rating_set(user=message.session.user, message_id=message.pk, marker=1, thumb="down")
    assert weights() == [-1.0]
    rating_delete(user=message.session.user, message_id=message.pk, marker=1)
    assert weights() == [0.1]


def test_gathering_again_changes_nothing() -> None:
    use(answered(QUESTION, [passage("Ten books.")]))
    evidence_gather()
    keys = list(Evidence.objects.values_list("pk", flat=True))
    assert evidence_gather() == Gathered()
    assert list(Evidence.objects.values_list("pk", flat=True)) == keys


def test_accounts_that_are_new_open_sources_without_effect() -> None:
    message = answered(QUESTION, [passage("Ten books.")], user=UserFactory())
    use(message)
    assert weights() == []
    assert SourceUse.objects.get().attributed_at is not None


@pytest.mark.parametrize("decision", ["NO_ANSWER", "CLARIFY"])
def test_opening_a_source_of_what_is_no_answer_says_nothing(decision: str) -> None:
    use(answered(QUESTION, [passage("Ten books.")], decision=decision))
    assert weights() == []


def test_evidence_goes_with_its_use_and_with_the_account() -> None:
    message = answered(QUESTION, [passage("Ten books.")])
    use(message)
    evidence_gather()
    message.session.user.delete()
    assert (Evidence.objects.count(), RatedQuestion.objects.count()) == (0, 0)


def test_what_was_discarded_stays_so_when_more_is_done_with_the_source() -> None:
    message = answered(QUESTION, [passage("Ten books.")])
    use(message)
    evidence_gather()
    event = RevisionEvent.log(RevisionEvent.Action.RESET_RATER, by=message.session.user, why="A test.")
    Evidence.objects.update(discarded_by=event)
    use(message, action=Action.COPIED)
    assert weights() == [0.25]
    assert Evidence.objects.get().discarded_by == event


def test_what_was_discarded_stays_so_when_another_source_is_opened() -> None:
    message = answered(QUESTION, [passage("Ten books."), passage("Four weeks.")])
    use(message)
    evidence_gather()
    event = RevisionEvent.log(RevisionEvent.Action.RESET_RATER, by=message.session.user, why="A test.")
    Evidence.objects.update(discarded_by=event)
    use(message, marker=2)
    evidence_gather()
    assert list(Evidence.objects.order_by("use__source__marker").values_list("discarded_by", flat=True)) == [
        event.pk, None,
    ]  # fmt: skip


@pytest.mark.parametrize("both", [True, False])
def test_a_row_comes_from_a_rating_or_from_a_use_and_never_from_both(both: bool) -> None:
    message = answered(QUESTION, [passage("Ten books.")])
    rating, opened = rate(message, 5), use(message)
    evidence_gather()
    row = Evidence.objects.filter(use=opened).get()
    with pytest.raises(IntegrityError), transaction.atomic():
        Evidence.objects.filter(pk=row.pk).update(rating=rating if both else None, use=opened if both else None)


# ------------------------------------------------------------------------------------------------ boosts
def boost_of(proposal: Proposal) -> float:
    """Of the one passage that there is; 1 without a boost."""
    multipliers = proposal.content.multipliers().tolist()
    assert len(multipliers) <= 1
    return multipliers[0] if multipliers else 1.0


def test_several_readers_who_open_a_source_lift_it_a_little() -> None:
    chunk = passage("Ten books.")
    for _ in range(3):
        use(answered(QUESTION, [chunk]))
    proposal = proposed()
    assert 1.03 < boost_of(proposal) < 2 ** (0.3 / 3) + 1e-6
    assert proposal.content.queries.raters_up.tolist() == [0]  # nobody has rated it
    assert proposal.content.documents == {}


def test_one_reader_who_opens_it_in_many_answers_counts_once() -> None:
    chunk, reader = passage("Ten books."), regular()
    for _ in range(30):
        use(answered(QUESTION, [chunk], user=reader))
    assert boost_of(proposed()) == 1.0  # 0.1 of a vote is no boost


def test_however_many_readers_copy_a_passage_it_counts_one_vote() -> None:
    chunk = passage("Ten books.")
    for _ in range(8):
        use(answered(QUESTION, [chunk]), action=Action.COPIED)
    assert boost_of(proposed()) == pytest.approx(2 ** (1 / 3))


def test_the_question_in_other_words_adds_nothing_to_the_one_vote_that_uses_count() -> None:
    chunk = passage("Ten books.")
    for question in (QUESTION, "How many library books may I borrow?") * 8:
        use(answered(question, [chunk]), action=Action.COPIED)
    evidence_gather()
    ballot = ballot_load()
    votes, weights = ballot_weighed(ballot)
    counted = uses_weighed(ballot.uses, votes, weights, lambda _: lambda questions: np.zeros(len(questions), np.int64))
    assert counted.value.sum() == pytest.approx(1.0)


def test_a_later_opening_does_not_replace_what_a_reader_said_of_the_passage_before() -> None:
    chunk, reader = passage("Ten books."), regular()
    rate(answered(QUESTION, [chunk], user=reader), 1, "wrong_source")
    alone = boost_of(proposed())
    use(answered(QUESTION, [chunk], user=reader))
    assert alone < 0.9
    assert boost_of(proposed()) == pytest.approx(alone)


def test_opened_sources_use_up_none_of_a_days_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.ranking.boosts.RATINGS_PER_DAY", 1)
    reader, rated = regular(), passage("Ten books.")
    use(answered("When does it open?", [passage("At nine.")], user=reader))
    rate(answered(QUESTION, [rated], user=reader), 5, "accurate")
    assert proposed().votes == 1
    assert boost_of(proposed()) > 1.2


# ------------------------------------------------------------------------------------------------ elsewhere
def test_staff_see_what_was_done_with_a_source() -> None:
    chunk = passage("Ten books.")
    message = answered(QUESTION, [chunk])
    use(message, action=Action.COPIED)
    evidence_gather()
    vote = vote_shown(votes_on(document=Document.objects.get(pk=chunk.document_id)).get())
    assert vote.given() == "copied from the source at place 1"
    shown = vote.as_dict()
    assert (shown["rated"], shown["rating_id"], shown["score"], shown["tags"]) == ("copied", None, None, [])
    assert shown["message_id"] == str(message.pk)


def test_places_are_estimated_from_what_was_opened_where() -> None:
    chunks = [passage("Ten books."), passage("Four weeks.")]
    for number in range(40):  # the same two passages, as often the one first as the other; only the first is opened
        use(answered(QUESTION, chunks if number % 2 else chunks[::-1]))
    looked_at = examination_by_place()
    assert looked_at[0] == 1.0
    assert looked_at[1] < 2**-PRIOR_EXPONENT - 0.15


def test_openings_by_new_accounts_do_not_change_what_places_count() -> None:
    chunks = [passage("Ten books."), passage("Four weeks.")]
    before = examination_by_place().tolist()
    for number in range(10):
        use(answered(QUESTION, chunks if number % 2 else chunks[::-1], user=UserFactory()), marker=2)
    assert examination_by_place().tolist() == before
