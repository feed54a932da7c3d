"""Where an answer's sentences end while it is streamed, and where its citations stand."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from retrieval.engine.steps.grounding.citation_stream import CitedStream

SEEN: list[tuple[str, tuple[int, ...]]] = []


async def seven(sentence: str, hints) -> tuple[int, ...]:
    SEEN.append((sentence, tuple(hints)))
    return (7,)


async def stream(pieces, align=seven) -> list[str]:
    SEEN.clear()
    cited = CitedStream(align, markers=(1, 2))
    return [*[await cited.feed(piece) for piece in pieces], await cited.finish()]


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("It is EUR 55 [1], not 40 [9]. Open at eight [2].", "It is EUR 55, not 40 [7]. Open at eight [7]."),
        ("It is EUR 55. [1] Pay [2][3]. Then go.", "It is EUR 55 [7]. Pay [7]. Then go [7]."),
        ("奖学金每学年五千欧元 [1]。九月申请。[2]", "奖学金每学年五千欧元 [7]。九月申请 [7]。"),
        ("According to [2], it is EUR 55. Good.", "According to [2], it is EUR 55 [7]. Good [7]."),
        ("根据【2】，费用为五十五欧元。", "根据[2]，费用为五十五欧元 [7]。"),
        ("According to [9], it is EUR 55.", "According to, it is EUR 55 [7]."),
        ("[1] The fee is EUR 55", "The fee is EUR 55 [7]"),
        ("**EUR 55.** [1] Pay.", "**EUR 55 [7].** Pay [7]."),
        ("You need:\n\n1. A card [1]\n2. Two photos.", "You need:\n\n1. A card [7]\n2. Two photos [7]."),
        ("| Fee | Due |\n|---|---|\n| EUR 55 | July [3] |", "| Fee | Due |\n|---|---|\n| EUR 55 | July [7] |"),
        ("# Fees\nThe fee is 3.5 percent\nof all.", "# Fees\nThe fee is 3.5 percent\nof all [7]."),
        ("Ask Dr. Smith, e.g. by mail.", "Ask Dr. Smith, e.g. by mail [7]."),
        ("```\nmake [1] install. Now\n```\nDone it is.", "```\nmake [1] install. Now\n```\nDone it is [7]."),
        ("Is it? Yes.", "Is it? Yes [7]."),
        ("12.", "12 [7]."),
        ("See [the rules](x) and [x].", "See [the rules](x) and [x] [7]."),
        ("Twelve books [1", "Twelve books [7]"),
        ("Run it to restore the data:", "Run it to restore the data: [7]"),
    ],
)
async def test_markers_stand_at_the_end_of_each_sentence(text: str, cited: str) -> None:
    assert "".join(await stream([text])).lstrip() == cited
    assert "".join(await stream(text)).lstrip() == cited  # character by character


async def test_the_sentence_that_a_text_broke_off_in_is_not_cited() -> None:
    cited = CitedStream(seven)
    text = await cited.feed("It is EUR 55. It is paid by [1]") + await cited.finish(whole=False)
    assert text == "It is EUR 55 [7]. It is paid by"


_MARKER_IN_MARKER = re.compile(r"[\[【][\d ,.]*[\[【]")


@settings(max_examples=300)
@given(st.text(alphabet="ab [1]29,.\n【】。|#*-:", max_size=30), st.lists(st.integers(1, 5), max_size=8))
async def test_how_the_text_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    assume(not _MARKER_IN_MARKER.search(text))  # "[1[1]]" says nothing; what is left of it depends on the cut
    pieces, rest = [], text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert "".join(await stream([*pieces, rest])) == "".join(await stream([text]))


async def test_words_go_out_at_once_and_only_the_end_of_a_sentence_waits() -> None:
    assert await stream(["It costs", " EUR", " 55", ".", " Pay", " it"]) == [
        "It costs", " EUR", " 55", "", " [7]. Pay", " it", " [7]",
    ]  # fmt: skip


async def test_the_models_markers_are_hints_for_their_sentence() -> None:
    await stream(["It is EUR 55 [1][12]. [2] Pay it [3, 4]."])
    assert SEEN == [("It is EUR 55", (1, 12, 2)), ("Pay it", (3, 4))]
