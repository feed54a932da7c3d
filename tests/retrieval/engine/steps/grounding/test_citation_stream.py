"""Where an answer's sentences end while it is streamed, and where its citations stand."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from retrieval.engine.steps.grounding.citation_stream import CitedStream
from retrieval.engine.text.markers import Brackets

SEEN: list[tuple[str, tuple[int, ...]]] = []


async def seven(sentence: str, hints) -> tuple[int, ...]:
    SEEN.append((sentence, tuple(hints)))
    return (7,)


async def stream(pieces, align=seven) -> list[str]:
    SEEN.clear()
    cited = CitedStream(align, brackets=Brackets(frozenset(range(1, 8)), frozenset()))
    return [*[await cited.feed(piece) for piece in pieces], await cited.finish()]


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        (
            "It is EUR 55 [1], not 40 [3]. Open at eight [2].",
            "It is EUR 55, not 40 [7]. Open at eight [7].",
        ),
        ("It is EUR 55. [1] Pay [2][3]. Then go.", "It is EUR 55 [7]. Pay [7]. Then go [7]."),
        ("奖学金每学年五千欧元 [1]。九月申请。[2]", "奖学金每学年五千欧元 [7]。九月申请 [7]。"),
        ("According to [2], it is EUR 55. Good.", "According to [2], it is EUR 55 [7]. Good [7]."),
        ("根据【2】，费用为五十五欧元。", "根据[2]，费用为五十五欧元 [7]。"),
        ("1. [1] A card\n2. [2] Photos", "1. A card [7]\n2. Photos [7]"),
        ("It costs EUR 55[1].", "It costs EUR 55 [7]."),
        ("It costs EUR 55.[1][2] Pay.", "It costs EUR 55 [7]. Pay [7]."),
        ("[1] The fee is EUR 55", "The fee is EUR 55 [7]"),
        ("**EUR 55.** [1] Pay.", "**EUR 55 [7].** Pay [7]."),
        (
            "You need:\n\n1. A card [1]\n2. Two photos.",
            "You need:\n\n1. A card [7]\n2. Two photos [7].",
        ),
        (
            "| Fee | Due |\n|---|---|\n| EUR 55 | July [3] |",
            "| Fee | Due |\n|---|---|\n| EUR 55 | July [7] |",
        ),
        ("# Fees\nThe fee is 3.5 percent\nof all.", "# Fees\nThe fee is 3.5 percent\nof all [7]."),
        ("Ask Dr. Smith, e.g. by mail.", "Ask Dr. Smith, e.g. by mail [7]."),
        (
            "```\nmake [1] install. Now\n```\nDone it is.",
            "```\nmake [1] install. Now\n```\nDone it is [7].",
        ),
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
    cited = CitedStream(seven, brackets=Brackets(frozenset({1}), frozenset()))
    text = await cited.feed("It is EUR 55. It is paid to the porter [1]") + await cited.finish(
        whole=False
    )
    assert text == "It is EUR 55 [7]. It is paid to the porter"


_MARKER_IN_MARKER = re.compile(r"[\[【][\d ,.]*[\[【]")


@settings(max_examples=300)
@given(
    st.text(alphabet="ab [1]29,.\n【】。|#*-:", max_size=30),
    st.lists(st.integers(1, 5), max_size=8),
)
async def test_how_the_text_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    assume(
        not _MARKER_IN_MARKER.search(text)
    )  # "[1[1]]" says nothing; what is left of it depends on the cut
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
    await stream(["It is EUR 55 [1][5]. [2] Pay it [3, 4]."])
    assert SEEN == [("It is EUR 55", (1, 5, 2)), ("Pay it", (3, 4))]


PASSAGES = Brackets.of(
    [
        (1, "The first entry is read by row[0]. Dial [2] for the porter and [0] for the operator."),
        (2, "The hall seats 300.[3] Its list of seats is [4, 5]. 按【6】转接前台。"),
        *((number, "Nothing in brackets.") for number in range(3, 10)),
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        "The second entry is read by `row[1]`.",
        "The second entry is read by row[1] as well.",
        "Write $a[1]$ or $[1] + x$ or \\([1]\\) for it.",
        "Take `x = [1]` for it.",
        "Dial [2] for the porter and [0] for the operator.",
        "The seats are [4, 5] in all.",
        "按【6】转接前台。",
        "Seats are [[1, 2], [3, 4]] here.",
        "The row is x = [1, 2] then.",
        "See [1](https://example.org/a) for more.",
        "It is so in [12] of the old list.",
        "- [x] done with it\n- [ ] not yet",
        "Copied: the hall seats 300.[3] It is large.",
        "```\nprint([1])\n```",
        "~~~\n[1]\n~~~\nSo much for it.",
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
async def test_a_bracket_that_is_no_marker_stays_as_it_is(text: str, size: int) -> None:
    async def nothing(sentence: str, hints) -> tuple[int, ...]:
        assert not hints
        return ()

    cited = CitedStream(nothing, brackets=PASSAGES)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert "".join([*[await cited.feed(piece) for piece in pieces], await cited.finish()]) == text


@pytest.mark.parametrize(
    "text",
    [
        "It is so [1].",
        "It is so【1】.",
        "It is so [1, 7].",
        "It is so [1][7].",
        "这样[1]。",
        "It is so.[1]",
    ],
)
async def test_a_marker_of_a_passage_is_taken_out(text: str) -> None:
    async def nothing(sentence: str, hints) -> tuple[int, ...]:
        return ()

    cited = CitedStream(nothing, brackets=PASSAGES)
    assert (await cited.feed(text) + await cited.finish()) in ("It is so.", "这样。")


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Antrag ist bis spätestens 4. Juni bei Hrn. Dr. med. Brandt, Zi. 21, 3. OG, abzugeben",
        "Die Frist endet am 23. Februar um 10 Uhr",
        "Nach § 5 Abs. 2 gilt das z. B. für Hr. Prof. Dr. Weber bzw. Frau Dipl.-Ing. Krug",
        "For the form, see sec. 9 and fig. 3 of the rules",
        "It was found by Kennedy Jr. Smith in Feb. 1958",
        "Take it approx. 45 min. before the meal, e.g. with water",
        "El formulario se entrega al Sr. García, Av. Sur núm. 12, en enero",
        "M. Dupont et Mme. Petit arrivent le 3 mars, cf. art. 12 du règlement",
        "Il modulo va consegnato al sig. Rossi, via Roma n. 5, entro le 12",
        "O formulário é entregue ao Sr. Silva na Av. Central n. 7 em abril",
        "Wniosek składa się u dr. Nowaka, ul. Długa 5, pok. 12, do 3. piętra",
        "Het formulier gaat naar dhr. Jansen, d.w.z. naar kamer nr. 8",
        "Blanketten lämnas till t.ex. dr. Berg senast kl. 12 på fredag",
        "Заявление подают в каб. 12, ул. Мира, д. 5, до 3 мая",
        "Form en geç 5. katta, Sn. Yılmaz ile 12. odada verilir",
        "The version is 3.5.1 of node.js at example.org, see a.b()",
    ],
)
@pytest.mark.parametrize("size", [1, 4, 1000])
async def test_a_sentence_is_cited_at_its_end_alone_in_any_language(
    sentence: str, size: int
) -> None:
    text = sentence + "."
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert "".join(await stream(pieces)) == f"{sentence} [7]."


@pytest.mark.parametrize(
    "text",
    ["a" * 100_000, "." * 100_000, "a. " * 33_000, "[1" * 50_000, "`a. " * 25_000, "$a" * 50_000],
)
async def test_hostile_text_goes_through_whole(text: str) -> None:
    async def nothing(sentence: str, hints) -> tuple[int, ...]:
        return ()

    cited = CitedStream(nothing, brackets=PASSAGES)
    read = await cited.feed(text) + await cited.finish()
    assert len(read) >= len(text.rstrip()) - 2
