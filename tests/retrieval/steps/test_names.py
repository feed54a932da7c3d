"""Names of a statement that its passages do not have."""

from __future__ import annotations

import pytest

from retrieval.steps.grounding.names import missing_names
from retrieval.steps.grounding.score import all_text, view_of
from tests.retrieval.steps.fakes import chunk

ENGLISH = "The film was directed by Anna Lee, a Norman, at Lakeside Hall. The United Nations praised it."
CHINESE = "《铁拳男人》由王小明导演，主角是詹姆斯·布拉多克，在浙江省拍摄。"


def missing(statement: str, text: str = ENGLISH, question: str = "") -> list[str]:
    passage = chunk(1, text)
    return missing_names(statement, [view_of(passage)], all_text(passage), question)


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("It was directed by Anna Lee.", []),
        ("It was directed by Tom Hanks.", ["Tom", "Hanks"]),
        ("Tom Hanks directed it.", ["Tom", "Hanks"]),
        ("However, the Normans liked it.", []),
        ("The UN praised it.", []),
        ("Its code is NLU-E107.", ["NLU-E107"]),
        ("**Director:** Anna Lee", []),
    ],
)
def test_capitals_and_codes_are_names(statement: str, names: list[str]) -> None:
    assert missing(statement) == names


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("导演是王小明。", []),
        ("导演是王志强。", ["王志强"]),
        ("導演是李國強。", ["李国强"]),
        ("主角是詹姆斯·布拉多克。", []),
        ("主角是托马斯·爱迪生。", ["马斯·爱迪"]),
        ("《铁拳男人》在浙江省拍摄。", []),
        ("《铁拳女人》在山东省拍摄。", ["铁拳女人", "山东省"]),
        ("许多范围都在全国。", []),
    ],
)
def test_chinese_names_are_told_by_titles_dots_surnames_and_places(statement: str, names: list[str]) -> None:
    assert missing(statement, CHINESE) == names


def test_a_name_of_the_question_is_known() -> None:
    assert missing("At Northlake it was praised.", question="Was it praised at Northlake?") == []
