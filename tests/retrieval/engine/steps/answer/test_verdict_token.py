"""What of a reply reaches the reader, however it is cut: the word in place of it, and the script it is in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.engine.steps.answer.verdict_token import VerdictReader
from retrieval.engine.text.phrases import ScriptKeeper, answer_language


def read(reply: str, size: int) -> tuple[str | None, str]:
    reader = VerdictReader()
    text = "".join(
        reader.feed(reply[at : at + size]) for at in range(0, len(reply), size)
    ) + reader.finish(whole=True)
    return reader.verdict, text


@pytest.mark.parametrize("size", [1, 3, 500])
@pytest.mark.parametrize(
    "reply",
    [
        "NO_ANSWER", "\n NO_ANSWER\n", "NO_ANSWER. The passages say when the hall opens, and not what a day costs.",
        "**NO_ANSWER**",
        "`NO_ANSWER`",
        "_NO_ANSWER_", "NO\\_ANSWER", "> NO_ANSWER", "# NO_ANSWER", "```\nNO_ANSWER\n```", '"NO_ANSWER"', "no_answer",
        "Answer: NO_ANSWER", "**Answer:** NO_ANSWER", "## Final answer\n\nNO_ANSWER", "<answer>NO_ANSWER</answer>",
        '{"answer": "NO_ANSWER"}', "回答：NO_ANSWER", "NO ANSWER: nothing says so", "No answer.", "no-answer",
    ],
)  # fmt: skip
def test_a_refusal_is_read_with_what_stands_around_it(reply: str, size: int) -> None:
    assert read(reply, size) == ("no_answer", "")


@pytest.mark.parametrize("size", [1, 500])
@pytest.mark.parametrize(
    "reply", ["UNCLEAR", "**UNCLEAR**", "Answer: UNCLEAR", "Unclear.", "UNCLEAR: which hall?"]
)
def test_a_question_that_is_unclear_is_told_by_its_word(reply: str, size: int) -> None:
    assert read(reply, size) == ("unclear", "")


@pytest.mark.parametrize("size", [1, 3, 500])
@pytest.mark.parametrize(
    "reply",
    [
        "It costs EUR 55 [1].", "[1] says so.", "[2]", '{"answer": "x"}', "answer: yes", "No", "No, it is not.", "Unc",
        "NO_ANSWERING machine is there.", "NO_ANSWER_CODE is 7.", "NO", "No answer is needed after Monday.",
        "Unclear marks are read twice.", "The form asks for NO_ANSWER or a date.", "- NOT before noon\n- UNDER 5 euros",
        "补考费为55欧元。", "答案：五月。", "-" * 90 + "NO_ANSWER", "", "\n ",
    ],
)  # fmt: skip
def test_everything_else_is_text(reply: str, size: int) -> None:
    assert read(reply, size) == (None, reply)


@pytest.mark.parametrize(
    ("reply", "held"),
    [
        ("The sauna is heated", 9),
        ("No, it is closed", 4),
        ("补考费为55欧元。", 4),
        ("Unless it rains", 9),
    ],
)
def test_a_reply_is_held_back_only_while_it_can_become_a_verdict(reply: str, held: int) -> None:
    reader = VerdictReader()
    given = [reader.feed(letter) for letter in reply]
    assert not any(given[:held])
    assert all(given[held + 1 :])


@pytest.mark.parametrize("reply", ["NO_ANS", "Answer: NO", "**UNC", "The"])
def test_a_word_that_broke_off_is_not_shown(reply: str) -> None:
    reader = VerdictReader()
    assert reader.feed(reply) + reader.finish(whole=False) == ""
    assert reader.verdict is None


@given(st.text(alphabet="NOASWERUCL_no \\*:.`\n是", max_size=90), st.integers(1, 7))
def test_the_cuts_change_nothing(reply: str, size: int) -> None:
    assert read(reply, size) == read(reply, len(reply) + 1)


# ------------------------------------------------------------------------------------------------ the script
def stream(pieces, language) -> str:
    keeper = ScriptKeeper(language)
    return "".join(keeper.feed(piece) for piece in pieces) + keeper.finish()


@pytest.mark.parametrize(
    ("written", "language", "read"),
    [
        (
            "奖学金每学年5000欧元 [1]。头发与发生。",
            "zh-hant",
            "獎學金每學年5000歐元 [1]。頭髮與發生。",
        ),
        ("獎學金每學年5000歐元 [1]。", "zh-hans", "奖学金每学年5000欧元 [1]。"),
        ("由导师核准，吃饭，群体。", "zh-hant", "由導師核准，吃飯，群體。"),
        ("由導師核准，裏面吃飯，羣體。", "zh-hant", "由導師核准，裏面吃飯，羣體。"),
        ("台北的皇后里，若干公里。", "zh-hant", "台北的皇后里，若干公里。"),
        ("The fee (费用) is 5.", "en", "The fee (费用) is 5."),
        ("料金は五ユーロです。", "other", "料金は五ユーロです。"),
        ("会費は五千円です。", "zh-hans", "会費は五千円です。"),
        ("図書館は九時に閉まります。", "zh-hant", "図書館は九時に閉まります。"),
    ],
)
def test_a_chinese_answer_is_read_in_the_questions_script(
    written: str, language, read: str
) -> None:
    assert stream([written], language) == read
    assert stream(written, language) == read  # character by character


@given(st.text(max_size=60), st.lists(st.integers(1, 9), max_size=9))
def test_other_languages_come_through_as_they_are(text: str, cuts: list[int]) -> None:
    pieces, rest = [], text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert stream([*pieces, rest], "other") == text


@pytest.mark.parametrize(
    ("question", "earlier", "reader", "language"),
    [
        ("押金是多少？", [], "zh-hant", "zh-hant"),
        ("押金是多少？", [], "zh-hans", "zh-hans"),
        ("押金是多少？", [], "en", "zh-hans"),
        ("押金是多少？", ["那人呢？", "Hello", "住宿費多少？"], "zh-hans", "zh-hant"),
        ("押金是多少？", ["费用呢？", "住宿費多少？"], "zh-hant", "zh-hans"),
        ("费用是多少？", ["住宿費多少？"], "zh-hant", "zh-hans"),
        ("費用是多少？", ["费用呢？"], "zh-hans", "zh-hant"),
        ("How much is it?", ["住宿費多少？"], "zh-hant", "en"),
        ("料金はいくらですか", ["住宿費多少？"], "zh-hant", "other"),
    ],
)
def test_a_question_that_shows_no_script_is_answered_in_that_of_its_conversation_or_reader(
    question: str, earlier: list[str], reader: str, language: str
) -> None:
    assert answer_language(question, earlier=earlier, reader=reader) == language
