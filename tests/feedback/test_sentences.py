"""What staff read: why a boost is there, and what the guard measured."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from django.utils import translation

from feedback.curation.evidence_selectors import boosts_explained, live_boosts
from feedback.curation.sentences import LightVotes, VotesBehind, boost_sentence, guard_sentences
from feedback.models import Revision, VoterWeight
from feedback.ranking import weighing as voters
from feedback.ranking.guard import Compared, GuardReport, Outcome, judge
from feedback.rounds.voters import voter_weights_write
from ragsite.core.wording import worded
from tests.factories import UserFactory
from tests.feedback.rated import answered, liked, passage, rate
from tests.feedback.staff import live_revision


def test_a_lift_names_people_wordings_and_light_votes() -> None:
    light = [LightVotes(count=1, weight=0.3, reason="of a new account")]
    assert boost_sentence(1.6, VotesBehind(up=3, down=0, wordings=2, light=light)) == (
        "Lifted because 3 people found this useful for the same question. It was asked in 2 wordings. One vote counts "
        "0.3: of a new account."
    )


def test_a_lowered_passage_names_first_who_did_not_find_it_useful() -> None:
    sentence = boost_sentence(0.7, VotesBehind(up=1, down=3))
    assert sentence == "Lowered: for the same question 3 did not find this useful, 1 did."


def test_full_votes_need_no_remark() -> None:
    votes = VotesBehind(up=1, down=0, light=[LightVotes(count=1, weight=1.0, reason="")])
    assert boost_sentence(1.2, votes) == "Lifted because 1 person found this useful for the same question."


def test_a_documents_prior_says_that_it_holds_whatever_is_asked() -> None:
    sentence = boost_sentence(1.1, VotesBehind(up=4, down=1), of_document=True)
    assert sentence == "Lifted because 5 people rated this document, better than others are rated."


def test_several_light_votes_are_told_together() -> None:
    light = [LightVotes(count=4, weight=0.1, reason="new accounts that say the same.")]
    assert "4 votes count 0.1 each: new accounts that say the same." in boost_sentence(
        1.1, VotesBehind(up=4, down=0, light=light)
    )


@pytest.mark.django_db
def test_the_evidence_of_a_boost_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)
    chunk = passage("Four weeks.")
    rate(answered("How long may I keep the book?", [chunk], user=UserFactory()), 5, "accurate")
    liked("How long may I keep a book?", chunk, by=2)
    live_revision()
    boosts = [boost for boost in live_boosts(document_id=chunk.document_id) if boost.passage_id]
    (shown,) = boosts_explained(boosts)
    first = "Lifted because 3 people found this useful for the same question. It was asked in 2 wordings. "
    assert shown.why.startswith(first)
    assert "One vote counts 0.3: new account: counts 0.3." in shown.why


# ------------------------------------------------------------------------------------------------ the guard
def told(report: GuardReport) -> str:
    return " ".join(guard_sentences(report.as_dict()))


def test_golden_questions_that_did_not_get_worse_are_told_as_none() -> None:
    golden = [Compared(question="q", untouched=True)] * 24
    text = told(judge(golden, [], margin=0.005, max_churn=0.5))
    assert text.startswith("None of 24 golden questions got worse. No boost is near any of them.")
    assert text.endswith("The guard lets it pass.")


def test_a_held_revision_says_what_got_worse_and_why_it_is_held() -> None:
    worse = Compared(question="q", before=["a", "b"], after=["b", "a"], without=["a", "b"], relevant={"a": 1})
    text = told(judge([worse] * 2, [], margin=0.005, max_churn=0.5))
    assert "2 of 2 golden questions got worse." in text
    assert "1.000 with the live revision, 0.631 with this one and 1.000 without any feedback" in text
    assert "Against no feedback all golden questions together lose 0.0738" in text
    assert "Held because nDCG@10 on the 2 golden questions" in text


def test_a_gain_is_told_with_its_interval_in_order() -> None:
    better = Compared(question="q", before=["b", "a"], after=["a", "b"], without=["b", "a"], relevant={"a": 1})
    text = told(judge([better] * 10, [], margin=0.005, max_churn=0.5))
    assert "all golden questions together gain 0.3691 (90% interval 0.3691 to 0.3691)" in text


def test_first_results_and_contrast_questions_are_counted() -> None:
    recent = [Compared(question="r", before=["a", "b"], after=["b", "a"]), Compared(question="s", untouched=True)]
    contrast = [Compared(question="c", contrast_of="r", untouched=True)] * 3
    text = told(judge([], recent, contrast, margin=0.005, max_churn=0.5))
    assert "results of 2 recent questions 0% change. The one near a changed boost gets another first result." in text
    assert "None of 3 contrast questions (rated ones changed so that they ask something else) is ranked" in text


def test_what_could_not_be_measured_says_that_it_is_tried_again() -> None:
    report = GuardReport(golden=3, reason="it could not be measured: the index is away", outcome=Outcome.NOT_MEASURED)
    assert told(report) == (
        "It could not be measured: the index is away. It is held until it can be measured; the next round tries again."
    )


def test_a_report_of_an_earlier_version_is_told_too() -> None:
    stored = {
        "golden": 4, "recent": 2, "measured": 3, "ndcg_before": 0.81, "ndcg_after": 0.64, "drop": 0.17, "churn": 0.25,
        "worse": [{"question": "q", "before": 1.0, "after": 0.4}], "reason": "it drops", "notes": [], "passed": False,
    }  # fmt: skip
    assert guard_sentences(stored) == [
        "1 of 4 golden questions got worse.",
        "nDCG@10 of those near a boost is 0.810 with the live revision and 0.640 with this one.",
        "Of the ten top results of 2 recent questions 25% change.",
        "Held because it drops.",
    ]
    assert guard_sentences({}) == []


# ------------------------------------------------------------------------------------------------ other languages
@pytest.mark.parametrize("multiplier", [0.7, 1.0, 1.4])
@pytest.mark.parametrize(("up", "down"), [(0, 0), (1, 0), (3, 0), (0, 1), (0, 3), (2, 1)])
def test_a_boost_is_told_in_the_readers_language(multiplier: float, up: int, down: int) -> None:
    light = [LightVotes(count=2, weight=0.3, reason="")]
    with translation.override("zh-hans"):
        sentence = boost_sentence(multiplier, VotesBehind(up=up, down=down, wordings=2, light=light))
        of_document = boost_sentence(multiplier, VotesBehind(up=up, down=down), of_document=True)
    assert not re.search("[A-Za-z]", sentence + of_document)


def test_a_stored_report_is_told_in_the_readers_language() -> None:
    worse = Compared(question="q", before=["a", "b"], after=["b", "a"], without=["a", "b"], relevant={"a": 1})
    recent = [Compared(question="r", before=["a", "b"], after=["b", "a"])]
    moved = [Compared(question="c", contrast_of="r", change="another number", before=["a"], after=["b"], without=["a"])]
    report = judge([worse] * 2, recent, moved, margin=0.005, max_churn=0.5).as_dict()
    revision = Revision(guard=json.loads(json.dumps(report)))
    with translation.override("zh-hant"):
        told = " ".join(guard_sentences(revision.measured))
    assert not re.search("[A-Za-z]{2,}", told.replace("nDCG", "")), told


@pytest.mark.django_db
def test_why_a_vote_weighs_what_it_weighs_is_told_in_the_readers_language() -> None:
    user = UserFactory()
    weighed = voters.RaterWeights(
        site=1.0, rater=np.asarray([user.pk]), up=np.asarray([0.3]), down=np.asarray([0.3]), core=np.asarray([False]),
        reasons=(worded("new account: counts {weight}", weight="0.3"),),
    )  # fmt: skip
    assert (voter_weights_write(weighed), voter_weights_write(weighed)) == (1, 0)
    kept = VoterWeight.objects.get(voter=user)
    assert kept.reason == kept.reason_said == "new account: counts 0.3"
    with translation.override("zh-hans"):
        assert kept.reason_said == "新账号：按 0.3 计"
        assert VoterWeight(reason="of an earlier version").reason_said == "of an earlier version"
