"""Signals: what retrieval knows about a question and its candidates, as numbers a small model can weigh.

Passage signals describe one candidate beside the others of its list; list signals describe the list as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval.answerability.oppositions import is_opposed
from retrieval.answerability.passage import KINDS, PassageView, SentenceView, view_passage
from retrieval.answerability.question import QuestionView, view_question
from retrieval.answerability.spans import APART, credit
from retrieval.text.term_coverage import rarity
from retrieval.values import ScoredChunk

Matrix = NDArray[np.float64]
WEAK_WEIGHT = 0.5  # of general words; .3 to 1 make no difference that can be measured
MIN_WEIGHT = 0.02
NEAR_PLACES = 4  # terms this close to each other in a sentence belong together
TF_K1, TF_B = 0.9, 0.4

PASSAGE_SIGNALS = (
    "coverage", "soft_coverage", "bm25_ideal", "sentence", "sentence_head", "pair", "near", "missing",
    "names_missing", "numbers_missing", "unfit_near", "unfit", "negation", "cosine", "cosine_z", "bm25_share",
    "bm25_gap", "soft_gap", "pair_gap", "rank", "bm25_rank", "agreement", "best_sentence_share", "question_terms",
    "passage_terms", "chinese",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pool:
    """A question with its candidates, looked at once."""

    question: QuestionView
    passages: tuple[PassageView, ...]
    weights: Mapping[str, float]
    dense: Matrix
    bm25: Matrix
    has_vectors: bool


def read_pool(question: str, candidates: Sequence[ScoredChunk], *, semantic: bool = True) -> Pool:
    """`semantic=False`: dense scores come from no embedding model and are left out."""
    view = view_question(question)
    passages = tuple(
        view_passage(f"{candidate.chunk.title}\n{candidate.chunk.heading}".strip(), candidate.chunk.text)
        for candidate in candidates
    )
    dense = [candidate.scores.dense if semantic else None for candidate in candidates]
    return Pool(
        question=view,
        passages=passages,
        weights=signal_weights(view, passages),
        dense=_filled(dense),
        bm25=_filled([_bm25(*pair, view) for pair in zip(candidates, passages, strict=True)]),
        has_vectors=any(score is not None for score in dense),
    )


def signal_weights(question: QuestionView, passages: Sequence[PassageView]) -> dict[str, float]:
    """What each of the question's terms weighs, 0..1: inverse document frequency among the candidates.

    The candidates stand for the collection, whose own document frequencies serve about as well (docs/grader.md).
    """
    highest = rarity(0, len(passages))
    weights = {}
    for term in question.terms:
        holding = sum(passage.holds(term) for passage in passages)
        weight = max(rarity(holding, len(passages)) / highest, MIN_WEIGHT)
        weights[term] = weight * (WEAK_WEIGHT if term in question.weak else 1.0)
    return weights


def _bm25(candidate: ScoredChunk, passage: PassageView, question: QuestionView) -> float | None:
    """None where it is not known. A passage without a word of the question has 0, whatever the last hit has: where
    few passages share a word with it, BM25 finds these alone, and a good one stands as far ahead as it is."""
    score = candidate.scores.bm25
    return score if score is not None or any(map(passage.holds, question.terms)) else 0.0


def _filled(scores: Sequence[float | None]) -> Matrix:
    """A candidate that a leg did not find scores no more than the last one that it did."""
    known = [score for score in scores if score is not None]
    low = min(known, default=0.0)
    return np.array([low if score is None else score for score in scores], dtype=np.float64)


# ------------------------------------------------------------------------------------------------ passages
def passage_signals(pool: Pool) -> Matrix:
    """Shape (candidates, len(PASSAGE_SIGNALS)), in the candidates' order."""
    if not pool.passages:
        return np.zeros((0, len(PASSAGE_SIGNALS)))
    own = [_own_signals(pool, passage) for passage in pool.passages]
    columns = {name: np.array([row[name] for row in own]) for name in own[0]}
    columns |= _score_signals(pool)
    columns["soft_gap"] = _gap(columns["soft_coverage"])
    columns["pair_gap"] = _gap(columns["pair"])
    return np.column_stack([columns[name] for name in PASSAGE_SIGNALS])


def _own_signals(pool: Pool, passage: PassageView) -> dict[str, float]:
    question, weights = pool.question, pool.weights
    total = sum(weights.values()) or 1.0
    covered = {term for term in weights if passage.holds(term)}
    missing = [weights[term] for term in weights if term not in covered]
    alone, pair, best = _best_sentences(passage, weights)
    head = sum(weights[term] for term in weights if term in passage.head)
    names = sum(weights[term] for term in question.names) or 1.0
    mean_length = sum(view.length for view in pool.passages) / len(pool.passages) or 1.0
    return {
        "coverage": sum(weights[term] for term in covered) / total,
        "soft_coverage": sum(weight * passage.credit(term) for term, weight in weights.items()) / total,
        "bm25_ideal": sum(w * _saturated(passage, term, mean_length) for term, w in weights.items()) / total,
        "sentence": alone / total,
        "sentence_head": max((_held(view.terms | passage.head, weights) for view in best[:1]), default=head) / total,
        "pair": pair / total,
        "near": _nearness(question, best, weights),
        "missing": len(missing) / (len(weights) or 1),
        "names_missing": sum(weights[term] for term in question.names if term not in covered) / names,
        "numbers_missing": len(question.numbers - passage.numbers) / (len(question.numbers) or 1),
        "unfit_near": float(not any(fits(question, view) for view in best)),
        "unfit": float(not fits(question, passage)),
        "negation": float(question.negated and not any(view.negated for view in best)),
        "best_sentence_share": alone / (sum(weights[term] for term in covered) or 1.0),
        "question_terms": math.log1p(len(weights)),
        "passage_terms": math.log1p(passage.length),
        "chinese": float(question.chinese),
    }


def _saturated(passage: PassageView, term: str, mean_length: float) -> float:
    """BM25's share of a term's weight, 0..1."""
    count = passage.terms.get(term, 0) + (term in passage.head)
    return count / (count + TF_K1 * (1 - TF_B + TF_B * passage.length / mean_length)) if count else 0.0


def _best_sentences(passage: PassageView, weights: Mapping[str, float]) -> tuple[float, float, list[SentenceView]]:
    """The weight that the best sentence holds, that the best two neighbours and the head hold, and those sentences."""
    alone = [_held(view.terms, weights) for view in passage.sentences]
    if not alone:
        return 0.0, _held(passage.head, weights), []
    at = max(range(len(alone)), key=alone.__getitem__)
    pairs = [
        _held(left.terms | right.terms | passage.head, weights)
        for left, right in zip(passage.sentences, passage.sentences[1:], strict=False)
    ]
    pair = max(pairs, default=_held(passage.sentences[0].terms | passage.head, weights))
    first = passage.sentences[at]
    beside = passage.sentences[max(at - 1, 0) : at + 2]
    return alone[at], pair, [first, *(view for view in beside if view is not first)]


def _held(terms: frozenset[str], weights: Mapping[str, float]) -> float:
    return sum(weight for term, weight in weights.items() if term in terms)


def _nearness(question: QuestionView, best: Sequence[SentenceView], weights: Mapping[str, float]) -> float:
    """The share of the question's neighbouring terms that are neighbours in one of the best sentences as well."""
    pairs = list(zip(question.terms, question.terms[1:], strict=False))
    total = sum(weights[left] + weights[right] for left, right in pairs)
    near = 0.0
    for left, right in pairs:
        if any(
            left in view.order and right in view.order and abs(view.order[left] - view.order[right]) <= NEAR_PLACES
            for view in best
        ):
            near += weights[left] + weights[right]
    return near / total if total else 0.0


def fits(question: QuestionView, view: SentenceView | PassageView) -> bool:
    """Could the text hold the kind of thing that is asked for, beyond what the question says itself?"""
    if question.kind in KINDS:
        return bool(KINDS[question.kind].search(view.simplified))
    if question.kind in ("person", "place") and not question.chinese:
        return bool(view.names - question.words)
    return True


# ------------------------------------------------------------------------------------------------ scores
def _score_signals(pool: Pool) -> dict[str, Matrix]:
    top = pool.bm25.max() or 1.0
    dense_rank, bm25_rank = _ranks(pool.dense), _ranks(pool.bm25)
    known = pool.has_vectors
    zero = np.zeros(len(pool.dense))
    return {
        "cosine": pool.dense,
        "cosine_z": (pool.dense - pool.dense.mean()) / (pool.dense.std() + 0.02) if known else zero,
        "bm25_share": pool.bm25 / top,
        "bm25_gap": _gap(pool.bm25) / top,
        "rank": np.log1p(np.arange(len(pool.dense))),
        "bm25_rank": 1 / bm25_rank,
        "agreement": 1 / (dense_rank * bm25_rank) if known else zero,
    }


def _ranks(values: Matrix) -> Matrix:
    order = np.argsort(-values, kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1, len(values) + 1)
    return ranks


def _gap(values: Matrix) -> Matrix:
    """How far each value is above the best of the others (below it: negative)."""
    if len(values) < 2:
        return np.zeros(len(values))
    first, second = np.sort(values)[::-1][:2]
    return np.where(values == first, first - second, values - first)


# ------------------------------------------------------------------------------------------------ lists
BEST_OF = (
    "soft_coverage", "bm25_ideal", "sentence", "sentence_head", "pair", "near", "names_missing", "numbers_missing",
    "unfit_near", "negation", "cosine_z", "agreement", "bm25_share",
)  # fmt: skip
LIST_SIGNALS = (
    "best", "second", "any", "first", "spread", *(f"best_{name}" for name in BEST_OF), "best_rarest_missing",
    "max_soft", "max_pair", "max_near", "cosine_spread", "cosine_top_gap", "bm25_top_gap",
    "bm25_spread", "union_coverage", "unseen", "rank_correlation", "same_top", "question_terms", "question_rarity",
    "chinese",
)  # fmt: skip
_AT = {name: at for at, name in enumerate(PASSAGE_SIGNALS)}


def list_signals(pool: Pool, signals: Matrix, probabilities: Matrix) -> Matrix:
    """Shape (len(LIST_SIGNALS),). `signals`: of `passage_signals`; `probabilities`: what they came to, 0..1."""
    if not pool.passages:
        return np.zeros(len(LIST_SIGNALS))
    logits = np.log(probabilities.clip(1e-4, 1 - 1e-4) / (1 - probabilities.clip(1e-4, 1 - 1e-4)))
    ordered = np.sort(logits)[::-1]
    best = int(np.argmax(probabilities))
    total = sum(pool.weights.values()) or 1.0
    top = [pool.passages[at] for at in np.argsort(-probabilities)[:3]]
    dense, bm25 = np.sort(pool.dense)[::-1], np.sort(pool.bm25)[::-1] / (pool.bm25.max() or 1.0)
    values = {
        "best": ordered[0],
        "second": ordered[min(1, len(ordered) - 1)],
        "any": math.log(1 + probabilities.sum()),
        "first": logits[0],
        "spread": ordered[0] - ordered[len(ordered) // 2],
        "best_rarest_missing": max(
            (w for t, w in pool.weights.items() if not pool.passages[best].holds(t)), default=0.0
        ),
        "question_rarity": total / (len(pool.weights) or 1),
        "max_soft": signals[:, _AT["soft_coverage"]].max(),
        "max_pair": signals[:, _AT["pair"]].max(),
        "max_near": signals[:, _AT["near"]].max(),
        "cosine_spread": dense[0] - dense.mean(),
        "cosine_top_gap": dense[0] - dense[min(1, len(dense) - 1)],
        "bm25_top_gap": bm25[0] - bm25[min(1, len(bm25) - 1)],
        "bm25_spread": bm25[0] - bm25.mean(),
        "union_coverage": sum(w for t, w in pool.weights.items() if any(p.holds(t) for p in top)) / total,
        "unseen": sum(w * (1 - max(p.credit(t) for p in pool.passages)) for t, w in pool.weights.items()) / total,
        "rank_correlation": _correlation(_ranks(pool.dense), _ranks(pool.bm25)) if pool.has_vectors else 0.0,
        "same_top": float(np.argmax(pool.dense) == np.argmax(pool.bm25)),
    }
    values |= {f"best_{name}": signals[best, _AT[name]] for name in BEST_OF}
    values |= {name: signals[best, _AT[name]] for name in ("question_terms", "chinese")}
    return np.array([values[name] for name in LIST_SIGNALS])


def _correlation(left: Matrix, right: Matrix) -> float:
    return float(np.corrcoef(left, right)[0, 1]) if len(left) > 1 else 0.0


# ------------------------------------------------------------------------------------------------ evidence against
EVIDENCE = ("title_apart", "negation_far", "opposed")


def evidence_against(pool: Pool, best: int) -> Matrix:
    """Shape (len(EVIDENCE),), each 0 or 1: what the list lacks or says the other way round. `best`: the place of the
    passage that answers most probably; only its best sentences are read. Of a statement, titles alone count: what says
    the opposite of it answers it too. For these signals, which are rare, a weight is fitted by itself: regularised with
    the others they would weigh nothing."""
    if not pool.passages:
        return np.zeros(len(EVIDENCE))
    question = pool.question
    titles = [span for span in question.spans if span.is_title]
    _, _, sentences = _best_sentences(pool.passages[best], pool.weights)
    together = "\n".join(view.folded for view in sentences)
    held = frozenset(together.replace("-", " ").split())
    opposed = any(is_opposed(own, other, together) for own, other in question.opposites)
    unsaid = question.negated and not any(view.negated for view in sentences[:1])
    values = {
        "title_apart": any(all(credit(span, view.plain) <= APART for view in pool.passages) for span in titles),
        "negation_far": question.is_question and unsaid,
        "opposed": question.is_question and (opposed or bool(question.prefixed & held)),
    }
    return np.array([float(values[name]) for name in EVIDENCE])
