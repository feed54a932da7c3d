from dataclasses import replace

import pytest
from django.conf import settings

from retrieval.engine.reasons import Reason
from retrieval.engine.steps.grounding.verify import verify
from retrieval.engine.values import Answer, AnswerSource, Scores
from tests.retrieval.engine.steps.fakes import chunk, make_tools
from tests.retrieval.engine.steps.grounding.languages import ENGLISH, PASSAGES, Passage, sources_of

QUESTION = "What does a resit cost?"
FEES = chunk(
    1,
    "A late resit costs EUR 55. Registration for resits closes on 1 July.",
    title="Examination Regulations",
)
HALLS = chunk(2, "The deposit for a room in Lakeside hall is EUR 300.", title="Student Housing")


def written(
    text: str, *, model: str = "m", partial: bool = False, passages=(FEES, HALLS)
) -> Answer:
    sources = tuple(
        AnswerSource(marker=number, chunk=one, scores=Scores(), cited=f"[{number}]" in text)
        for number, one in enumerate(passages, start=1)
    )
    return Answer(decision="ANSWER", text=text, sources=sources, model=model, partial=partial)


async def checked_answer(answer: Answer, *, language="en", question=QUESTION, **numbers):
    rag = settings.RAG.replace(verify=settings.RAG.verify.replace(**numbers))
    deps = make_tools(rag, language=language)
    checked = await verify(deps, answer, question=question)
    return checked, deps.trace.steps[-1], deps.trace


def verdicts(answer: Answer) -> list[bool | None]:
    return [one.supported for one in answer.grounding]


async def test_weak_sentences_are_told_with_their_places_and_the_text_stays(offline) -> None:
    text = "A late resit costs EUR 55 [1]. The canteen serves lunch all day [1]."
    answer, step, _ = await checked_answer(written(text))
    assert verdicts(answer) == [True, False]
    weak = answer.grounding[1]
    assert text[weak.start : weak.end] == weak.sentence == "The canteen serves lunch all day [1]."
    assert weak.markers == (1,)
    assert (answer.text, answer.decision) == (text, "ANSWER")
    assert step.details == replace(
        step.details, grounding=tuple(one.as_dict() for one in answer.grounding)
    )
    assert step.summary == "sentences backed by a source: 1; weakly backed: 1; not checked: 0"


async def test_a_sentence_is_held_against_what_it_cites_and_nothing_else(offline) -> None:
    answer, _, _ = await checked_answer(
        written("The deposit for a room in Lakeside hall is EUR 300 [1].")
    )
    assert verdicts(answer) == [False]


async def test_a_sentence_that_cites_nothing_is_not_confirmed_by_words_strewn_over_the_passages(
    offline,
) -> None:
    answer, _, _ = await checked_answer(
        written("The deposit for a room in Lakeside hall is EUR 300.")
    )
    assert verdicts(answer) == [False]
    assert answer.grounding[0].score > 0.9


async def test_an_answer_without_markers_of_which_nothing_is_supported_is_no_answer(
    offline,
) -> None:
    answer, _, _ = await checked_answer(
        written("The canteen serves lunch all day. Dogs may enter.")
    )
    assert answer.decision == "NO_ANSWER"
    assert answer.reason == Reason("nothing_supported")


async def test_the_sentence_that_an_answer_broke_off_in_is_neither_weak_nor_refused(
    offline,
) -> None:
    answer, _, _ = await checked_answer(
        written("A late resit costs EUR 55 [1]. According to the canteen's own pl", partial=True)
    )
    assert verdicts(answer) == [True, None]
    answer, _, _ = await checked_answer(written("According to the canteen's own pl", partial=True))
    assert (answer.decision, verdicts(answer)) == ("ANSWER", [None])


@pytest.mark.parametrize(
    "text",
    [
        "The canteen serves lunch all day [1].",
        "A late resit costs EUR 90 [1].",
        "Resits cost 45 % less [1].",
    ],
)
async def test_a_cited_answer_with_nothing_of_its_passages_is_no_answer(offline, text: str) -> None:
    answer, _, _ = await checked_answer(written(text))
    assert (answer.decision, verdicts(answer)) == ("NO_ANSWER", [False])


async def test_a_weak_answer_that_is_not_baseless_stays_one(offline) -> None:
    question = "What does a resit cost in 2031?"
    answer, _, _ = await checked_answer(
        written("A late resit costs EUR 55 in 2031 [1]."), question=question
    )
    assert (answer.decision, verdicts(answer)) == ("ANSWER", [False])
    assert "2031" in answer.grounding[0].reason


async def test_in_another_language_than_its_passages_an_answer_is_neither_weak_nor_refused(
    offline,
) -> None:
    answer, step, _ = await checked_answer(
        written("补考需要交五十五欧元，七月一日截止。"), language="zh-hans"
    )
    assert (answer.decision, verdicts(answer)) == ("ANSWER", [None])
    assert "not checked: 1" in step.summary


@pytest.mark.parametrize("passage", PASSAGES, ids=lambda passage: passage.language)
@pytest.mark.parametrize("supported", [True, False])
async def test_in_every_language_what_its_passage_says_is_an_answer_and_nothing_else(
    offline, passage: Passage, supported: bool
) -> None:
    chunks = [source.chunk for source in sources_of(*ENGLISH, passage.text)]
    text = passage.said + " [4]" if supported else passage.not_said
    answer, _, _ = await checked_answer(written(text, passages=chunks), question="?")
    assert (answer.decision, verdicts(answer)) == (
        "ANSWER" if supported else "NO_ANSWER",
        [supported],
    )


@pytest.mark.parametrize("passage", PASSAGES, ids=lambda passage: passage.language)
async def test_an_answer_in_another_language_than_all_passages_is_not_refused(
    offline, passage: Passage
) -> None:
    chunks = [source.chunk for source in sources_of(*ENGLISH)]
    answer, _, _ = await checked_answer(written(passage.not_said, passages=chunks), question="?")
    assert (answer.decision, verdicts(answer)) == ("ANSWER", [None])


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        (written("A late resit costs EUR 55 [1].", model=""), {}),
        (replace(written("They do not say."), decision="NO_ANSWER"), {}),
        (written("Hello!", passages=()), {}),
        (written("A late resit costs EUR 55 [1]."), {"enabled": False}),
    ],
)
async def test_what_needs_no_check_is_skipped(answer: Answer, numbers: dict) -> None:
    same, step, _ = await checked_answer(answer, **numbers)
    assert same == answer
    assert step.status == "skipped"
