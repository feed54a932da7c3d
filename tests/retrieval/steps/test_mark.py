"""What of a reply reaches the reader, however it is cut into pieces: the mark before it, and the script it is in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.steps.writing import MarkReader
from retrieval.text.analysis import ScriptKeeper, answer_language


def read(reply: str, size: int) -> tuple[str | None, str]:
    reader = MarkReader()
    text = "".join(reader.feed(reply[at : at + size]) for at in range(0, len(reply), size)) + reader.finish()
    return reader.mark, text


@pytest.mark.parametrize("size", [1, 3, 500])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("text", ['A "quoted" word.\n- a\\b', "补考费为55欧元。😀", ""])
def test_the_text_behind_the_mark_is_the_answer(text: str, ascii_only: bool, size: int) -> None:
    assert read(json.dumps({"mark": "answer", "answer": text}, ensure_ascii=ascii_only), size) == ("answer", text)


@pytest.mark.parametrize("size", [1, 500])
@pytest.mark.parametrize(
    ("reply", "mark"), [('{"mark": "no_answer", "answer": ""}', "no_answer"),
                        ('{\n "mark" : "ask_back" ,\n "answer": ""}', "ask_back"),
                        ('{"mark": "no_answer"}', "no_answer")],
)  # fmt: skip
def test_a_refusal_has_no_text(reply: str, mark: str, size: int) -> None:
    assert read(reply, size) == (mark, "")


@pytest.mark.parametrize("size", [1, 500])
@pytest.mark.parametrize("reply", ["It costs EUR 55 [1].", "[1] says so.", "[2]", '{"answer": "x"}', "answer: yes"])
def test_text_without_a_mark_is_an_answer(reply: str, size: int) -> None:
    assert read(reply, size) == ("answer", reply)


@pytest.mark.parametrize(
    ("reply", "text"), [(r'{"mark": "answer", "answer": "a\ud83d b"}', "a? b"),
                        (r'{"mark": "answer", "answer": "a\q b"}', "a b"),
                        (r'{"mark": "answer", "answer": "a\\ud8 \u12 b\udc00\ud83d\u0041\u12"} more', r"a\ud8  b??A"),
                        (r'{"mark": "answer", "answer": "cut \ud8', "cut "),
                        ('{"mark": "answer", "answer": "cut', "cut")],
)  # fmt: skip
def test_a_broken_escape_loses_no_more_than_itself(reply: str, text: str) -> None:
    assert read(reply, 1) == read(reply, 500) == ("answer", text)


def test_each_piece_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    loads = json.loads
    monkeypatch.setattr(json, "loads", lambda text, **how: lengths.append(len(text)) or loads(text, **how))
    text = "Ten books, \n" * 500
    assert read(json.dumps({"mark": "answer", "answer": text}), 5)[1] == text
    assert len(text) < sum(lengths) < 3 * len(text)


# ------------------------------------------------------------------------------------------------ the script
def stream(pieces, language) -> str:
    keeper = ScriptKeeper(language)
    return "".join(keeper.feed(piece) for piece in pieces) + keeper.finish()


@pytest.mark.parametrize(
    ("written", "language", "read"),
    [
        ("奖学金每学年5000欧元 [1]。头发与发生。", "zh-hant", "獎學金每學年5000歐元 [1]。頭髮與發生。"),
        ("獎學金每學年5000歐元 [1]。", "zh-hans", "奖学金每学年5000欧元 [1]。"),
        ("由导师核准，吃饭，群体。", "zh-hant", "由導師核准，吃飯，群體。"),
        ("由導師核准，裏面吃飯，羣體。", "zh-hant", "由導師核准，裏面吃飯，羣體。"),
        ("台北的皇后里，若干公里。", "zh-hant", "台北的皇后里，若干公里。"),
        ("The fee (费用) is 5.", "en", "The fee (费用) is 5."),
        ("料金は五ユーロです。", "other", "料金は五ユーロです。"),
    ],
)
def test_a_chinese_answer_is_read_in_the_questions_script(written: str, language, read: str) -> None:
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
