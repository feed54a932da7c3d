"""A pairwise learning-to-rank model on the votes: LightGBM's LambdaMART over features of question and passage.

Optional: `pip install '.[peers]'`. Features: both legs' scores, the fused score and place, the votes for and against
the passage from rated questions by how similar they are, and from all. It is trained on one half of the voters' votes
as labels with the other half's as features, both ways round, and ranks with the votes of all.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from benchmarks.feedback.corpus import TOP, Asked, Corpus
from benchmarks.feedback.rankers import Ranker, plain
from feedback.ranking.boosts import Votes

Floats = NDArray[np.float64]
POOL = 50  # candidates that are ranked by the model
TREES = 100
SETTINGS = {
    "objective": "lambdarank", "num_leaves": 15, "min_data_in_leaf": 20, "learning_rate": 0.05, "num_threads": 1,
    "verbose": -1, "deterministic": True,
}  # fmt: skip
UP, UNRATED, DOWN = 2, 1, 0  # labels


def available() -> bool:
    return find_spec("lightgbm") is not None


def learned(corpus: Corpus, votes: Votes, questions: list[Asked], *, seed: int) -> Ranker:
    """Without votes on at least two passages of some question there is nothing to learn: then as without feedback."""
    import lightgbm

    half = votes.voter % 2 == 0
    rows: list[Floats] = []
    labels: list[NDArray[np.int64]] = []
    sizes: list[int] = []
    for seen, wanted in ((half, ~half), (~half, half)):
        features = _Features(corpus, votes.where(seen), questions)
        net = _net(votes.where(wanted))
        for number in sorted({question for question, _ in net}):
            found, values = features.of(questions[number])
            label = np.asarray([_label(net.get((number, corpus.passage(slot)))) for slot in found], dtype=np.int64)
            if len(set(label.tolist())) > 1:
                rows.append(values)
                labels.append(label)
                sizes.append(len(found))
    if not sizes:
        return plain(corpus)
    data = lightgbm.Dataset(np.concatenate(rows), np.concatenate(labels), group=sizes)
    model = lightgbm.train({**SETTINGS, "seed": seed}, data, num_boost_round=TREES)
    features = _Features(corpus, votes, questions)

    def rank(asked: Asked) -> list[int]:
        found, values = features.of(asked)
        if not found:
            return []
        order = np.argsort(-np.asarray(model.predict(values)), kind="stable")
        return [found[at] for at in order[:TOP]]

    return rank


class _Features:
    def __init__(self, corpus: Corpus, votes: Votes, questions: list[Asked]) -> None:
        self._corpus = corpus
        self._questions = np.stack([one.vector for one in questions]) if questions else np.zeros((0, 1), np.float32)
        self._by_passage: dict[int, list[tuple[int, float]]] = {}
        for (question, passage), value in _net(votes).items():
            self._by_passage.setdefault(passage, []).append((question, value))

    def of(self, asked: Asked) -> tuple[list[int], Floats]:
        """The slots found, and their features: shape (slots, 9)."""
        hits = self._corpus.search(asked)[:POOL]
        cosine = self._questions @ asked.vector
        rows = []
        for place, hit in enumerate(hits):
            own = self._by_passage.get(self._corpus.passage(int(hit.chunk_id)), [])
            similar = [(float(cosine[question]), value) for question, value in own]
            nearest = max(similar, default=(0.0, 0.0))
            rows.append([
                hit.scores.fused or 0.0,
                hit.scores.dense or 0.0,
                hit.scores.bm25 or 0.0,
                float(place),
                nearest[0],
                nearest[1],
                sum(max(0.0, near) ** 4 * value for near, value in similar),
                sum(max(value, 0.0) for _, value in similar),
                sum(max(-value, 0.0) for _, value in similar),
            ])  # fmt: skip
        return [int(hit.chunk_id) for hit in hits], np.asarray(rows, dtype=np.float64)


def _net(votes: Votes) -> dict[tuple[int, int], float]:
    net: dict[tuple[int, int], float] = {}
    for question, passage, value in zip(
        votes.question.tolist(), votes.passage.tolist(), votes.value.tolist(), strict=True
    ):
        net[question, passage] = net.get((question, passage), 0.0) + value
    return net


def _label(net: float | None) -> int:
    if net is None or net == 0.0:
        return UNRATED
    return UP if net > 0 else DOWN
