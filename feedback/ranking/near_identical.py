"""Whether a question is nearly identical to one that people have answered beforehand. Pure, by words alone.

Such an answer is given without a look at the documents, so the rule is strict: the same terms and no `difference`, or
a probability of NEARLY by words (`same_question`). Measured on pairs that were not trained on: of 252 that want another
answer (report.jsonl and the contrasts of squad2 and cmrc2018) 1 was taken, "How do I lock the keypad?" for how to open
it; among 500 questions each of squad2, cmrc2018 and xquad none for another. Of 112 rewordings 25 are found: a curator
gives an answer the wordings that people use.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from feedback.ranking.question_similarity import TermIndex
from feedback.ranking.same_question import difference, read_question, shipped_model
from retrieval.text.analysis import query_terms

NEARLY = 0.95
MOST_COMPARED = 20  # by terms the nearest: with these the probability is worked out
MAX_CHARS = 600  # a longer message is no question that somebody could have foreseen


class NearIdentical:
    """Wordings, indexed by their terms. It never changes."""

    def __init__(self, wordings: Sequence[str]) -> None:
        self._wordings = tuple(wordings)
        terms = [_terms(text) for text in wordings]
        self._index = TermIndex(terms)
        self._keys = [frozenset(own) for own in terms]

    def find(self, question: str) -> int | None:
        """The place of the wording that fits best, if one does. Some ms: keep it off the event loop."""
        fitting = self.find_all(question)
        return fitting[0] if fitting else None

    def find_all(self, question: str) -> list[int]:
        """The places of the wordings that fit, the best first."""
        if not self._wordings or len(question) > MAX_CHARS:
            return []
        terms = _terms(question)
        overlap, _ = self._index.compare(terms)
        nearest = np.argsort(-overlap, kind="stable")[:MOST_COMPARED]
        likely: dict[int, float] = {}
        for place in nearest.tolist():
            if overlap[place] > 0.0 or not terms:
                likely[place] = self._likely(place, question, frozenset(terms))
        fitting = [place for place, probability in likely.items() if probability >= NEARLY]
        return sorted(fitting, key=lambda place: -likely[place])

    def _likely(self, place: int, question: str, terms: frozenset[str]) -> float:
        wording, given = read_question(self._wordings[place]), read_question(question)
        if terms and terms == self._keys[place] and not difference(wording, given):
            return 1.0
        return shipped_model().of_readings(wording, given)


def _terms(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(query_terms(text[:MAX_CHARS])))
