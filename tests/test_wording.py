"""Sentences that keep what they were made of, and their saying in the reader's language."""

from __future__ import annotations

import json

import pytest
from django.utils import translation

from ragsite.core.errors import NotFoundError
from ragsite.core.localized import language_of_terminal, localized, localized_text, said
from ragsite.core.wording import counted, joined, worded, wordings_of

RELEVANT = ("{passed} of {found} documents passed the grading", {"passed": 3, "found": 10})


def test_a_sentence_is_its_english_text() -> None:
    text, values = RELEVANT
    assert worded(text, **values) == "3 of 10 documents passed the grading"
    assert json.dumps([worded(text, **values)]) == '["3 of 10 documents passed the grading"]'


@pytest.mark.parametrize(("count", "said_"), [(0, "0 queries"), (1, "1 query"), (2, "2 queries")])
def test_a_number_takes_its_form(count: int, said_: str) -> None:
    assert counted("{count} query", "{count} queries", count) == said_


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "3 of 10 documents passed the grading"),
        ("zh-hans", "10 个文档中有 3 个通过评定"),
        ("zh-hant", "10 個文件中有 3 個通過評定"),
    ],
)
def test_a_sentence_is_said_in_the_active_language(language: str, text: str) -> None:
    template, values = RELEVANT
    with translation.override(language):
        assert localized(worded(template, **values)) == said(template, **values) == text


def test_sentences_inside_of_sentences_are_said_too() -> None:
    inner = counted("{count} person", "{count} people", 2)
    whole = worded("{people} found this useful for similar questions", people=inner)
    assert whole == "2 people found this useful for similar questions"
    with translation.override("zh-hant"):
        assert localized(whole) == "2 人認為它對類似問題有用"


def test_a_list_is_joined_with_the_languages_own_mark() -> None:
    reasons = joined("; ", [worded("switched off"), "what a model said"])
    assert reasons == "switched off; what a model said"
    with translation.override("zh-hans"):
        assert localized(reasons) == "已关闭；what a model said"


def test_values_are_never_read_as_templates() -> None:
    with translation.override("zh-hans"):
        assert localized(worded("There is no collection {name}.", name="{0.__class__} %s")) == (
            "没有文档库 {0.__class__} %s。"
        )


def test_what_was_stored_is_said_by_what_it_was_made_of() -> None:
    step = {"summary": worded("switched off"), "detail": {"reason": worded("nothing was found"), "n": 1}}
    wordings = json.loads(json.dumps(wordings_of(step)))
    stored = {"summary": "switched off", "detail": {"reason": "nothing was found", "n": 1}, "text": "of a document"}
    with translation.override("zh-hant"):
        assert localized(stored, wordings) == {
            "summary": "已關閉", "detail": {"reason": "沒有找到內容", "n": 1}, "text": "of a document",
        }  # fmt: skip


def test_a_text_of_an_earlier_version_stays_as_it_was_stored() -> None:
    with translation.override("zh-hans"):
        assert localized("switched off", {}) == "switched off"
        assert localized_text("The file holds no text.", None) == "The file holds no text."


def test_an_error_says_the_same_in_each_language_under_one_code() -> None:
    error = NotFoundError()
    with translation.override("zh-hant"):
        told = localized(error.as_dict())["error"]
    assert (told["code"], told["message"]) == ("not_found", "這裡什麼也沒有，或者您無權檢視。")
    assert error.as_dict()["error"]["message"] == "There is nothing here, or it is not yours to see."


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"), ({"LANG": "C.UTF-8"}, "en"), ({"LANG": "de_DE.UTF-8"}, "en"), ({"LANG": "zh_CN.UTF-8"}, "zh-hans"),
        ({"LANG": "zh_TW.UTF-8"}, "zh-hant"), ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_HK.UTF-8"}, "zh-hant"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh-hans"),
    ],
)  # fmt: skip
def test_a_command_speaks_the_terminals_language(environ: dict[str, str], language: str) -> None:
    assert language_of_terminal(environ) == language
