from retrieval.answerability.passage import view_passage


def test_a_relative_of_a_missing_term_counts_in_part() -> None:
    passage = view_passage("", "The colony was large.")
    assert passage.credit("coloni") == 1.0
    assert 0.5 < passage.credit("colonist") < 1.0


def test_parts_of_a_chinese_word_count_in_part() -> None:
    passage = view_passage("", "奖学金每年发放。")
    assert passage.credit("奖学金") == 1.0
    assert 0.0 < passage.credit("校长奖学金") < 1.0


def test_terms_without_a_relative_count_nothing() -> None:
    passage = view_passage("", "The colony was large.")
    assert passage.credit("college") == 0.0
    assert passage.credit("停车") == 0.0


def test_a_sentence_tells_what_it_could_answer() -> None:
    dated, reasoned = view_passage("", "It closed in 1912. It closed because of rain.").sentences
    assert "date" in dated.kinds
    assert "reason" in reasoned.kinds
    assert "date" not in reasoned.kinds


def test_title_and_heading_hold_terms_too() -> None:
    assert view_passage("Opening hours", "From eight to ten.").holds("hour")
