"""The mark before an answer: what of a reply reaches the reader, however it is cut into pieces."""

import json

import pytest

from retrieval.steps.writing import MarkReader, marked_shape


def read(reply: str, size: int) -> tuple[str | None, str]:
    reader = MarkReader()
    text = "".join(reader.feed(reply[at : at + size]) for at in range(0, len(reply), size)) + reader.finish()
    return reader.mark, text


@pytest.mark.parametrize("size", [1, 3, 500])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("text", ['A "quoted" word.\n- a\\b', "补考费为55欧元。😀", ""])
def test_the_text_behind_the_mark_is_the_answer(text: str, ascii_only: bool, size: int) -> None:
    assert read(json.dumps(["answer", text], ensure_ascii=ascii_only), size) == ("answer", text)


@pytest.mark.parametrize("size", [1, 500])
@pytest.mark.parametrize(
    ("reply", "mark"), [('["no_answer", ""]', "no_answer"), ('[\n "ask_back" ,\n ""]', "ask_back"),
                        ('["no_answer"]', "no_answer")],
)  # fmt: skip
def test_a_refusal_has_no_text(reply: str, mark: str, size: int) -> None:
    assert read(reply, size) == (mark, "")


@pytest.mark.parametrize("size", [1, 500])
@pytest.mark.parametrize("reply", ["It costs EUR 55 [1].", "[1] says so.", "[2]", '{"answer": "x"}', "answer: yes"])
def test_text_without_a_mark_is_an_answer(reply: str, size: int) -> None:
    assert read(reply, size) == ("answer", reply)


def test_nothing_is_given_out_before_the_mark_is_read() -> None:
    reader = MarkReader()
    assert [reader.feed(piece) for piece in ('["ans', 'wer", "', "It")] == ["", "", "It"]


@pytest.mark.parametrize(
    ("reply", "text"), [(r'["answer", "a\ud83d b"]', "a? b"), (r'["answer", "a\q b"]', "a b"),
                        (r'["answer", "cut \ud8', "cut "), ('["answer", "cut', "cut")],
)  # fmt: skip
def test_a_broken_escape_loses_no_more_than_itself(reply: str, text: str) -> None:
    assert read(reply, 1) == read(reply, 500) == ("answer", text)


def test_asking_back_is_a_choice_only_where_it_is_allowed() -> None:
    assert marked_shape(may_ask_back=True)["prefixItems"][0]["enum"] == ["answer", "no_answer", "ask_back"]
    assert marked_shape(may_ask_back=False)["prefixItems"][0]["enum"] == ["answer", "no_answer"]
