"""Without a model the workflows differ in their plan alone: each shows passages as the others do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from retrieval.engine.errors import IndexUnavailableError
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.trace import Trace
from retrieval.engine.values import (
    Answer,
    AnswerOptions,
    Clarification,
    CollectionRef,
    OpenClarification,
    Question,
    SearchFilters,
    SearchScope,
)
from retrieval.engine.workflows.registry import NAMES, get_workflow
from retrieval.knowledge.search_cache import SharedSearchCache
from tests.retrieval.engine.steps.fakes import (
    EMPTY_SCOPE,
    HANDBOOK,
    MemorySearcher,
    ask,
    chunk,
    make_tools,
)
from tests.retrieval.engine.workflows.runs import run

VERSIONS = "How many books may an undergraduate borrow at once?"
OFFLINE = SearchScope((CollectionRef(id="c1", name="handbook", space=BUILTIN_SPACE),))
every_workflow = pytest.mark.parametrize("name", NAMES)


async def answer(name: str, question: Question | str, chunks: Any = HANDBOOK) -> Answer:
    return (await run(name, question, chunks))[0]


@every_workflow
async def test_the_best_passage_is_shown_under_a_line_that_says_that_no_model_wrote(
    offline, name: str
) -> None:
    result, trace, events = await run(name, "What does a late resit cost?")
    assert result.decision == "ANSWER"
    line = "No AI model is connected. These passages fit best."
    assert result.text.startswith(f"{line}\n\n**Examination Regulations** [1]\n\n")
    assert (
        "> **A late resit costs EUR 55.** Registration for resits closes on 1 July." in result.text
    )
    assert result.sources[0].cited and events.text == result.text
    assert "generate" in {entry["step"] for entry in trace.degraded}


@every_workflow
async def test_passages_that_may_not_answer_are_shown_as_well(offline, name: str) -> None:
    result = await answer(name, "How large is the deposit for a parking permit?")
    assert result.decision == "ANSWER"
    assert "EUR 300" in result.text


@every_workflow
async def test_the_passages_of_a_model_that_fails_stand_under_its_reason(online, name: str) -> None:
    online.reply(structured=False, status=500, error="out of memory")
    result, trace, _ = await run(name, "What does a late resit cost?")
    reason = next(entry["reason"] for entry in trace.degraded if entry["step"] == "generate")
    assert result.decision == "ANSWER"
    assert result.text.startswith(
        f"The AI model gave no answer ({reason}). These passages fit best."
    )
    assert "EUR 55" in result.text


@every_workflow
async def test_a_question_that_names_its_version_is_answered_from_that_one(
    offline, name: str
) -> None:
    result = await answer(name, VERSIONS.replace("?", " in 2022?"))
    assert result.decision == "ANSWER"
    assert "8 books" in result.text and "12 books" not in result.text


RESITS = (
    replace(
        chunk(31, "The resit fee is 55 euros. Pay the resit fee before the resit.", title="Fees"),
        policy_year=2025,
    ),
    replace(chunk(32, "A resit costs a fee of 40 euros.", title="Older fees"), policy_year=2023),
    replace(chunk(33, "A resit costs a fee of 35 euros.", title="Oldest fees"), policy_year=2022),
)


@pytest.mark.parametrize("model", ["offline", "online"])
@every_workflow
async def test_a_year_that_the_question_names_comes_first(
    request: Any, model: str, name: str
) -> None:
    request.getfixturevalue(model)
    result, trace, _ = await run(name, "What was the resit fee in 2023?", RESITS)
    assert result.sources[0].chunk.policy_year == 2023
    assert next(source for source in result.sources if source.cited).chunk.policy_year == 2023
    routed = next(step for step in trace.steps if step.name == "route")
    assert routed.summary == "named in the question, so preferred: 2023"
    searched = next(step for step in trace.steps if step.name == "retrieve")
    assert "preferred, so first: 2023 (1)" in searched.summary


@every_workflow
async def test_a_request_may_want_no_preference(offline, name: str) -> None:
    asked = ask("What was the resit fee in 2023?", options=AnswerOptions(route=False))
    _, trace, _ = await run(name, asked, RESITS)
    assert not any(step.detail.get("preferred") for step in trace.steps)


@every_workflow
async def test_the_same_search_of_the_same_user_is_found_in_the_cache(offline, name: str) -> None:
    searcher = MemorySearcher(HANDBOOK)
    summaries, texts = list[str](), list[str]()
    for _ in range(2):
        asked = ask(VERSIONS, asker_id="7")
        result, trace, _ = await run(
            name, asked, searcher=searcher, search_cache=SharedSearchCache()
        )
        summaries.append(next(step for step in trace.steps if step.name == "retrieve").summary)
        texts.append(result.text)
    assert ["taken from the cache" in summary for summary in summaries] == [False, True]
    assert texts[0] == texts[1]
    assert len(searcher.requests) == len(set(map(repr, searcher.requests)))


@every_workflow
async def test_filters_of_the_request_stay_as_they_are(offline, name: str) -> None:
    asked = ask("What was the resit fee in 2023?", filters=SearchFilters(policy_year=2022))
    result = await answer(name, asked, RESITS)
    assert {source.chunk.policy_year for source in result.sources} == {2022}


@every_workflow
async def test_a_web_search_that_was_asked_for_and_can_not_be_had_is_told(
    offline, name: str
) -> None:
    question = ask(VERSIONS.replace("?", " in 2022?"), options=AnswerOptions(web_search=True))
    result, trace, _ = await run(name, question)
    assert result.decision == "ANSWER"
    assert any(
        entry["step"] == "web_search" and "no web search" in entry["reason"]
        for entry in trace.degraded
    )


@every_workflow
async def test_a_question_that_shows_no_chinese_script_is_refused_in_its_readers(
    offline, name: str
) -> None:
    result = await answer(name, ask("押金是多少？", language="zh-hant"))
    assert result.decision == "NO_ANSWER"
    assert result.text.startswith("我不知道：您可以查看的文件")


@every_workflow
async def test_the_words_of_the_option_that_was_chosen_are_not_searched_for(
    offline, name: str
) -> None:
    notes = (
        chunk(23, "Loan Rules of the Main Library.", title="Loan Rules of the Main Library"),
        chunk(24, "A book is kept for four weeks.", title="Loan Rules of the Branch"),
        replace(
            chunk(25, "A book is kept for six weeks.", title="Loan Rules of the Main Library"),
            document_id="d23",
        ),
    )
    options = ("Loan Rules of the Main Library", "Loan Rules of the Branch")
    asked = Clarification(
        question="Which one do you mean?", options=options, documents=("d23", "d24")
    )
    opened = OpenClarification(question="For how many weeks is a book kept?", clarification=asked)
    result = await answer(name, ask(options[0], open_clarification=opened), notes)
    assert result.decision == "ANSWER"
    assert "> **A book is kept for six weeks.**" in result.text
    assert {source.chunk.document_id for source in result.sources} == {"d23"}


@pytest.mark.parametrize(
    ("question", "decision"),
    [
        ("What does a late resit cost?", "ANSWER"),
        ("Who won the football cup last year?", "NO_ANSWER"),
        (ask("How many books?", scope=EMPTY_SCOPE), "NO_ANSWER"),
    ],
    ids=["answered", "not answered", "nothing to search"],
)
@every_workflow
async def test_the_path_closes_with_the_decision_and_its_reason(
    offline, name: str, question: Any, decision: str
) -> None:
    result, trace, _ = await run(name, question)
    last = trace.steps[-1]
    assert (
        (last.name, last.detail["decision"]) == ("assess", decision) == ("assess", result.decision)
    )
    assert last.detail["reason"] and last.summary.endswith(f": {last.detail['reason']}")
    assert [step.detail.get("decision") for step in trace.steps].count(decision) == 1


@every_workflow
async def test_the_path_says_why_no_decision_was_come_to(offline, name: str) -> None:
    trace = Trace()
    tools = make_tools(
        settings.RAG, searcher=MemorySearcher(HANDBOOK, error=IndexUnavailableError())
    )
    with pytest.raises(IndexUnavailableError):
        await get_workflow(name).answer(
            engine=tools, question=ask("What does a late resit cost?"), trace=trace
        )
    assert (trace.steps[-1].name, trace.steps[-1].status) == ("assess", "failed")
    assert trace.steps[-1].detail["reason"] == IndexUnavailableError.message


@every_workflow
async def test_two_questions_in_one_are_quoted_from_an_attached_file_that_holds_either(
    offline, name: str
) -> None:
    rules = [chunk(1, "图书馆晚上十点关门。\n图书逾期一天罚款五元。", title="a", file_name="a.pdf")]
    result = await answer(name, ask("图书馆几点关门？逾期一天罚多少？", scope=OFFLINE), rules)
    assert "十点关门" in result.text and "罚款五元" in result.text
