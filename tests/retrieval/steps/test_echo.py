import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.prompting import PromptLibrary
from retrieval.steps.answer.echo import EchoGuard

SYSTEM = {
    language: PromptLibrary().template("generate", language=language).system.template for language in ("en", "zh")
}


def stream(pieces, instructions: str) -> tuple[str, bool]:
    guard = EchoGuard(instructions)
    text = "".join(guard.feed(piece) for piece in pieces) + guard.finish()
    return text, guard.caught


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reciting_the_instructions_ends_the_answer_before_they_are_told(language: str) -> None:
    text, caught = stream("Sure. Here they are: " + SYSTEM[language], SYSTEM[language])
    assert caught
    assert text.startswith("Sure. Here they are")
    assert len(text) < 60


def test_markup_and_case_do_not_hide_an_echo() -> None:
    shouted = "**" + SYSTEM["en"].upper().replace(" ", "  \n> ") + "**"
    assert stream(shouted, SYSTEM["en"])[1]


@pytest.mark.parametrize(
    "answer", ["The documents do not say.", "Use only what the passages say, they told me [1].", "文件中没有提到。"]
)
def test_a_few_words_in_common_are_no_echo(answer: str) -> None:
    assert stream(answer, SYSTEM["en"] + SYSTEM["zh"]) == (answer, False)


def test_what_is_no_echo_is_not_held_back() -> None:
    guard = EchoGuard(SYSTEM["en"])
    assert guard.feed("A resit costs EUR 55 [1].") == "A resit costs EUR 55 [1]."


@given(st.text(max_size=80), st.lists(st.integers(1, 9), max_size=9))
def test_an_answer_of_its_own_comes_through_however_it_is_cut(answer: str, cuts: list[int]) -> None:
    pieces, rest = [], answer
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert stream([*pieces, rest], "") == (answer, False)
