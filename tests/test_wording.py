"""Sentences that keep what they were made of, and their saying in the reader's language."""

from __future__ import annotations

import json

import pytest
from django.utils import translation

from ragsite.core.localized import localized, translate
from ragsite.core.messages import worded, wordings_of

RELEVANT = ("{passed} of {found} documents passed the grading", {"passed": 3, "found": 10})


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
        assert localized(worded(template, **values)) == translate(template, **values) == text


def test_values_are_never_read_as_templates() -> None:
    with translation.override("zh-hans"):
        assert localized(worded("There is no collection {name}.", name="{0.__class__} %s")) == (
            "没有文档库 {0.__class__} %s。"
        )


def test_what_was_stored_is_said_by_what_it_was_made_of() -> None:
    step = {
        "summary": worded("switched off"),
        "detail": {"reason": worded("nothing was found"), "n": 1},
    }
    wordings = json.loads(json.dumps(wordings_of(step)))
    stored = {
        "summary": "switched off",
        "detail": {"reason": "nothing was found", "n": 1},
        "text": "of a document",
    }
    with translation.override("zh-hant"):
        assert localized(stored, wordings) == {
            "summary": "已關閉", "detail": {"reason": "沒有找到內容", "n": 1}, "text": "of a document",
        }  # fmt: skip
