from retrieval.steps.passages import choose, fit
from tests.retrieval.steps.fakes import scored

RANKED = [scored(number, f"passage {number}", rerank=1 - number / 10) for number in range(1, 6)]


def ids(candidates) -> str:
    return "".join(candidate.chunk_id[1:] for candidate in candidates)


def test_repeated_texts_are_left_out() -> None:
    again = scored(9, "passage  1", rerank=0.85)
    assert ids(choose([RANKED[0], again, *RANKED[1:]], most=3)) == "123"
    assert choose([], most=3) == []


def test_passages_are_kept_while_they_fit() -> None:
    long = [scored(number, "word " * 80) for number in range(1, 6)]
    assert ids(fit(long, tokens=230)) == "12"
