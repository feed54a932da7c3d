from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from chat.models import Message
from feedback.models import GoldenQuestion, GoldenRelevance, JudgeAgreement
from feedback.rounds.judges import records as judge_records
from feedback.rounds.judges.records import LearnedJudgeRecords, records_load
from feedback.rounds.round import feedback_round
from retrieval.models import Chunk
from retrieval.values import JudgeRecord
from tests.factories import DecisionStepFactory, UserFactory
from tests.feedback.rated import answered, passage, rate, regular

# Without the session's Milvus Lite each engine would start one of its own.
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("milvus")]


def judged(message: Message, said: str, *, model: str = "small", shown: Sequence[Chunk] = ()) -> Message:
    """The judge's word in the answer's path."""
    detail = {"judge": {"model": model, "said": said, "weight": 0.8}, "scores": {str(chunk.pk): 0.5 for chunk in shown}}
    DecisionStepFactory(message=message, name="assess", detail=detail)
    return message


def golden(question: str, chunk: Chunk) -> GoldenQuestion:
    made = GoldenQuestion.objects.create(text=question, collection=chunk.document.collection)
    GoldenRelevance.objects.create(question=made, document=chunk.document)
    return made


def golden_judged(said_where_held: str, said_where_absent: str, *, model: str = "small", count: int = 30) -> None:
    """As many golden questions whose passage the judge was shown, as such where it was shown another one."""
    right, other = passage("A book costs EUR 40."), passage("The gate is closed at night.")
    for number in range(count):
        for kind, said, shown in (("held", said_where_held, right), ("absent", said_where_absent, other)):
            question = f"What does {kind}{number} cost?"
            golden(question, right)
            judged(answered(question, [shown]), said, model=model, shown=[shown])


def learned(model: str = "small") -> JudgeRecord:
    feedback_round()
    return records_load().get(model, JudgeRecord())


def total(record: JudgeRecord) -> float:
    return record.yes_held + record.no_held + record.yes_absent + record.no_absent


def test_a_judge_that_always_says_yes_comes_to_weigh_next_to_nothing() -> None:
    golden_judged("yes", "yes")
    assert learned().llr_yes < 0.3 * JudgeRecord().llr_yes


def test_a_judge_that_golden_questions_prove_right_gains() -> None:
    golden_judged("yes", "no")
    record = learned()
    assert record.llr_yes > 1.5 * JudgeRecord().llr_yes and record.llr_no > 1.5 * JudgeRecord().llr_no


def test_a_golden_question_counts_once_for_a_model_however_often_it_is_asked() -> None:
    chunk = passage("A book costs EUR 40.")
    golden("What does a book cost?", chunk)
    for _ in range(20):
        judged(answered("What does a book cost?", [chunk]), "yes", shown=[chunk])
    record = learned()
    assert (record.yes_held, total(record)) == (pytest.approx(1.0), pytest.approx(1.0))


def test_a_golden_question_that_is_switched_off_counts_nothing() -> None:
    golden_judged("yes", "yes", count=1)
    GoldenQuestion.objects.update(enabled=False)
    assert learned() == JudgeRecord()


def test_each_model_has_a_record_of_its_own() -> None:
    golden_judged("yes", "no", model="good", count=5)
    golden_judged("no", "yes", model="bad", count=5)
    feedback_round()
    records = records_load()
    assert records["good"].llr_yes > records["bad"].llr_yes


def test_what_is_liked_was_held_and_what_is_called_wrong_was_not() -> None:
    chunk = passage("A book costs EUR 40.")
    rate(judged(answered("What does a book cost?", [chunk]), "yes"), 5, "accurate")
    rate(judged(answered("Who owns the gate?", [chunk]), "yes"), 1, "wrong_source")
    rate(judged(answered("When is it open?", [chunk]), "yes"), 1, "style")  # says nothing of the documents
    record = learned()
    assert record.yes_held > record.yes_absent > 0.0
    assert JudgeAgreement.objects.get().ratings == 2


@pytest.mark.parametrize(("ratings", "counts"), [(8, 1.0), (60, 0.0)])
def test_one_persons_mass_of_ratings_counts_no_more_than_a_golden_question(ratings: int, counts: float) -> None:
    """So many that they are a burst count nothing at all."""
    spammer, chunk = regular(), passage("A book costs EUR 40.")
    for number in range(ratings):
        rate(judged(answered(f"What is the price of thing{number}?", [chunk], user=spammer), "yes"), 5)
    assert total(learned()) == pytest.approx(counts)


def test_a_new_accounts_rating_counts_less() -> None:
    newcomer: Any = UserFactory()
    chunk = passage("A book costs EUR 40.")
    rate(judged(answered("What does a book cost?", [chunk], user=newcomer), "yes", model="new"), 5)
    rate(judged(answered("What does a book cost?", [chunk], user=regular()), "yes", model="old"), 5)
    feedback_round()
    records = records_load()
    assert total(records["new"]) < total(records["old"])


def test_what_was_only_ever_seen_where_the_documents_held_it_counts_little() -> None:
    chunk = passage("A book costs EUR 40.")
    for number in range(60):
        golden(f"What does thing{number} cost?", chunk)
        judged(answered(f"What does thing{number} cost?", [chunk]), "yes", shown=[chunk])
    assert learned().yes_held == pytest.approx(10.0)


def test_a_rating_that_is_taken_back_teaches_nothing_any_more() -> None:
    rating = rate(judged(answered("What does a book cost?", [passage("A book costs EUR 40.")]), "yes"), 5)
    assert total(learned()) > 0.0
    rating.delete()
    assert learned() == JudgeRecord() and not JudgeAgreement.objects.exists()


@pytest.mark.parametrize("judge", [None, "yes", {}, {"model": "small"}, {"model": "small", "said": "perhaps"}])
def test_a_path_that_another_version_wrote_is_left_out(judge: Any) -> None:
    message = answered("What does a book cost?", [passage("A book costs EUR 40.")])
    DecisionStepFactory(message=message, name="assess", detail={"judge": judge})
    rate(message, 5)
    assert learned() == JudgeRecord()


def test_a_dry_run_teaches_nothing() -> None:
    golden_judged("yes", "no", count=1)
    feedback_round(dry_run=True)
    assert not JudgeAgreement.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_records_are_read_once_and_again_when_they_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    JudgeAgreement.objects.create(model="small", yes_held=7.0)

    async def ask() -> list[float]:
        records, seen = LearnedJudgeRecords(), []
        seen.append((await records.record("small")).yes_held)
        await sync_to_async(JudgeAgreement.objects.update)(yes_held=9.0)
        seen.append((await records.record("small")).yes_held)
        monkeypatch.setattr(judge_records, "REFRESH_S", 0.0)
        await records.record("small")  # begins to read
        assert records._reading is not None
        await records._reading
        seen.append((await records.record("small")).yes_held)
        assert await records.record("unknown") == JudgeRecord()
        return seen

    assert async_to_sync(ask)() == [7.0, 7.0, 9.0]
