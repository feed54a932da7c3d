"""A model is tried as a judge, with cases that are known, before its word is believed."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from feedback.models import JudgeAgreement, JudgeProbe
from feedback.rounds.judges import probes as rounds_probes
from feedback.rounds.judges.records import records_load
from feedback.rounds.round import RoundOutcome, feedback_round
from retrieval.steps.judge.probes import probes
from retrieval.values import JudgeRecord
from tests.ollama_server import CHAT_MODEL

# Without the session's Milvus Lite each engine would start one of its own.
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("milvus")]

YES: dict[str, Any] = {"relevant_passages": [1], "verdict": "ANSWER"}
NO: dict[str, Any] = {"relevant_passages": [], "verdict": "NO_ANSWER"}
ALL = len(probes())


def knows_all(online: Any) -> None:
    for probe in probes():
        online.reply(match=re.escape(probe.question), json=YES if probe.held else NO)


def record() -> JudgeRecord:
    return records_load().get(CHAT_MODEL, JudgeRecord())


def asked(online: Any) -> int:
    return len(online.chats)


def test_a_model_that_tells_the_cases_apart_is_heeded_before_anybody_has_labelled_anything(online: Any) -> None:
    knows_all(online)
    feedback_round()
    assert asked(online) == ALL
    assert min(record().llr_yes, record().llr_no) > 2.0 * JudgeRecord().llr_yes


@pytest.mark.parametrize(("reply", "worth"), [(YES, "llr_yes"), (NO, "llr_no")])
def test_a_model_that_always_says_the_same_weighs_next_to_nothing_at_once(online: Any, reply: Any, worth: str) -> None:
    online.reply(json=reply)
    feedback_round()
    assert getattr(record(), worth) < 0.5 * getattr(JudgeRecord(), worth)


def test_the_other_way_round_counts_as_nothing(online: Any) -> None:
    for probe in probes():
        online.reply(match=re.escape(probe.question), json=NO if probe.held else YES)
    feedback_round()
    assert (record().llr_yes, record().llr_no) == (0.0, 0.0)


def test_each_case_is_asked_once(online: Any) -> None:
    knows_all(online)
    feedback_round()
    feedback_round()
    assert asked(online) == ALL
    assert JudgeAgreement.objects.get(model=CHAT_MODEL).probes == ALL


def test_the_round_tells_staff_how_many_were_right(online: Any) -> None:
    knows_all(online)
    first, second = feedback_round(), feedback_round()
    assert any(f"{ALL} of {ALL}" in note and CHAT_MODEL in note for note in first.notes)
    assert not any(CHAT_MODEL in note for note in second.notes)


def test_the_list_of_revisions_tells_it(online: Any, admin_client: Client) -> None:
    knows_all(online)
    feedback_round()
    page = admin_client.get(reverse("admin:feedback_revision_changelist")).content.decode()
    assert f"{CHAT_MODEL} was tried as a judge: {ALL} of {ALL} known cases right" in page


def test_what_is_no_judgement_counts_for_nothing_and_is_not_asked_again(online: Any) -> None:
    online.reply(text="the second one")
    feedback_round()
    before = asked(online)
    feedback_round()
    assert asked(online) == before >= ALL
    assert record() == JudgeRecord()


def test_a_slow_server_is_asked_about_the_rest_in_the_next_round(online: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    knows_all(online)
    monkeypatch.setattr(rounds_probes, "PROBES_S", 0.0)
    assert not feedback_round().notes
    assert asked(online) == 0
    monkeypatch.undo()
    feedback_round()
    assert asked(online) == ALL


def test_a_server_that_fails_in_the_middle_leaves_what_was_said(online: Any) -> None:
    first = probes()[0]
    online.reply(match=re.escape(first.question), json=YES)
    online.reply(status=500, error="out of memory")
    outcome = feedback_round()
    assert any(f"{ALL - 1} known cases are left" in note for note in outcome.notes)
    assert list(JudgeProbe.objects.values_list("number", "said")) == [(first.number, True)]
    assert outcome.status == "unchanged"
    online.reset()
    knows_all(online)
    feedback_round()
    assert asked(online) == ALL - 1


def test_another_kind_of_judgement_is_tried_anew(online: Any, rag_settings: Any) -> None:
    knows_all(online)
    feedback_round()
    rag_settings(rerank={"evaluator": "best_passage"})
    online.reset()
    online.reply(endpoint="version", body={"version": "0.13.5"})
    online.reply(text="No", likeliest={"Yes": 0.2, "No": 0.8})
    feedback_round()
    assert asked(online) == ALL
    assert not JudgeProbe.objects.filter(said=True).exists()


def test_what_was_said_long_ago_is_asked_again(online: Any) -> None:
    knows_all(online)
    feedback_round()
    JudgeProbe.objects.filter(number=3).update(at=timezone.now() - timedelta(days=365))
    feedback_round()
    assert asked(online) == ALL + 1


def test_a_dry_run_asks_nothing(online: Any) -> None:
    knows_all(online)
    feedback_round(dry_run=True)
    assert asked(online) == 0


def test_without_a_model_a_round_runs_as_before() -> None:
    outcome: RoundOutcome = feedback_round()
    assert (outcome.status, outcome.notes) == ("unchanged", ())
    assert not JudgeProbe.objects.exists()


def test_staff_see_what_a_model_is_worth_and_what_it_got_wrong(online: Any, admin_client: Client) -> None:
    wrong = probes()[1]
    online.reply(match=re.escape(wrong.question), json=YES)
    knows_all(online)
    feedback_round()
    row = JudgeAgreement.objects.get(model=CHAT_MODEL)
    listed = admin_client.get(reverse("admin:feedback_judgeagreement_changelist")).content.decode()
    page = admin_client.get(reverse("admin:feedback_judgeagreement_change", args=[row.pk])).content.decode()
    assert f"{record().llr_yes:+.2f}" in listed
    assert f"It said yes: {wrong.question}" in page
    assert probes()[0].question not in page
