from retrieval.text.term_coverage import coverage, strong_terms, term_weights


def test_a_term_that_no_text_holds_weighs_most() -> None:
    weights = term_weights("resit parking fee", [{"resit", "fee"}, {"fee"}])
    assert weights["park"] > weights["resit"] > weights["fee"]


def test_coverage_is_the_weighted_share_of_the_terms_that_are_held() -> None:
    assert coverage({"fee"}, {"fee": 1.0, "park": 3.0}) == 0.25
    assert coverage({"fee"}, {}) == 0.0


def test_words_that_every_question_needs_are_not_strong() -> None:
    assert strong_terms("How long can I take leave?") == ["leav"]
    assert strong_terms("请假需要什么手续？") == ["请假", "手续"]


def test_a_preposition_that_ties_a_verb_to_its_object_is_not_strong() -> None:
    assert strong_terms("How do I appeal against a library charge?") == ["appeal", "librari", "charg"]
    assert strong_terms("What is due before the exam?") == ["due", "befor", "exam"]
