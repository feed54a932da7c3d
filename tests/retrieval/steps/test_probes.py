"""Known cases that a judge is tried with."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from retrieval.errors import ModelError
from retrieval.prompting import PromptLibrary
from retrieval.steps.judge import probes
from tests.retrieval.steps.fakes import context, make_tools

ANSWERS = {"relevant_passages": [1], "verdict": "ANSWER"}
ANSWERS_NOT = {"relevant_passages": [], "verdict": "NO_ANSWER"}
FIRST = probes.probes()[0]


def here(prompts_dir=""):
    return context(replace(make_tools(settings.RAG), prompts=PromptLibrary(prompts_dir)))


def test_as_many_questions_are_answered_as_not_in_each_of_three_scripts() -> None:
    of_language = Counter((probe.language, probe.held) for probe in probes.probes())
    assert {language for language, _ in of_language} == {"en", "zh-hans", "zh-hant"}
    assert all(of_language[language, True] == of_language[language, False] >= 3 for language, _ in of_language)


def test_both_questions_of_a_pair_are_asked_about_the_same_passages() -> None:
    all_probes = probes.probes()
    assert [probe.number for probe in all_probes] == list(range(len(all_probes)))
    for held, absent in zip(all_probes[::2], all_probes[1::2], strict=True):
        assert held.passages == absent.passages
        assert (held.held, absent.held) == (True, False)
        assert held.question != absent.question


@pytest.mark.parametrize("probe", probes.probes(), ids=lambda probe: str(probe.number))
async def test_the_model_is_shown_every_passage_whole_and_the_question(online, probe) -> None:
    online.reply(json=ANSWERS)
    await probes.ask(here(), probe)
    [request] = online.chats
    shown = re.sub(r"\s+", "", request.prompt)
    assert probe.question in request.prompt
    assert all(re.sub(r"\s+", "", passage.chunk.text) in shown for passage in probe.passages)


@pytest.mark.parametrize(("reply", "said"), [(ANSWERS, True), (ANSWERS_NOT, False)])
async def test_what_the_model_says_is_told(online, reply, said: bool) -> None:
    online.reply(json=reply)
    assert await probes.ask(here(), FIRST) is said


@pytest.mark.parametrize(
    "wrong", [{"text": "the second one"}, {"json": {"relevant_passages": [], "verdict": "ANSWER"}}]
)
async def test_what_is_no_judgement_says_nothing(online, wrong) -> None:
    online.reply(**wrong)
    assert await probes.ask(here(), FIRST) is None


async def test_a_server_that_fails_is_told_from_a_model_that_says_nothing(online) -> None:
    online.reply(status=500, error="out of memory")
    with pytest.raises(ModelError):
        await probes.ask(here(), FIRST)


async def test_with_one_passage_judged_the_model_is_asked_for_yes_or_no(online, rag_settings) -> None:
    rag_settings(rerank={"evaluator": "best_passage"})
    online.reply(endpoint="version", body={"version": "0.13.5"})
    online.reply(text="No", likeliest={"Yes": 0.2, "No": 0.8})
    assert await probes.ask(here(), FIRST) is False
    assert "Yes or No" in online.chats[0].prompt


async def test_another_kind_of_judgement_is_another_form(online, rag_settings) -> None:
    before = await probes.form(here())
    rag_settings(rerank={"evaluator": "eight_criteria"})
    assert await probes.form(here()) != before


async def test_another_prompt_is_another_form_and_the_same_one_is_not(online, tmp_path: Path) -> None:
    before = await probes.form(here())
    (tmp_path / "rerank_assess.zh.md").write_text("Judge.\n---\n$passages $question $count\n", encoding="utf-8")
    assert await probes.form(here()) == before
    assert await probes.form(here(str(tmp_path))) != before
