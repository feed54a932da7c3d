import pytest

from retrieval.answerability.passage import KINDS, view_passage, view_sentence


def test_a_relative_of_a_missing_term_counts_in_part() -> None:
    passage = view_passage("", "The colony was large.")
    assert passage.credit("coloni") == 1.0
    assert 0.5 < passage.credit("colonist") < 1.0


def test_parts_of_a_chinese_word_count_in_part() -> None:
    passage = view_passage("", "奖学金每年发放。")
    assert passage.credit("奖学金") == 1.0
    assert passage.credit("校长奖学金") == pytest.approx(0.8 * 2 / 4)  # two of four pairs of characters: 奖学, 学金
    assert passage.credit("校长") == 0.0


def test_terms_without_a_relative_count_nothing() -> None:
    passage = view_passage("", "The colony was large.")
    assert passage.credit("college") == 0.0
    assert passage.credit("停车") == 0.0


def test_a_sentence_tells_what_it_could_answer() -> None:
    dated, reasoned = view_passage("", "It closed in 1912. It closed because of rain.").sentences
    assert KINDS["date"].search(dated.text)
    assert KINDS["reason"].search(reasoned.text)
    assert not KINDS["date"].search(reasoned.text)


def test_title_and_heading_hold_terms_too() -> None:
    assert view_passage("Opening hours", "From eight to ten.").holds("hour")


@pytest.mark.parametrize(
    ("term", "credit"),
    [
        ("coloni", 1.0),
        ("colonist", 6 / 8),
        ("colonially", 6 / 10),
        ("colonialist", 0.0),  # under 60 % in common
        ("colo", 4 / 6),
        ("col", 0.0),
        ("larder", 0.0),
    ],
)
def test_a_relative_counts_by_the_share_of_the_longer_word_that_both_begin_with(term: str, credit: float) -> None:
    assert view_passage("", "The colony was large.").credit(term) == pytest.approx(credit)


def test_of_several_relatives_the_nearest_counts() -> None:
    assert view_passage("", "Colony, colonist.").credit("colonists") == 8 / 9


def test_relatives_stand_in_title_and_heading_too() -> None:
    assert view_passage("The colony", "It was large.").credit("colonist") == 6 / 8


def test_a_sentence_keeps_every_terms_first_place() -> None:
    view, terms = view_sentence("Oil crisis, oil price.")
    assert terms == ["oil", "crisi", "oil", "price"]
    assert view.order == {"oil": 0, "crisi": 1, "price": 3}


def test_names_of_a_sentence_are_its_words_with_capitals() -> None:
    assert view_sentence("The bridge of Kaunas fell.")[0].names == {"the", "kaunas"}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("It rained.", set()),
        ("It rained in May.", {"date"}),
        ("It rained twice.", {"number"}),
        ("It closed due to rain.", {"reason"}),
        ("It closed at 22:30.", {"time", "number"}),
        ("Lunch is at noon.", {"time"}),
        ("早上八点开门。", {"time", "number"}),
        ("一小时后关门。", {"number"}),
        ("It closed in 1931 because of rain.", {"date", "number", "reason"}),
    ],
)
def test_the_kinds_of_answer_that_a_sentence_could_hold(text: str, kinds: set[str]) -> None:
    assert {kind for kind, pattern in KINDS.items() if pattern.search(text)} == kinds


@pytest.mark.parametrize(("text", "negated"), [("It was not open.", True), ("It was open.", False)])
def test_a_sentence_is_negated_or_not(text: str, negated: bool) -> None:
    assert view_sentence(text)[0].negated is negated
