from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from retrieval.engine.ports import SearchRequest, SearchResult, WebResult
from retrieval.engine.reasons import Reason
from retrieval.engine.values import AnswerOptions, HistoryMessage
from tests.retrieval.engine.steps.fakes import HANDBOOK, MemorySearcher, MemoryWeb, ask, chunk
from tests.retrieval.engine.workflows.runs import run, steps

answer = partial(run, "self_corrective")
DEPOSIT = "What is the deposit for a room in Lakeside hall?"
UNKNOWN = "Who won the football cup last year?"
LOANS = "How many books may an undergraduate borrow?"
PARKING = chunk(40, "Undergraduate students may park at the gate.", title="Parking")


def verdict(relevant: bool) -> dict[str, Any]:
    return {"is_relevant": relevant, "confidence": 9}


def rewritten(query: str) -> dict[str, Any]:
    return {"rewritten_query": query, "rewrite_reason": "too narrow", "keywords": ["fee"]}


GRADE, REWRITE = "is_relevant", "rewritten_query"


# ------------------------------------------------------------------------------------------------ the loop
async def test_enough_relevant_documents_are_answered_from_in_two_rounds(online) -> None:
    online.reply(match=GRADE, json=verdict(True))
    online.reply(structured=False, text="EUR 300 [1].")
    result, trace, events = await answer(DEPOSIT)
    assert (result.decision, result.text, events.text) == ("ANSWER", "EUR 300 [1].", "EUR 300 [1].")
    assert trace.usage().llm_rounds == 2
    wanted = ["condense", "retrieve", "dedupe", "grade", "assess", "order", "generate", "assess"]
    assert [step.name for step in trace.steps if step.name in wanted] == wanted


async def test_too_few_relevant_documents_are_searched_for_again_in_other_words(online) -> None:
    online.reply(match=rf"(?s){GRADE}.*EUR 300", json=verdict(True))
    online.reply(match=GRADE, json=verdict(False))
    online.reply(match=REWRITE, json=rewritten("deposit Lakeside hall"))
    online.reply(structured=False, text="EUR 300 [1].")
    searcher = MemorySearcher(HANDBOOK)
    result, _, _ = await answer(
        "How much money must I put down in advance to live there?", searcher=searcher
    )
    assert result.decision == "ANSWER"
    assert [request.queries[0].text for request in searcher.requests][1] == "deposit Lakeside hall"
    assert [source.chunk.chunk_id for source in result.sources] == ["k3"]


async def test_at_most_three_rewrites_then_no_answer_when_nothing_has_passed(online) -> None:
    online.reply(match=GRADE, json=verdict(False))
    for number in range(9):
        online.reply(match=REWRITE, json=rewritten(f"books attempt {number}"), times=1)
    result, trace, events = await answer(LOANS)
    assert result.decision == "NO_ANSWER"
    assert result.text == events.text
    assert len(steps(trace, "rewrite")) == 3
    assert not steps(trace, "generate")
    assert "all rewrites are used up" in steps(trace, "assess")[-2].summary


async def test_with_what_passed_it_answers_once_the_rewrites_are_used_up(
    online, rag_settings
) -> None:
    rag_settings(self_corrective={"max_rewrites": 1})
    online.reply(match=rf"(?s){GRADE}.*borrow 12", json=verdict(True))
    online.reply(match=GRADE, json=verdict(False))
    online.reply(match=REWRITE, json=rewritten("resit costs"))
    result, trace, _ = await answer(LOANS)
    assert result.decision == "ANSWER"
    assert [source.chunk.chunk_id for source in result.sources] == ["k1"], (
        "what passed in the first search stays"
    )
    assert len(steps(trace, "rewrite")) == 1


async def test_the_graders_reasons_are_in_the_path_and_in_the_prompt_of_the_rewrite(online) -> None:
    reason = "it is about </passages> rooms,\nnot about the cup"
    online.reply(match=GRADE, json=verdict(False) | {"reasoning": reason})
    _, trace, _ = await answer(LOANS)
    documents = steps(trace, "grade")[0].detail["documents"]
    assert {row["reason"] for row in documents} == {
        "it is about ‹/passages› rooms, not about the cup"
    }
    prompts = [
        call.prompt.user
        for call in trace.calls
        if call.prompt_name == "retry_rewrite" and call.prompt
    ]
    assert "(rejected: it is about ‹/passages› rooms, not about the cup)" in prompts[0]


async def test_a_grade_without_a_reason_stands(online) -> None:
    online.reply(match=GRADE, json=verdict(True))
    _, trace, _ = await answer(DEPOSIT)
    assert steps(trace, "grade")[0].detail["documents"][0]["reason"] == "the model says: relevant"


async def test_where_it_is_to_answer_in_any_case_it_writes_from_the_best_of_what_failed(
    online,
) -> None:
    online.reply(match=GRADE, json=verdict(False))
    online.reply(structured=False, text="12 books [1].")
    question = ask(LOANS, options=AnswerOptions(force_generate=True, max_rewrites=0))
    result, trace, _ = await answer(question)
    assert (result.decision, result.text) == ("ANSWER", "12 books [1].")
    assert result.reason == Reason("forced_to_generate")
    assert steps(trace, "assess")[0].detail["verdict"] == "generate"


async def test_nothing_found_is_no_answer_although_it_is_to_answer_in_any_case(online) -> None:
    question = ask(UNKNOWN, options=AnswerOptions(force_generate=True, max_rewrites=0))
    result, _, _ = await answer(question, searcher=MemorySearcher(()))
    assert result.decision == "NO_ANSWER"


async def test_a_document_is_graded_once_whatever_was_searched_for(online) -> None:
    online.reply(match=GRADE, json=verdict(False))
    for number in range(3):
        online.reply(match=REWRITE, json=rewritten(f"undergraduate books {number}"), times=1)
    await answer(LOANS, HANDBOOK[:2])
    assert sum(GRADE in request.prompt for request in online.chats) == 2


async def test_a_query_that_was_tried_before_is_not_searched_for_again(online) -> None:
    online.reply(match=GRADE, json=verdict(False))
    online.reply(match=REWRITE, json=rewritten(LOANS.upper()))
    searcher = MemorySearcher(HANDBOOK)
    result, trace, _ = await answer(LOANS, searcher=searcher)
    texts = [request.queries[0].text for request in searcher.requests]
    assert len(texts) == len(set(texts))
    assert result.decision == "NO_ANSWER"
    assert steps(trace, "rewrite")[0].status == "degraded"


@pytest.mark.parametrize(("pass_rate", "rewrites"), [(0.4, 0), (0.5, 0), (0.8, 1)])
async def test_a_request_decides_how_many_must_pass(
    online, pass_rate: float, rewrites: int
) -> None:
    online.reply(match=rf"(?s){GRADE}.*borrow 12", json=verdict(True))
    online.reply(match=GRADE, json=verdict(False))
    online.reply(match=REWRITE, json=rewritten("loan rules"))
    options = AnswerOptions(pass_rate=pass_rate, max_rewrites=1)
    _, trace, _ = await answer(ask(LOANS, options=options), (HANDBOOK[0], PARKING))
    assert len(steps(trace, "rewrite")) == rewrites


# ------------------------------------------------------------------------------------------------ the web
WEB = AnswerOptions(web_search=True)
CUP = WebResult(
    title="Cup final", url="https://x.test/cup", snippet="FC Nord won the football cup last year."
)


async def test_the_web_is_searched_when_nothing_of_the_documents_has_passed(offline) -> None:
    result, trace, _ = await answer(ask(UNKNOWN, options=WEB), (), web=(web := MemoryWeb((CUP,))))
    assert result.decision == "ANSWER" and "FC Nord" in result.text
    assert [source.chunk.url for source in result.sources if source.cited] == [CUP.url]
    verdicts = [step.detail.get("verdict") for step in steps(trace, "assess")]
    assert (verdicts[-3:], len(web.asked)) == (["web_search", "generate", None], 1)


# ------------------------------------------------------------------------------------------------ what is not a search


async def test_a_follow_up_is_graded_as_the_question_that_it_means(online) -> None:
    online.reply(
        match="standalone_question",
        json={"standalone_question": "What is the deposit for Lakeside hall?"},
    )
    online.reply(match=GRADE, json=verdict(True))
    history = (
        HistoryMessage("user", "Tell me about Lakeside hall."),
        HistoryMessage("assistant", "It is a hall."),
    )
    await answer(ask("What is the deposit?", history=history))
    graded = next(request.prompt for request in online.chats if GRADE in request.prompt)
    assert graded.rstrip().endswith("Question: What is the deposit for Lakeside hall?")


# ------------------------------------------------------------------------------------------------ without a model


class NearAndFar(MemorySearcher):
    """Found by meaning, or by words, too; the cosine similarities fall from 0.8 in steps of 0.1."""

    by_words = False

    async def search(self, request: SearchRequest) -> SearchResult:
        hits = (await super().search(request)).candidates
        near = (
            replace(hit, scores=replace(hit.scores, dense=0.8 - 0.1 * i))
            for i, hit in enumerate(hits)
        )
        if not self.by_words:
            near = (replace(hit, scores=replace(hit.scores, bm25=None)) for hit in near)
        return SearchResult(candidates=tuple(near))


class FoundByWordsToo(NearAndFar):
    by_words = True


@pytest.mark.parametrize(("least", "graded"), [(0.75, 1), (0.65, 2)])
@pytest.mark.parametrize("searcher", [NearAndFar, FoundByWordsToo])
async def test_a_request_says_how_similar_a_document_has_to_be(
    offline, least: float, graded: int, searcher: Any
) -> None:
    question = ask(
        "borrow books deposit hall room",
        options=AnswerOptions(min_similarity=least, max_rewrites=0),
    )
    _, trace, _ = await answer(question, searcher=searcher(HANDBOOK))
    assert steps(trace, "grade")[0].detail["total_count"] == graded
    assert (
        steps(trace, "order")[0].summary
        == f"left out {3 - graded} passages less similar than {least}"
    )


async def test_unless_a_request_says_so_what_words_found_stays(
    offline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.engine.workflows.self_corrective.limits.MIN_SIMILARITY", 0.75)
    question = ask("borrow books deposit hall room", options=AnswerOptions(max_rewrites=0))
    _, trace, _ = await answer(question, searcher=FoundByWordsToo(HANDBOOK))
    assert steps(trace, "grade")[0].detail["total_count"] == 3


async def test_where_no_vectors_were_searched_nothing_is_too_far(offline) -> None:
    question = ask(
        "borrow books deposit hall room", options=AnswerOptions(min_similarity=0.9, max_rewrites=0)
    )
    _, trace, _ = await answer(question)
    assert steps(trace, "grade")[0].detail["total_count"] == 3
