import asyncio

import pytest
from django.conf import settings

from retrieval.steps.answer import write_answer
from tests.retrieval.steps.fakes import Events, ask, make_tools, scored, with_corrective

QUESTION = "What is the resit fee?"
CANDIDATES = (
    scored(
        1,
        "A resit costs EUR 55. The resit fee is paid online.",
        rerank=0.9,
        title="Exams",
        file_name="exams.pdf",
        page=2,
    ),
    scored(2, "The library opens at eight.", rerank=0.4),
)


async def generate(text: str = QUESTION, rag=None, language="en"):
    events = Events()
    deps = make_tools(rag or settings.RAG, sink=events, language=language)
    return await write_answer(deps, ask(text), CANDIDATES), events, deps.trace


async def test_tokens_are_streamed_after_the_sources_and_are_the_answer(online) -> None:
    online.reply(text="It costs EUR 55 [1], paid online [9]. The library opens at eight [2].")
    answer, events, trace = await generate()
    assert answer.text == events.text == "It costs EUR 55, paid online [1]. The library opens at eight [2]."
    assert events.kinds.index("sources") < events.kinds.index("chunk")
    assert len(events.chunks) > 3
    assert [source.cited for source in answer.sources] == [True, True]
    assert answer.model == "test-chat:latest"
    assert not trace.degraded


async def test_the_prompt_numbers_passages_and_names_their_files(online) -> None:
    await generate()
    prompt = online.chats[0].prompt
    assert '<passage id="1" title="Exams" file="exams.pdf" page="2">\nA resit costs' in prompt
    assert f"Question: {QUESTION}" in prompt


async def test_a_refusal_sends_the_reader_nothing(online) -> None:
    online.reply(json=["no_answer", ""])
    answer, events, _ = await generate()
    assert (answer.decision, answer.text) == ("NO_ANSWER", "")
    assert not {"sources", "chunk"} & set(events.kinds)


@pytest.mark.parametrize("text", ["I cannot find this here.", "Parking costs EUR 100 [1]."])
async def test_a_text_that_no_passage_bears_out_is_no_answer_and_the_nearest_are_quoted(online, text: str) -> None:
    online.reply(json=["answer", text])
    answer, events, _ = await generate()
    assert answer.decision == "NO_ANSWER"
    assert "EUR 55" in answer.text
    assert answer.text == events.text


async def test_the_path_tells_ordering_writing_and_checking(online) -> None:
    online.reply(text="A resit costs EUR 55 [1].")
    answer, _, trace = await generate()
    assert [step.name for step in trace.steps] == ["order", "generate", "verify"]
    assert [one.supported for one in answer.grounding] == [True]


async def test_without_a_model_a_label_says_whether_the_quotations_are_an_answer(offline, rag_settings) -> None:
    rag_settings(corrective={"good_score": 0.0})
    sure, _, _ = await generate()
    rag_settings(corrective={"good_score": 1.0})
    unsure, _, _ = await generate()
    assert (sure.decision, unsure.decision) == ("ANSWER", "NO_ANSWER")
    assert sure.text in unsure.text
    assert unsure.text.startswith("No language model is connected")
    assert [source.cited for source in sure.sources] == [source.cited for source in unsure.sources]


@pytest.mark.parametrize(
    "fault",
    [{"status": 404, "error": "model 'x' not found"}, {"status": 500, "error": "oom"}, {"text": ""}, {"delay_s": 9},
     {"text": "   "}, {"malformed_after": 0}, {"disconnect_after": 0}],
)  # fmt: skip
async def test_before_the_first_token_a_fault_gives_the_extractive_answer(
    online, rag_settings, fault, monkeypatch
) -> None:
    rag_settings(ollama={"first_token_timeout_s": 0.15})
    monkeypatch.setattr("retrieval.providers.chat.BETWEEN_TOKENS_TIMEOUT_S", 0.15)
    online.reply(**fault)
    answer, events, trace = await generate()
    assert "EUR 55. [1]" in answer.text
    assert answer.text == events.text
    assert (answer.model, answer.partial) == ("", False)
    assert trace.degraded[0]["step"] == "generate"


@pytest.mark.parametrize("fault", ["disconnect_after", "error_after", "stall_after", "malformed_after"])
async def test_a_stream_that_breaks_leaves_what_came(online, fault, monkeypatch) -> None:
    monkeypatch.setattr("retrieval.providers.chat.BETWEEN_TOKENS_TIMEOUT_S", 1.0)
    online.reply(text="It is EUR 55 for every single resit [1].", **{fault: 3})
    answer, events, trace = await generate()
    assert answer.partial
    assert answer.text.startswith("It is")
    assert answer.text == events.text
    assert trace.degraded[0]["step"] == "generate"


async def test_an_answer_cut_at_its_length_is_marked_partial(online) -> None:
    online.reply(text="It is EUR 55 [1] and", done_reason="length")
    answer, _, trace = await generate()
    assert answer.partial
    assert "limit" in trace.degraded[0]["reason"]


async def test_at_the_deadline_the_answer_ends_where_it_is(online) -> None:
    online.reply(text="It is EUR 55 for every single resit [1].", stall_after=3)
    answer, _, _ = await generate(rag=with_corrective(settings.RAG, timeout_s=0.3))
    assert answer.partial
    assert answer.text.startswith("It is")


async def test_stopping_closes_the_models_connection(online) -> None:
    online.reply(text="It is EUR 55 for every single resit [1].", stall_after=2)
    task = asyncio.create_task(generate())
    while not (online.chats and online.chats[0].pieces_sent >= 2):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(online.chats[0].wait_client_closed)


# ------------------------------------------------------------------------------------------------ citations


async def test_a_right_sentence_without_a_citation_is_an_answer(online) -> None:
    online.reply(text="A resit costs 55 euros.")
    answer, _, _ = await generate()
    assert (answer.decision, answer.text) == ("ANSWER", "A resit costs 55 euros [1].")


async def test_a_passage_that_denies_is_no_refusal(online) -> None:
    online.reply(text="The rent does not include breakfast.")
    found = (scored(1, "The rent of a room does not include breakfast or laundry.", rerank=0.9),)
    asked = ask("Is breakfast included?")
    answer = await write_answer(make_tools(settings.RAG), asked, found)
    assert (answer.decision, answer.text) == ("ANSWER", "The rent does not include breakfast [1].")


@pytest.mark.parametrize(
    ("language", "quote"),
    [("zh-hant", "每學年"), ("zh-hans", "每学年")],
)
async def test_the_extractive_answer_is_in_the_questions_script(offline, language, quote) -> None:
    found = (scored(1, "校长奖学金每学年5000欧元。", rerank=0.9),)
    asked = ask("獎學金", condensed="校長獎學金每學年多少？")
    answer = await write_answer(make_tools(settings.RAG, language=language), asked, found)
    assert quote in answer.text
    assert "[1]" in answer.text


async def test_the_model_may_read_an_excerpt_and_the_source_keeps_the_whole_passage(online, rag_settings) -> None:
    rag_settings(compress={"enabled": True})
    padding = "Bicycles are kept in the cellar. The gate is shut at night. The bus runs every ten minutes. "
    text = padding + "What the resit fee is: a resit costs EUR 55. It is due in July. " + padding
    asked = ask("How much is the resit fee?")
    answer = await write_answer(make_tools(settings.RAG), asked, [scored(1, text, rerank=0.9)])
    assert answer.sources[0].chunk.text == text
    assert "EUR 55" in online.chats[0].prompt
    assert padding not in online.chats[0].prompt


async def test_where_not_all_passages_fit_the_best_ones_do(online, rag_settings) -> None:
    rag_settings(ollama={"num_ctx": 1900, "max_answer_tokens": 200})
    long = tuple(
        scored(number, f"Passage {number}. " + "word " * 300, rerank=1 - number / 10) for number in range(1, 6)
    )
    rag = settings.RAG
    answer = await write_answer(make_tools(rag), ask(QUESTION), long)
    assert 1 < len(answer.sources) < 5
    assert {source.chunk.chunk_id for source in answer.sources} == {f"k{n}" for n in range(1, len(answer.sources) + 1)}
