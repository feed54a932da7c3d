"""Which rated questions want the same answer: what pairs are worth looking at, and groups of those decided. Pure.

For n new questions among N the work grows with n × N numbers in blocks, and n × NEAREST pairs are looked at closely.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.question_similarity import TermIndex
from feedback.ranking.same_question import UNKNOWN, Commonness, SameQuestionModel, above_background, read_question

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
NEAREST = 6  # by vectors, and as many by terms
LEAST_COSINE, LEAST_OVERLAP = 0.35, 0.15  # above the background; weighted Jaccard
SAME_FROM = 0.5  # probability from which two questions are one
Pairs = dict[tuple[int, int], float]  # (smaller, larger) → cosine above the background; NaN: not known


@dataclass(frozen=True, slots=True)
class DecidedPairs:
    """question: shape (pairs, 2), ascending in each row. same: 0..1, shape (pairs,). Pairs that are not in it want
    different answers, as far as is known."""

    question: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    same: Floats = field(default_factory=lambda: np.zeros(0, dtype=np.float32))

    def __len__(self) -> int:
        return len(self.same)

    def among(self, questions: Ints, *, least: float = 0.0) -> DecidedPairs:
        """Those with both questions among these (distinct), and with at least this probability."""
        rows = np.isin(self.question, questions).all(axis=1) & (self.same >= least)
        return DecidedPairs(self.question[rows], self.same[rows])


class QuestionGroups:
    """Groups questions that want the same answer, by what was decided of each pair."""

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self._same: dict[int, set[int]] = {}
        for first, second in pairs:
            self._same.setdefault(first, set()).add(second)
            self._same.setdefault(second, set()).add(first)

    @classmethod
    def of(cls, decided: DecidedPairs) -> QuestionGroups:
        first, second = decided.question[decided.same >= SAME_FROM].T
        return cls(zip(first.tolist(), second.tolist(), strict=True))

    def __call__(self, questions: Ints) -> Ints:
        """questions: shape (n,). Returns, of each, the place in `questions` of the first that asks the same.

        A question joins a group by its first one alone, so that no chain of small steps joins two questions.
        """
        groups: list[int] = []
        first_place: dict[int, int] = {}
        for place, own in enumerate(questions.tolist()):
            group = first_place.get(own)
            if group is None:
                joined = (first_place[other] for other in self._same.get(own, ()) if other in first_place)
                group = min((found for found in joined if int(questions[found]) in self._same[own]), default=place)
                first_place[own] = group
            groups.append(group)
        return np.asarray(groups, dtype=np.int64)


# ------------------------------------------------------------------------------------------------ candidates
def nearest_by_vectors(
    new: Ints, vectors: Floats, blocks: Iterable[tuple[Ints, Floats]], *, background: float
) -> Pairs:
    """Of each new question, the NEAREST others with a cosine of at least LEAST_COSINE above the background.

    new: ids, shape (n,); vectors: float32, shape (n, dim), unit length. blocks: ids and vectors of all questions.
    """
    count = len(new)
    best = np.full((count, NEAREST), -1.0, dtype=np.float32)
    best_id = np.full((count, NEAREST), -1, dtype=np.int64)
    if not count:
        return {}
    for ids, stored in blocks:
        cosine = vectors @ stored.T
        cosine[new[:, None] == ids[None, :]] = -1.0
        take = min(NEAREST, len(ids))
        top = np.argpartition(-cosine, take - 1, axis=1)[:, :take]
        values = np.concatenate((best, np.take_along_axis(cosine, top, axis=1)), axis=1)
        names = np.concatenate((best_id, ids[top]), axis=1)
        kept = np.argsort(-values, axis=1, kind="stable")[:, :NEAREST]
        best, best_id = np.take_along_axis(values, kept, axis=1), np.take_along_axis(names, kept, axis=1)
    pairs: Pairs = {}
    for row, column in zip(*np.nonzero(best_id >= 0), strict=True):
        cosine_above = above_background(float(best[row, column]), background)
        if cosine_above >= LEAST_COSINE:
            own, other = int(new[row]), int(best_id[row, column])
            pairs[min(own, other), max(own, other)] = cosine_above
    return pairs


def nearest_by_terms(new: Ints, ids: Ints, terms: Sequence[Sequence[str]]) -> Pairs:
    """Of each new question, the NEAREST others whose terms overlap by at least LEAST_OVERLAP; the cosine is NaN.

    ids: of all questions, ascending, shape (N,). terms: of each, distinct.
    """
    index = TermIndex(terms)
    pairs: Pairs = {}
    for row in np.searchsorted(ids, new).tolist():
        overlap, _ = index.compare(terms[row])
        overlap[row] = 0.0
        take = min(NEAREST, len(overlap))
        for other in np.argpartition(-overlap, take - 1)[:take].tolist():
            if overlap[other] >= LEAST_OVERLAP:
                own, found = int(ids[row]), int(ids[other])
                pairs[min(own, found), max(own, found)] = float("nan")
    return pairs


def probabilities(
    pairs: Mapping[tuple[int, int], float], texts: Mapping[int, str], model: SameQuestionModel,
    common: Commonness = UNKNOWN,
) -> Floats:  # fmt: skip
    """In the pairs' order, 0..1. Pairs whose cosine is NaN are compared by words alone. common: of all questions."""

    def probability(first: int, second: int, cosine: float) -> float:
        near = None if np.isnan(cosine) else cosine
        return model.of_readings(read_question(texts[first]), read_question(texts[second]), cosine=near, common=common)

    found = [probability(first, second, cosine) for (first, second), cosine in pairs.items()]
    return np.asarray(found, dtype=np.float32)


def decide_among(
    ids: Ints, texts: Sequence[str], terms: Sequence[Sequence[str]], vectors: Floats | None, *, background: float,
    model: SameQuestionModel, least: float = 0.2,
) -> DecidedPairs:  # fmt: skip
    """All at once, as a round decides them without a model to ask: for simulations. ids: ascending.

    vectors: float32, shape (questions, dim), unit length. Pairs below `least` are left out.
    """
    pairs = nearest_by_terms(ids, ids, terms)
    if vectors is not None:
        row_of = {key: row for row, key in enumerate(ids.tolist())}
        for first, second in pairs:
            cosine = float(vectors[row_of[first]] @ vectors[row_of[second]])
            pairs[first, second] = above_background(cosine, background)
        pairs |= nearest_by_vectors(ids, vectors, [(ids, vectors)], background=background)
    common = Commonness.of(TermIndex(terms).holders(), len(terms))
    same = probabilities(pairs, dict(zip(ids.tolist(), texts, strict=True)), model, common)
    question = np.asarray(list(pairs), dtype=np.int64).reshape(-1, 2)
    return DecidedPairs(question[same >= least], same[same >= least])
