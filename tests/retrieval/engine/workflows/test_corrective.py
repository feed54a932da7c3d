from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ragsite.core.errors import UnavailableError
from retrieval.engine.errors import WebSearchError
from retrieval.engine.ports import WebResult
from retrieval.engine.values import (
    AnswerOptions,
    Clarification,
    HistoryMessage,
    OpenClarification,
    SearchFilters,
)
from tests.retrieval.engine.steps.document_reader import MemoryReader
from tests.retrieval.engine.steps.fakes import HANDBOOK, MemorySearcher, MemoryWeb, ask, chunk
from tests.retrieval.engine.workflows.runs import judgement, names, run, steps

answer = partial(run, "corrective")
CLEAR = "What is the deposit for a room in Lakeside hall?"
UNKNOWN = "Who won the football cup last year in Lakeside hall?"
WRITER, JUDGE = "Task: WRITE", "Task: JUDGE"
ANSWER, REFUSAL, UNCLEAR = "The deposit is EUR 300 [1].", "NO_ANSWER", "UNCLEAR"


def prompts(online: Any, words: str) -> list[str]:
    return [request.prompt for request in online.chats if words in request.prompt]


class CrossEncoder:
    """Likes best what a first search finds first."""

    name = "cross-encoder"

    async def rerank(self, query: str, texts: Any) -> list[float]:
        return [1 / (2 + int(text.rpartition("EUR ")[2].rstrip("."))) for text in texts]


# ------------------------------------------------------------------------------------------------ who decides
async def test_an_answer_that_the_first_search_found_takes_one_round(online) -> None:
    online.reply(match=WRITER, text=ANSWER)
    result, trace, events = await answer(CLEAR)
    assert (result.decision, result.text) == ("ANSWER", "The deposit is EUR 300 [1].")
    assert trace.usage().llm_rounds == 1
    assert events.kinds.index("sources") < events.kinds.index("chunk")
    assert events.text == result.text


async def test_a_refusal_leads_to_better_words_a_judgement_and_another_writing(online) -> None:
    online.reply(match=WRITER, text=REFUSAL, times=1)
    online.reply(match='"queries"', json={"queries": ["Wi-Fi error NLU-E107"]})
    online.reply(match=JUDGE, json=judgement("answer", 1))
    online.reply(match=WRITER, text="Your password has expired [1].")
    searcher = MemorySearcher(HANDBOOK)
    result, trace, events = await answer(
        "Why am I thrown out of the net in Lakeside?", searcher=searcher
    )
    assert result.decision == "ANSWER"
    assert "password" in result.text
    assert next([query.kind for query in request.queries] for request in searcher.requests) == [
        "original"
    ]
    assert "rewrite" in [query.kind for query in searcher.requests[1].queries]
    assert trace.usage().llm_rounds == 4
    assert events.kinds.count("sources") == 1


async def test_what_the_writing_model_refused_is_judged_and_then_the_best_five_others(
    online,
) -> None:
    online.reply(match=WRITER, text=REFUSAL)
    online.reply(match=JUDGE, json=judgement("no_answer"))
    chunks = [
        chunk(number, f"The deposit in hall {number} is EUR {number}.") for number in range(20)
    ]
    await answer(CLEAR, chunks)
    (first,) = prompts(online, WRITER)
    judged = prompts(online, JUDGE)
    assert first.count("EUR") == 8
    assert [prompt.count("EUR") for prompt in judged] == [12, 5]


async def test_what_was_refused_leaves_its_place_to_others_however_well_it_scores(online) -> None:
    online.reply(match=WRITER, text=REFUSAL)
    online.reply(match=JUDGE, json=judgement("no_answer"))
    chunks = [
        chunk(number, f"The deposit in hall {number} is EUR {number}.") for number in range(20)
    ]
    await answer(CLEAR, chunks, reranker=CrossEncoder())
    first, second = prompts(online, JUDGE)
    shown = [set(re.findall(r"EUR \d+", prompt)) for prompt in (first, second)]
    assert len(shown[1]) == 5 and not shown[0] & shown[1]


async def test_where_the_question_is_unclear_the_judge_sees_more_passages_than_the_writer(
    online,
) -> None:
    online.reply(match=WRITER, text=UNCLEAR, times=1)
    online.reply(match=JUDGE, json=judgement("ask_back", 1, 12))
    chunks = [
        chunk(number, f"The deposit in hall {number} is EUR {number}.") for number in range(20)
    ]
    result, _, _ = await answer(CLEAR, chunks)
    assert [prompt.count("EUR") for prompt in prompts(online, WRITER)] == [8]
    assert [prompt.count("EUR") for prompt in prompts(online, JUDGE)] == [12]
    assert result.decision == "CLARIFY"


async def test_after_the_judges_yes_the_writing_model_is_offered_no_way_out(online) -> None:
    online.reply(match=WRITER, text=REFUSAL, times=1)
    online.reply(match=JUDGE, json=judgement("answer", 1))
    online.reply(match=WRITER, text=ANSWER)
    await answer(CLEAR)
    first, second = (prompt.split("</passages>")[1] for prompt in prompts(online, WRITER))
    assert "NO_ANSWER" in first and "UNCLEAR" in first
    assert "NO_ANSWER" not in second and "UNCLEAR" not in second


async def test_a_refusal_after_the_judges_yes_is_no_statement_that_is_checked(online) -> None:
    refusal = "Nothing of that kind is mentioned anywhere."
    online.reply(match=WRITER, text=refusal)
    online.reply(match=JUDGE, json=judgement("answer", 1))
    result, _, _ = await answer(CLEAR)
    (looked,) = prompts(online, "Statements to check")
    assert result.decision == "ANSWER"
    assert refusal in result.text and refusal not in looked


async def test_a_refusal_in_words_of_its_own_is_looked_into_again(online) -> None:
    online.reply(match=WRITER, text="Nothing of that kind is mentioned anywhere.", times=1)
    online.reply(match=JUDGE, json=judgement("answer", 1))
    online.reply(match=WRITER, text=ANSWER)
    result, _, events = await answer(CLEAR)
    assert result.decision == "ANSWER"
    assert result.text == events.text
    assert result.text.startswith(
        "Nothing of that kind is mentioned anywhere.\n\nA second search, with other words:"
    )
    assert result.text.endswith("The deposit is EUR 300 [1].")
    assert [result.text[one.start : one.end] for one in result.grounding] == [
        "The deposit is EUR 300 [1]."
    ]
    assert [source.chunk.document_id for source in result.sources if source.cited] == ["d3"]


@pytest.mark.parametrize("refusal", [REFUSAL, "Nothing of that kind is mentioned anywhere."])
async def test_what_the_judge_says_to_answer_is_shown_where_nothing_is_written_from_it(
    online, refusal: str
) -> None:
    online.reply(match=WRITER, text=refusal)
    online.reply(match=JUDGE, json=judgement("answer", 1))
    result, trace, events = await answer(CLEAR)
    assert result.decision == "ANSWER"
    assert result.text == events.text
    assert "EUR 300" in result.text
    assert [source.chunk.document_id for source in result.sources if source.cited] == ["d3"]
    assert "generate" in {entry["step"] for entry in trace.degraded}


async def test_refusals_in_words_of_its_own_end_with_the_nearest_passages(online) -> None:
    online.reply(match=WRITER, text="Nothing of that kind is mentioned anywhere.")
    online.reply(match=JUDGE, json=judgement("no_answer"))
    result, _, events = await answer(CLEAR)
    assert result.decision == "NO_ANSWER"
    assert result.text == events.text
    assert "EUR 300" in result.text


async def test_thoughts_that_only_their_end_marks_are_taken_back(online) -> None:
    online.reply(
        match=WRITER, text=f"The deposit of which hall? Of Lakeside.\n</think>\n\n{ANSWER}"
    )
    result, _, events = await answer(CLEAR)
    assert result.text == events.text == ANSWER
    assert "withdrawn" in events.kinds
    assert [source.chunk.document_id for source in result.sources if source.cited] == ["d3"]


async def test_thoughts_that_do_not_end_are_told_and_the_passages_shown(online) -> None:
    online.reply(match=WRITER, text="<think>The deposit of which hall? Of Lakeside, so EUR 5000.")
    result, trace, _ = await answer(CLEAR)
    assert "EUR 300" in result.text
    assert "5000" not in result.text
    assert [entry["reason"] for entry in trace.degraded] == [
        "model 'test-chat:latest' thought and came to no answer"
    ]


@pytest.mark.parametrize("broken_off", ["NO_", "Answer: NO_ANS", "Xy ab"])
async def test_nothing_is_shown_of_a_word_that_the_stream_broke_off_in(
    online, broken_off: str
) -> None:
    online.reply(match=WRITER, pieces=[broken_off], text=broken_off, disconnect_after=1)
    result, trace, _ = await answer(CLEAR)
    assert "EUR 300" in result.text
    assert broken_off not in result.text.split("\n")[0]
    assert {entry["step"] for entry in trace.degraded} == {"generate"}


async def test_what_both_refuse_is_no_answer_which_quotes_the_nearest_passages(online) -> None:
    online.reply(match=JUDGE, json=judgement("no_answer"))
    online.reply(match=WRITER, text=REFUSAL)
    result, trace, events = await answer(UNKNOWN)
    assert result.decision == "NO_ANSWER"
    assert result.text == events.text
    assert result.text.startswith("I don't know")
    assert "EUR 300" in result.text
    assert [source.chunk.document_id for source in result.sources if source.cited][:1] == ["d3"]
    assert trace.steps[-1].detail["decision"] == "NO_ANSWER"


async def test_a_judge_that_fails_leaves_the_word_to_the_writing_model(online) -> None:
    online.reply(match=WRITER, text=UNCLEAR, times=1)
    online.reply(match=JUDGE, status=500, error="oom")
    online.reply(match=WRITER, text=ANSWER)
    result, trace, _ = await answer(CLEAR)
    assert result.decision == "ANSWER"
    assert "assess" in {entry["step"] for entry in trace.degraded}


async def test_a_request_may_want_a_judgement_first(online) -> None:
    online.reply(match=JUDGE, json=judgement("answer", 1))
    online.reply(match=WRITER, text=ANSWER)
    result, trace, _ = await answer(ask(CLEAR, options=AnswerOptions(judge=True)))
    assert result.decision == "ANSWER"
    assert names(trace).index("assess") < names(trace).index("generate")
    assert trace.usage().llm_rounds == 2


async def test_options_of_the_request_switch_steps_off(online) -> None:
    online.reply(match=WRITER, text=REFUSAL)
    options = AnswerOptions(rewrite=False, hyde=False, judge=False)
    _, trace, _ = await answer(ask(CLEAR, options=options))
    statuses = {step.name: step.status for step in trace.steps}
    assert [statuses[name] for name in ("rewrite", "hyde")] == ["skipped"] * 2
    assert not prompts(online, JUDGE)


# ------------------------------------------------------------------------------------------------ asking back
RIVALS = (
    chunk(31, "A guest may stay in a hall for 3 nights.", title="Hall rules"),
    chunk(32, "A guest may stay in a hall for 5 nights.", title="Guest rules"),
)
NIGHTS = "How many nights may a guest stay in a hall?"


async def test_readings_that_differ_are_asked_back_about(online) -> None:
    online.reply(match=WRITER, text=UNCLEAR)
    online.reply(match=JUDGE, json=judgement("ask_back", 1, 2))
    result, trace, events = await answer(NIGHTS, RIVALS)
    assert result.decision == "CLARIFY"
    assert result.clarification is not None
    assert set(result.clarification.options) == {"Hall rules", "Guest rules"}
    assert result.text == events.text == result.clarification.question
    assert trace.usage().llm_rounds == 2


@pytest.mark.parametrize(
    ("nights", "asks", "asked"),
    [
        (
            NIGHTS,
            "Do you mean the hall rules,\nor the guest rules?",
            "Do you mean the hall rules, or the guest rules?",
        ),
        (
            "客人在宿舍可以住几晚？",
            "您問的是宿舍規定還是訪客規定？",
            "您问的是宿舍规定还是访客规定？",
        ),
        (NIGHTS, "", "Which of these is your question about?"),
    ],
)
async def test_the_question_back_is_the_judges_sentence(
    online, nights: str, asks: str, asked: str
) -> None:
    rivals = [replace(rival, text=f"{rival.text} 客人在宿舍可以住几晚。") for rival in RIVALS]
    online.reply(match="Task: WRITE|任务：作答", text=UNCLEAR)
    judged = {**judgement("ask_back", 1, 2), "clarifying_question": asks}
    online.reply(match="Task: JUDGE|任务：判断", json=judged)
    result, _, _ = await answer(nights, rivals)
    assert result.clarification is not None
    assert result.text == result.clarification.question == asked
    assert set(result.clarification.options) == {"Hall rules", "Guest rules"}


@pytest.mark.parametrize("judged", [judgement("answer", 1), judgement("ask_back", 1)])
async def test_where_one_document_answers_nothing_is_asked_back(online, judged) -> None:
    online.reply(match=WRITER, text=UNCLEAR, times=1)
    online.reply(match=JUDGE, json=judged)
    online.reply(match=WRITER, text="A guest may stay for 3 nights [1].")
    result, _, _ = await answer(NIGHTS, RIVALS)
    assert result.decision == "ANSWER"


async def test_it_never_asks_back_twice(online) -> None:
    online.reply(match=WRITER, text="A guest may stay for 3 nights [1].")
    asked = Clarification(question="Which?", options=("Hall rules", "Guest rules"))
    opened = OpenClarification(question=NIGHTS, clarification=asked)
    talk = (HistoryMessage("user", NIGHTS), HistoryMessage("assistant", asked.question))
    await answer(ask("any of them", history=talk, open_clarification=opened), RIVALS)
    (request,) = [request for request in online.chats if WRITER in request.prompt]
    assert "NO_ANSWER" in request.prompt
    assert "UNCLEAR" not in request.prompt


# ------------------------------------------------------------------------------------------------ searching on


async def test_a_greeting_that_the_model_reads_is_replied_to(online) -> None:
    online.reply(match=WRITER, text=REFUSAL)
    online.reply(match="Kinds of document", json={"evidence": "", "task": "chat", "documents": []})
    online.reply(match="offer to answer", text="Hello! How can I help?")
    documents = MemoryReader(list(HANDBOOK))
    result, _, _ = await answer("Hello!", HANDBOOK, documents=documents)
    assert (result.decision, result.text, result.sources) == (
        "ANSWER",
        "Hello! How can I help?",
        (),
    )


async def test_refine_searches_by_text_alone_then_wider_without_the_filters_of_the_question(
    online,
) -> None:
    online.reply(match=WRITER, text=REFUSAL)
    online.reply(match=JUDGE, json=judgement("no_answer"))
    searcher = MemorySearcher(HANDBOOK)
    _, trace, _ = await answer("Guide me: who won the cup of Lakeside hall?", searcher=searcher)
    stages = [step.detail["stage"] for step in trace.steps if step.name == "refine"]
    assert stages == ["text", "wide"]
    assert searcher.requests[-1].filters == SearchFilters()


async def test_a_filter_of_the_request_is_never_dropped(online) -> None:
    online.reply(match=WRITER, text=REFUSAL)
    searcher = MemorySearcher(HANDBOOK)
    await answer(ask(CLEAR, filters=SearchFilters(department="Library")), searcher=searcher)
    assert {request.filters.department for request in searcher.requests} == {"Library"}


async def test_filters_that_the_model_reads_hold_for_the_better_search(online) -> None:
    online.reply(match="Departments:", json={"evidence": "dorms", "department": "Housing"})
    online.reply(match=WRITER, text=REFUSAL)
    searcher = MemorySearcher(HANDBOOK)
    await answer(f"{CLEAR} In the dorms?", searcher=searcher)
    preferred = [request.filters.preferred.departments for request in searcher.requests]
    assert preferred[0] == ()
    assert ("Housing",) in preferred


CUP = WebResult(
    title="Football cup",
    url="https://news.example/cup",
    snippet="The football cup was won by Mill Lane last year.",
)


async def test_what_the_documents_do_not_hold_is_looked_up_on_the_web_at_last(online) -> None:
    online.reply(match=WRITER, text=REFUSAL, times=1)
    online.reply(match="(?s)Mill Lane.*" + JUDGE, json=judgement("answer", 1))
    online.reply(match=JUDGE, json=judgement("no_answer"))
    online.reply(match=WRITER, text="The football cup was won by Mill Lane last year [1].")
    wanted = ask(UNKNOWN, options=AnswerOptions(web_search=True))
    result, trace, _ = await answer(wanted, web=MemoryWeb((CUP,)))
    stages = [step.detail["stage"] for step in trace.steps if step.name == "refine"]
    assert stages == ["text", "wide", "web"]
    assert result.decision == "ANSWER"
    assert [source.chunk.url for source in result.sources if source.cited] == [CUP.url]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (None, "A search of the web brought no answer"),
        (WebSearchError("away"), "The web could not be searched"),
    ],
)
async def test_no_answer_says_whether_the_web_was_searched(online, error: Any, said: str) -> None:
    online.reply(match=WRITER, text=REFUSAL)
    online.reply(match=JUDGE, json=judgement("no_answer"))
    result, _, _ = await answer(
        ask(UNKNOWN, options=AnswerOptions(web_search=True)), web=MemoryWeb(error=error)
    )
    assert result.decision == "NO_ANSWER"
    assert said in result.text
    result, _, _ = await answer(UNKNOWN, web=MemoryWeb(error=error))
    assert "the web" not in result.text


async def test_a_follow_up_is_searched_with_what_it_leaves_out(offline) -> None:
    history = (
        HistoryMessage("user", "What does a late resit cost?"),
        HistoryMessage("assistant", "EUR 55 [1]"),
    )
    result, _, _ = await answer(ask("And when does it close?", history=history))
    assert "1 July" in result.text


# ------------------------------------------------------------------------------------------------ languages, offline
@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("校长奖学金每学年多少欧元？", "> **校长奖学金每学年5000欧元"),
        ("校長獎學金每學年多少歐元？", "> **校長獎學金每學年5000歐元"),
        (CLEAR, "> **The deposit for a room in Lakeside hall is EUR 300.** It is paid back"),
    ],
)
async def test_offline_answers_are_in_the_questions_language(
    offline, question: str, lead: str
) -> None:
    result, trace, _ = await answer(question)
    assert lead in result.text
    assert any(source.cited for source in result.sources)
    assert {entry["step"] for entry in trace.degraded} == {"generate"}
    assert trace.usage().llm_calls == 0


# ------------------------------------------------------------------------------------------------ when things fail


async def test_where_a_model_is_required_its_absence_is_an_error(rag_settings) -> None:
    rag_settings(ollama={"offline": "0", "base_url": "http://127.0.0.1:9"})
    with pytest.raises(UnavailableError, match="model server"):
        await answer(CLEAR)


# ------------------------------------------------------------------------------------------------ eight criteria
def by_criteria(*means: int) -> dict[str, Any]:
    """Of each passage, of 10."""
    entries = [
        {"passage": number, "criteria": [mean] * 8} for number, mean in enumerate(means, start=1)
    ]
    return {"passages": entries, "verdict": "answer"}


ROOM_AND_RESIT = "deposit for a room in Lakeside hall, late resit"
ROOMS = [one for one in HANDBOOK if one.chunk_id in ("k3", "k6")]
CUP_PAGES = [
    WebResult(
        title=f"Cup {number}",
        url=f"https://example.org/{number}",
        snippet=f"The cup went to FC Nord {number}.",
    )
    for number in range(3)
]


class NewPages(MemoryWeb):
    """Another page for each search."""

    async def search(self, query: str, *, limit: int) -> tuple[WebResult, ...]:
        self.asked.append((query, limit))
        return (CUP_PAGES[len(self.asked) - 1],)


async def test_by_eight_criteria_it_is_judged_first_and_written_from_what_is_good(
    online, rag_settings
) -> None:
    rag_settings(rerank={"evaluator": "eight_criteria"})
    online.reply(match='"criteria"', json=by_criteria(2, 9))
    online.reply(structured=False, text="The deposit for a room in Lakeside hall is EUR 300 [1].")
    result, trace, _ = await answer(ROOM_AND_RESIT, ROOMS)
    found = [row["chunk_id"] for row in steps(trace, "retrieve")[0].detail["candidates"]]
    assert [source.chunk.chunk_id for source in result.sources] == found[1:]


async def test_while_too_few_are_good_the_web_is_searched_in_new_words_three_times(
    online, rag_settings
) -> None:
    rag_settings(rerank={"evaluator": "eight_criteria", "min_docs": 2})
    online.reply(match='"criteria"', json=by_criteria(1, 1), times=1)
    online.reply(match='"criteria"', json=by_criteria(9, 1, 1), times=1)
    online.reply(match='"criteria"', json=by_criteria(1, 9, 1, 1), times=1)
    online.reply(match='"criteria"', json=by_criteria(9, 9, 1, 1, 1))
    for number in range(3):
        online.reply(
            match="one query for a search engine", json={"query": f"football cup {number}"}, times=1
        )
    online.reply(structured=False, text="FC Nord [1].")
    web = NewPages()
    question = ask("Who won the deposit and the resit cup?", options=AnswerOptions(web_search=True))
    result, trace, _ = await answer(question, ROOMS, web=web)
    assert web.queries == ["football cup 0", "football cup 1", "football cup 2"]
    assert [step.detail["good"] for step in steps(trace, "assess") if "good" in step.detail] == [
        0,
        1,
        1,
        2,
    ]
    assert result.decision == "ANSWER"
    assert {source.chunk.kind for source in result.sources} == {"web"}


async def test_what_is_good_but_too_little_is_written_from_once_the_web_was_tried(
    online, rag_settings
) -> None:
    rag_settings(rerank={"evaluator": "eight_criteria", "min_docs": 2})
    online.reply(match='"criteria"', json=by_criteria(9, 1))
    online.reply(structured=False, text="The deposit for a room in Lakeside hall is EUR 300 [1].")
    result, _, _ = await answer(ROOM_AND_RESIT, ROOMS)
    assert (result.decision, len(result.sources)) == ("ANSWER", 1)
