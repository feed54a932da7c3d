from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from ragsite.core.errors import UnavailableError
from retrieval.errors import IndexUnavailableError, WebSearchError
from retrieval.ports import WebResult
from retrieval.trace import Trace
from retrieval.values import (
    Answer,
    AnswerOptions,
    Boost,
    Boosts,
    Clarification,
    HistoryMessage,
    JudgeRecord,
    OpenClarification,
    Question,
    SearchFilters,
)
from retrieval.workflows.corrective import CorrectiveWorkflow
from tests.retrieval.steps.fakes import (
    EMPTY_SCOPE,
    HANDBOOK,
    TRUSTED,
    UNSURE,
    Events,
    MemorySearcher,
    Records,
    ask,
    chunk,
    make_tools,
)

DIAGRAM = Path(__file__).with_name("corrective.mmd")
CLEAR = "What is the deposit for a room in Lakeside hall?"
VAGUE = "How much money must I put down in advance to live there?"
UNKNOWN = "Who won the football cup last year?"


async def answer(question: Question | str, chunks=HANDBOOK, **parts: Any) -> tuple[Answer, Trace, Events]:
    events = Events()
    trace = Trace(events)
    asked = ask(question) if isinstance(question, str) else question
    workflow = CorrectiveWorkflow(make_tools(settings.RAG, chunks, **parts))
    return await workflow.answer(asked, trace=trace), trace, events


def judgement(verdict: str, *scores: int) -> dict[str, Any]:
    """`scores`: those of at least 6 are of passages that the model names."""
    return {"relevant_passages": [n for n, score in enumerate(scores, start=1) if score >= 6], "verdict": verdict}


@pytest.fixture
def unsure(rag_settings) -> None:
    """No estimate is sure, so a model whose word decides is asked whatever the grader says."""
    rag_settings(corrective=UNSURE)


@pytest.fixture
def hopeless(rag_settings) -> None:
    """Every estimate is sure that nothing answers."""
    rag_settings(corrective={"sure_score": 1.0, "hopeless_score": 1.0, "good_score": 1.0, "weak_score": 1.0})


def steps(trace: Trace) -> list[str]:
    return [step.name for step in trace.steps]


def refinements(trace: Trace) -> int:
    return sum(step.name == "refine" and step.status == "ok" for step in trace.steps)


def test_the_diagram_is_the_one_that_was_agreed() -> None:
    assert CorrectiveWorkflow.graph.get_graph().draw_mermaid() == DIAGRAM.read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------ rounds
async def test_a_first_search_that_surely_answers_takes_one_round(online) -> None:
    result, trace, _ = await answer(CLEAR)
    assert result.decision == "ANSWER"
    assert "EUR 300" in result.text
    assert (trace.usage().llm_rounds, trace.usage().llm_calls) == (1, 1)
    assert not {"condense", "rewrite", "hyde"} & set(steps(trace))
    skipped = next(step for step in trace.steps if step.name == "rerank")
    assert skipped.status == "skipped"
    assert skipped.detail["reason"].startswith("the estimate is sure: 0.")


async def test_where_the_estimate_is_unsure_a_short_judgement_comes_first(online, unsure) -> None:
    online.reply(match='"verdict"', json=judgement("ANSWER", 9))
    result, trace, _ = await answer(CLEAR, judge_records=TRUSTED)
    assert result.decision == "ANSWER"
    assert (trace.usage().llm_rounds, trace.usage().llm_calls) == (2, 2)
    assert "rewrite" not in steps(trace)
    judged = next(step for step in trace.steps if step.name == "rerank")
    assert judged.detail["judge"]["said"] == "yes"
    assert judged.detail["blended"] > next(step for step in trace.steps if step.name == "assess").detail["holds_answer"]


async def test_better_words_are_looked_for_where_the_judge_says_no_in_at_most_three_rounds(online, unsure) -> None:
    online.reply(match="hypothetical_passage", json={"hypothetical_passage": "The deposit is EUR 300."}, delay_s=0.05)
    online.reply(match='"queries"', json={"queries": ["money down for Lakeside"]}, delay_s=0.05)
    online.reply(match='"verdict"', json=judgement("REFINE", 2))
    searcher = MemorySearcher(HANDBOOK)
    _, trace, _ = await answer(CLEAR, searcher=searcher, judge_records=TRUSTED)
    assert trace.usage().llm_rounds <= 3
    kinds = [[query.kind for query in request.queries] for request in searcher.requests]
    assert kinds[:2] == [["original"], ["original", "rewrite", "hyde"]]
    assert steps(trace).count("rewrite") == 1


async def test_filters_that_the_model_reads_hold_for_the_better_search_without_another_round(online, unsure) -> None:
    online.reply(match="Departments:", json={"evidence": "dorms", "department": "Housing"})
    online.reply(match='"verdict"', json=judgement("REFINE", 2))
    searcher = MemorySearcher(HANDBOOK)
    _, trace, _ = await answer(f"{CLEAR} In the dorms?", searcher=searcher, judge_records=TRUSTED)
    assert [request.filters.department for request in searcher.requests[:2]] == [None, "Housing"]
    assert trace.usage().llm_rounds <= 3


async def test_no_model_is_asked_where_the_estimate_is_sure_that_nothing_answers(online, hopeless) -> None:
    result, trace, _ = await answer(CLEAR)
    assert result.decision == "NO_ANSWER"
    assert refinements(trace) == 2
    assert not online.chats


@pytest.mark.parametrize(
    ("options", "prompt"),
    [
        (AnswerOptions(rewrite=True), "queries"),
        (AnswerOptions(hyde=True), "hypothetical_passage"),
        (AnswerOptions(rerank=True), "verdict"),
    ],
)
async def test_what_a_request_names_is_done_however_sure_the_estimate_is(online, options, prompt: str) -> None:
    await answer(ask(CLEAR, options=options))
    assert [request for request in online.chats if f'"{prompt}"' in request.prompt]


async def test_a_follow_up_that_needs_its_conversation_is_condensed_before_it_is_judged(online, unsure) -> None:
    history = (HistoryMessage("user", "What does a late resit cost?"), HistoryMessage("assistant", "EUR 55 [1]"))
    online.reply(match="standalone_question", json={"standalone_question": "When does registration for resits close?"})
    online.reply(match='"verdict"', json=judgement("ANSWER", 9))
    searcher = MemorySearcher(HANDBOOK)
    _, trace, _ = await answer(
        ask("And when does it close?", history=history), searcher=searcher, judge_records=TRUSTED
    )
    assert steps(trace).index("condense") < next(
        at for at, step in enumerate(trace.steps) if step.name == "rerank" and step.detail.get("judge")
    )
    assert "condensed" in [query.kind for query in searcher.requests[1].queries]
    assert trace.usage().llm_rounds <= 3


async def test_refining_does_not_add_a_round(online, unsure) -> None:
    online.reply(match='"verdict"', json=judgement("REFINE", 1, 2, 1, 0, 0))
    _, trace, _ = await answer(UNKNOWN + " books room Wi-Fi resit", judge_records=TRUSTED)
    assert trace.usage().llm_rounds <= 3
    assert refinements(trace) == 2


async def test_a_greeting_takes_one_round_and_no_search(online) -> None:
    online.reply(text="Hello! How can I help?")
    searcher = MemorySearcher(HANDBOOK)
    result, trace, _ = await answer("Hello!", searcher=searcher)
    assert (result.decision, result.text) == ("ANSWER", "Hello! How can I help?")
    assert trace.usage().llm_rounds == 1
    assert not searcher.requests
    assert [(step.name, step.status) for step in trace.steps] == [
        ("retrieve", "skipped"), ("generate", "ok"), ("assess", "ok"),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------ decisions
async def test_the_path_tells_the_steps_in_order_and_events_follow_it(online) -> None:
    result, trace, events = await answer(CLEAR)
    wanted = ["route", "retrieve", "fuse", "rerank", "assess", "order", "generate"]
    assert list(dict.fromkeys(name for name in steps(trace) if name in wanted)) == wanted
    assert "tool" in events.kinds
    assert events.kinds.index("sources") < events.kinds.index("chunk")
    assert events.text == result.text


async def test_a_no_that_the_estimate_does_not_share_leaves_the_last_word_to_the_writer(online, rag_settings) -> None:
    rag_settings(corrective={"sure_score": 1.0, "good_score": 0.95})
    online.reply(match='"verdict"', json=judgement("NO_ANSWER", 1))
    online.reply(structured=False, text="The deposit is EUR 300 [1].", times=1)
    online.reply(structured=False, text="The documents do not say.")
    asked = ask(CLEAR, options=AnswerOptions(rerank=True))
    found, _, _ = await answer(asked)
    refused, _, _ = await answer(asked)
    assert (found.decision, refused.decision) == ("ANSWER", "NO_ANSWER")


async def test_a_no_of_a_judge_whose_word_decides_is_no_answer(online, unsure) -> None:
    online.reply(match='"verdict"', json=judgement("NO_ANSWER", 1))
    result, trace, _ = await answer(CLEAR, judge_records=TRUSTED)
    assert result.decision == "NO_ANSWER"
    assert "generate" not in steps(trace)


async def test_a_question_that_nothing_answers_gets_no_answer(online) -> None:
    result, trace, events = await answer(UNKNOWN)
    assert result.decision == "NO_ANSWER"
    assert result.text == events.text
    assert "don't know" in result.text
    assert "generate" not in steps(trace)


async def test_refine_finds_what_the_filter_hid(online) -> None:
    # "guide" is read as the kind of document, but the deposit stands in a policy.
    searcher = MemorySearcher(HANDBOOK)
    result, _, _ = await answer("Guide me: the deposit for a room in Lakeside hall?", searcher=searcher)
    assert searcher.requests[0].filters.doc_type == "guide"
    assert searcher.requests[-1].filters == SearchFilters()
    assert result.decision == "ANSWER"
    assert "EUR 300" in result.text


async def test_no_answer_says_why_and_names_the_nearest_documents(offline) -> None:
    result, trace, _ = await answer("Who won the cup of Lakeside hall?")
    entry = trace.steps[-1]
    assert (entry.name, entry.detail["verdict"], entry.detail["why"]) == ("assess", "NO_ANSWER", "found_but_weak")
    assert {"document_id": "d3", "title": "Student Housing Policy"} in entry.detail["nearest"]
    assert "Student Housing Policy" in result.text
    assert result.reason.startswith("what was found does not answer the question")


async def test_nothing_found_is_another_reason(offline) -> None:
    result, trace, _ = await answer("Zyzzyva?")
    assert trace.steps[-1].detail["why"] == "nothing_found"
    assert result.reason == "nothing was found"


RIVALS = (
    chunk(31, "A guest may stay in a hall for 3 nights.", title="Hall rules"),
    chunk(32, "A guest may stay in a hall for 5 nights.", title="Guest rules"),
)


async def test_passages_that_contradict_each_other_are_no_answer(online, unsure) -> None:
    online.reply(match='"verdict"', json=judgement("CONTRADICTORY", 9, 8))
    result, trace, _ = await answer("How many nights may a guest stay in a hall?", RIVALS, judge_records=TRUSTED)
    assert result.decision == "NO_ANSWER"
    assert trace.steps[-1].detail["why"] == "contradictory"
    assert "contradict each other" in result.text
    assert refinements(trace) == 0


async def test_a_model_that_sees_a_contradiction_where_the_documents_have_none_is_not_heeded(online, unsure) -> None:
    online.reply(match='"verdict"', json=judgement("CONTRADICTORY", 9))
    result, _, _ = await answer(CLEAR, judge_records=TRUSTED)
    assert result.decision == "ANSWER"


async def test_a_refusal_that_the_model_wrote_names_the_nearest_documents_too(online) -> None:
    online.reply(structured=False, text="The documents do not say.")
    result, _, events = await answer(CLEAR)
    assert result.decision == "NO_ANSWER"
    assert "Student Housing Policy" in result.text
    assert result.text == events.text


async def test_two_rounds_without_gain_end_the_search_and_the_path_says_so(offline) -> None:
    _, trace, _ = await answer("Who won the cup of Lakeside hall?")
    skipped = [step.summary for step in trace.steps if step.name == "refine" and step.status == "skipped"]
    assert skipped == ["2 rounds without gain: the documents are not searched again"]


class Web:
    name = "test engine"

    def __init__(self, *results: WebResult) -> None:
        self.results, self.queries = results, []

    async def search(self, query: str, *, limit: int) -> tuple[WebResult, ...]:
        self.queries.append(query)
        return self.results[:limit]


class WebAway(Web):
    async def search(self, query: str, *, limit: int) -> tuple[WebResult, ...]:
        raise WebSearchError("the engine is not reachable")


CUP = WebResult(
    title="Football cup", url="https://news.example/cup", snippet="The football cup was won by Mill Lane last year."
)


async def test_what_the_documents_do_not_hold_is_looked_up_on_the_web_at_last(offline) -> None:
    web = Web(CUP)
    wanted = ask(UNKNOWN, options=AnswerOptions(web_search=True))
    result, trace, _ = await answer(wanted, web=web)
    stages = [step.detail["stage"] for step in trace.steps if step.name == "refine" and step.status == "ok"]
    assert stages == ["text", "wide", "web"]
    assert result.decision == "ANSWER"
    assert "Mill Lane" in result.text
    assert [source.chunk.url for source in result.sources if source.cited] == [CUP.url]


@pytest.mark.parametrize(
    ("web", "said"),
    [(Web, "A search of the web brought no answer"), (WebAway, "The web could not be searched")],
)
async def test_no_answer_says_whether_the_web_was_searched(offline, web: Any, said: str) -> None:
    wanted = ask(UNKNOWN, options=AnswerOptions(web_search=True))
    result, _, _ = await answer(wanted, web=web())
    assert result.decision == "NO_ANSWER"
    assert said in result.text
    result, _, _ = await answer(UNKNOWN, web=web())
    assert "the web" not in result.text


async def test_the_web_is_not_asked_where_nobody_wanted_it_or_the_documents_answer(offline) -> None:
    web = Web(CUP)
    await answer(UNKNOWN, web=web)
    await answer(ask(CLEAR, options=AnswerOptions(web_search=True)), web=web)
    assert not web.queries


async def test_a_refusal_of_the_documents_does_not_hold_for_pages_of_the_web(online) -> None:
    online.reply(match='"verdict"', json={"scores": [2, 1, 0, 0, 0, 0, 0, 0], "verdict": "NO_ANSWER"})
    online.reply(structured=False, text="The football cup was won by Mill Lane last year [1].")
    wanted = ask(UNKNOWN + " In the library or hall?", options=AnswerOptions(web_search=True))
    result, _, _ = await answer(wanted, web=Web(CUP), judge_records=TRUSTED)
    assert result.decision == "ANSWER"
    assert [source.chunk.url for source in result.sources if source.cited] == [CUP.url]


async def test_what_the_documents_differ_in_is_not_asked_about_where_a_page_of_the_web_answers(offline) -> None:
    rules = [
        chunk(
            50 + at, f"The new library shall open at {at} in term.", title=f"Library Rules ({year})", policy_year=year
        )
        for at, year in ((8, 2025), (9, 2022))
    ]
    page = WebResult(
        title="Metro M5", url="https://x.test/m5", snippet="The new metro line M5 is planned to open in 2036."
    )
    wanted = ask("When does the new metro line M5 open?", options=AnswerOptions(web_search=True))
    result, _, _ = await answer(wanted, rules, web=Web(page))
    assert result.decision == "ANSWER"
    assert "2036" in result.text


async def test_a_web_search_adds_no_round_where_none_is_left(online) -> None:
    wanted = ask(UNKNOWN, options=AnswerOptions(web_search=True))
    _, trace, _ = await answer(wanted, web=(web := Web(CUP)))
    assert web.queries
    assert trace.usage().llm_rounds <= 3


async def test_a_filter_of_the_request_is_never_dropped(online) -> None:
    searcher = MemorySearcher(HANDBOOK)
    question = ask(CLEAR, filters=SearchFilters(department="Library"))
    result, _, _ = await answer(question, searcher=searcher)
    assert result.decision == "NO_ANSWER"
    assert {request.filters.department for request in searcher.requests} == {"Library"}


async def test_the_model_may_ask_back_where_documents_compete(online, unsure) -> None:
    online.reply(match='"verdict"', json=judgement("CLARIFY", 9, 8))
    result, _, events = await answer("How many nights may a guest stay in a hall?", RIVALS, judge_records=TRUSTED)
    assert result.decision == "CLARIFY"
    assert result.clarification is not None
    assert set(result.clarification.options) == {"Hall rules", "Guest rules"}
    assert result.text == events.text


async def test_a_model_that_asks_back_where_one_document_answers_is_not_heeded(online, unsure) -> None:
    online.reply(match='"verdict"', json=judgement("CLARIFY", 9))
    result, _, _ = await answer(CLEAR, judge_records=TRUSTED)
    assert result.decision == "ANSWER"


async def test_competing_versions_are_asked_about_without_a_model(offline) -> None:
    result, trace, _ = await answer("How many books may an undergraduate borrow at once?")
    assert result.decision == "CLARIFY"
    assert result.clarification is not None
    assert result.clarification.options == ("2025", "2022")
    assert trace.steps[-1].summary == "CLARIFY: what was found is about several: 2025, 2022"


async def test_a_judge_that_finds_no_answer_does_not_keep_it_from_asking_back(online, unsure) -> None:
    online.reply(match='"verdict"', json=judgement("NO_ANSWER"))
    fair = Records(JudgeRecord(yes_held=80, no_held=12, yes_absent=12, no_absent=88))
    result, trace, _ = await answer("How many books may an undergraduate borrow at once?", judge_records=fair)
    said = [step.detail["judge"]["said"] for step in trace.steps if "judge" in step.detail]
    assert (said, result.decision) == (["no"], "CLARIFY")


@pytest.mark.parametrize(("reply", "books"), [("2022", "8 books"), ("the rules of 2025 please", "12 books")])
async def test_the_reply_to_a_question_asked_back_is_understood(offline, reply: str, books: str) -> None:
    opened = OpenClarification(
        question="How many books may an undergraduate borrow at once?",
        clarification=Clarification(question="Which year do you mean?", options=("2025", "2022")),
    )
    result, _, _ = await answer(ask(reply, open_clarification=opened))
    assert result.decision == "ANSWER"
    assert books in result.text


async def test_what_was_offered_is_not_denied_when_it_is_chosen(offline) -> None:
    rules = (
        chunk(21, "Those who leave tell the office.", title="Staff notes", department="Personnel"),
        chunk(22, "Leave is noted down.", title="Student notes", department="Registry"),
    )
    opened = OpenClarification(
        question="What about leave of absence papers?",
        clarification=Clarification(question="Which department do you mean?", options=("Personnel", "Registry")),
    )
    result, _, _ = await answer(ask("Personnel", open_clarification=opened), chunks=rules)
    assert result.decision == "ANSWER"
    assert "tell the office" in result.text


async def test_a_new_question_after_one_asked_back_is_answered_as_such(offline) -> None:
    opened = OpenClarification(
        question="How many books?", clarification=Clarification(question="Which year?", options=("2025", "2022"))
    )
    result, _, _ = await answer(ask(CLEAR, open_clarification=opened))
    assert "EUR 300" in result.text


async def test_a_new_question_after_one_asked_back_may_be_asked_back_about(offline) -> None:
    opened = OpenClarification(
        question="What is the deposit?", clarification=Clarification(question="Which hall?", options=("Lakeside",))
    )
    result, _, _ = await answer(ask("How many books may an undergraduate borrow at once?", open_clarification=opened))
    assert result.decision == "CLARIFY"


async def test_thanks_are_no_reply_to_a_question_asked_back(offline) -> None:
    opened = OpenClarification(
        question="How many books?", clarification=Clarification(question="Which year?", options=("2025", "2022"))
    )
    result, trace, _ = await answer(ask("謝謝您！", open_clarification=opened))
    assert "不客氣" in result.text
    assert steps(trace) == ["retrieve", "generate", "assess"]


async def test_it_never_asks_back_twice(offline) -> None:
    opened = OpenClarification(
        question="How many books may an undergraduate borrow at once?",
        clarification=Clarification(question="Which year do you mean?", options=("2025", "2022")),
    )
    result, _, _ = await answer(ask("any of them", open_clarification=opened))
    assert result.decision == "ANSWER"


async def test_a_follow_up_is_searched_with_what_it_leaves_out(offline) -> None:
    history = (HistoryMessage("user", "What does a late resit cost?"), HistoryMessage("assistant", "EUR 55 [1]"))
    result, _, _ = await answer(ask("And when does it close?", history=history))
    assert "1 July" in result.text


@pytest.mark.parametrize("scope", [EMPTY_SCOPE])
async def test_with_nothing_to_search_in_it_says_what_to_do(offline, scope) -> None:
    searcher = MemorySearcher(())
    result, trace, _ = await answer(ask("How many books?", scope=scope), searcher=searcher)
    assert result.decision == "NO_ANSWER"
    assert "Upload" in result.text
    assert not searcher.requests
    assert ("retrieve", "skipped") in [(step.name, step.status) for step in trace.steps]


# ------------------------------------------------------------------------------------------------ languages, offline
@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("校长奖学金每学年多少欧元？", "- 校长奖学金"),
        ("校長獎學金每學年多少歐元？", "- 校長獎學金"),
        (CLEAR, "- The deposit"),
    ],
)
async def test_offline_answers_are_in_the_questions_language(offline, question: str, lead: str) -> None:
    result, trace, _ = await answer(question)
    assert result.decision == "ANSWER"
    assert result.text.startswith(lead)
    assert result.sources[0].cited
    assert {entry["step"] for entry in trace.degraded} == {"generate"}  # a sure estimate misses no judge
    assert trace.usage().llm_calls == 0


async def test_a_traditional_question_is_judged_and_answered_from_simplified_text_in_traditional(online) -> None:
    result, _, _ = await answer("校長獎學金每學年多少歐元？")
    assert all("校長獎學金每學年5000歐元" in request.prompt for request in online.chats)
    assert "每學年5000歐元" in result.text


async def test_options_of_the_request_switch_steps_off(online) -> None:
    options = AnswerOptions(rewrite=False, hyde=False, rerank=False)
    result, trace, _ = await answer(ask(VAGUE + " deposit room Lakeside hall", options=options))
    statuses = {step.name: step.status for step in trace.steps}
    assert [statuses[name] for name in ("rewrite", "hyde", "rerank")] == ["skipped"] * 3
    assert len(online.chats) == (1 if result.decision == "ANSWER" else 0)


# ------------------------------------------------------------------------------------------------ when things fail
async def test_an_index_that_is_away_is_an_error_not_an_empty_answer(online) -> None:
    with pytest.raises(IndexUnavailableError):
        await answer(CLEAR, searcher=MemorySearcher(HANDBOOK, error=IndexUnavailableError()))


async def test_where_a_model_is_required_its_absence_is_an_error(rag_settings) -> None:
    rag_settings(ollama={"offline": "0", "base_url": "http://127.0.0.1:9"})
    with pytest.raises(UnavailableError, match="model server"):
        await answer(CLEAR)


@pytest.mark.parametrize(
    "fault",
    [{"status": 404, "error": "model not found"}, {"status": 500, "error": "oom"}, {"text": "no json"}, {"text": ""},
     {"json": {"wrong": 1}}, {"delay_s": 9}, {"disconnect_after": 0}, {"malformed_after": 0}, {"stall_after": 0}],
)  # fmt: skip
async def test_a_model_that_only_fails_still_ends_in_an_answer(online, rag_settings, fault, monkeypatch) -> None:
    # Not shorter: rounds are told from when calls began and ended, and a busy machine is late by a tenth of a second.
    short = {"first_token_timeout_s": 0.3, "structured_timeout_s": 0.3}
    rag_settings(ollama=short)
    monkeypatch.setattr("retrieval.providers.ollama.BETWEEN_TOKENS_TIMEOUT_S", 0.3)
    monkeypatch.setattr("retrieval.providers.ollama.BUSY_RETRY_S", 0.01)
    online.reply(**fault)
    result, trace, events = await answer(CLEAR + " money down")
    assert result.decision in ("ANSWER", "NO_ANSWER")  # what a model wrote that nothing bears out is no answer
    assert "300" in result.text or "wrong" in result.text or "no json" in result.text
    assert result.text == events.text
    assert {"rewrite", "rerank"} & {entry["step"] for entry in trace.degraded}
    assert trace.usage().llm_rounds <= 3


async def test_at_the_deadline_every_step_falls_back(online, rag_settings) -> None:
    rag_settings(corrective={"timeout_s": 0.2})
    online.reply(delay_s=30)
    result, trace, _ = await answer(VAGUE + " room Lakeside hall deposit")
    assert result.text
    assert trace.usage().total_ms < 25_000  # long before the model would answer
    assert trace.degraded


class RatingBoosts:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def current(self) -> RatingBoosts:
        if self.error:
            raise self.error
        return self

    async def boosts(self, query: str, candidates: Any) -> Boosts:
        return Boosts(by_chunk={candidates[-1].chunk_id: Boost(multiplier=2.0)})


async def test_ratings_lift_candidates_and_stand_in_the_path(offline) -> None:
    result, trace, _ = await answer(CLEAR, boosts=RatingBoosts())
    assert any(step.name == "boost" and step.status == "ok" for step in trace.steps)
    assert result.decision == "ANSWER"


async def test_ratings_that_can_not_be_read_are_done_without(offline) -> None:
    result, trace, _ = await answer(CLEAR, boosts=RatingBoosts(UnavailableError()))
    assert result.decision == "ANSWER"
    assert "boost" in {entry["step"] for entry in trace.degraded}


async def test_an_answer_works_on_one_revision_of_the_ratings_however_often_it_searches(online) -> None:
    """Another revision is live whenever somebody asks: the next answer has it, and none has two."""

    class Revision:
        def __init__(self, number: int) -> None:
            self.number = number

        async def boosts(self, query: str, candidates: Any) -> Boosts:
            return Boosts(revision=f"revision {self.number}")

    class Switching:
        asked = 0

        async def current(self) -> Revision:
            self.asked += 1
            await asyncio.sleep(0)
            return Revision(self.asked)

    source = Switching()
    seen = []
    for _ in range(2):
        _, trace, _ = await answer("How much does parking near the Lakeside library cost?", boosts=source)
        seen.append([step.detail["revision"] for step in trace.steps if step.name == "boost"])
    assert min(map(len, seen)) > 1
    assert [len(set(revisions)) for revisions in seen] == [1, 1]
    assert set(seen[0]).isdisjoint(seen[1])


async def test_relaxed_filters_and_missing_legs_stand_in_the_path(offline) -> None:
    class Limping(MemorySearcher):
        async def search(self, request: Any) -> Any:
            result = await super().search(request)
            return replace(result, relaxed=("department",), degraded=("no vectors: Ollama is not reachable",))

    _, trace, _ = await answer(CLEAR, searcher=Limping(HANDBOOK))
    entry = next(step for step in trace.steps if step.name == "retrieve")
    assert "department" in entry.summary
    assert {"step": "retrieve", "reason": "no vectors: Ollama is not reachable"} in trace.degraded


async def test_the_parts_of_a_compound_question_join_the_one_search_and_add_no_round(online, unsure) -> None:
    question = "How much must I put down for living there and when do I get it back?"
    online.reply(match='"hypothetical_passage"', json={"hypothetical_passage": "EUR 300."}, delay_s=0.05)
    online.reply(match='"sub_queries"', json={"sub_queries": ["deposit for a room", "deposit paid back"]}, delay_s=0.05)
    online.reply(match='"queries"', json={"queries": ["deposit in Lakeside hall"]}, delay_s=0.05)
    online.reply(match='"verdict"', json=judgement("ANSWER", 9))
    searcher = MemorySearcher(HANDBOOK)
    options = AnswerOptions(rewrite=True)
    _, trace, _ = await answer(ask(question, options=options), searcher=searcher, judge_records=TRUSTED)
    assert trace.usage().llm_rounds == 3
    kinds = [query.kind for query in searcher.requests[-1].queries]
    assert kinds == ["original", "rewrite", "sub_query", "sub_query", "hyde"]


async def test_a_refusal_of_the_model_stands_when_refining_finds_nothing_better(online, unsure) -> None:
    online.reply(match='"verdict"', json=judgement("NO_ANSWER", 3, 4, 3, 3))
    result, trace, _ = await answer("How much does parking near the Lakeside library cost?", judge_records=TRUSTED)
    assert result.decision == "NO_ANSWER"
    assert refinements(trace) == 2
    assert "generate" not in steps(trace)
