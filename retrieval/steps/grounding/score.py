"""How far passages support a statement: by its words, numbers, names and negation, without a model.

Words are compared as the index does (stems, Traditional Chinese as Simplified), so an answer in the other script is
checked like any other. A statement in another language than the passage can't be checked this way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from retrieval.answerability.passage import PassageView, view_passage
from retrieval.answerability.question import QuestionView, view_question
from retrieval.text.analysis import analyze, query_terms
from retrieval.text.language import detect_language, to_simplified
from retrieval.text.negation import DENIAL
from retrieval.text.numbers import missing_numbers
from retrieval.text.sentences import split_sentences
from retrieval.values import StoredChunk

WEAK_WORD, NAME = 0.5, 1.5  # what general words and names weigh; other words weigh 1
ASKED = 0.15  # of its weight that a word keeps which the question holds already
LOCAL = 0.5  # share of the score that the best two neighbouring sentences give, the whole passage gives the rest
MIN_TERMS = 2  # without a name or a figure, fewer say nothing that could be looked up: "Yes.", "So it is."
NUMBER_CAP = 0.2  # the most that a statement gets with a number that no passage has
NEGATION_CAP = 0.2  # and one that denies what its passage says, or the other way round
NEARLY_QUOTED = 0.85  # coverage by one sentence from which a negation on one side alone is a contradiction

_CLAUSE = re.compile(r"[,;:，；：、()（）—–]|\b(?:but|although|though|while|because|which|who|that)\b|但|虽然|因为|而")


@dataclass(frozen=True, slots=True)
class Grounding:
    """score: 0..1; None: it can't be checked. reason: for None and for a capped score."""

    score: float | None
    reason: str = ""


def ground(statement: str, passages: Sequence[StoredChunk], *, question: str, language: str) -> Grounding:
    """How far the passages together support the statement. `language`: the answer's, by `detect_language`."""
    readable = [passage for passage in passages if same_language(language, _language_of(passage.text))]
    if not readable:
        return Grounding(None, "the passage is in another language")
    stated, asked = view_question(statement), view_question(question)
    if len(stated.terms) < MIN_TERMS and not stated.names:
        return Grounding(None, "it is too short to be looked up")
    views = [_view(passage) for passage in readable]
    known = f"{question}\n" + "\n".join(_all_text(passage) for passage in readable)
    missing = missing_numbers(statement, known)
    # Numbers are looked up by their value, negations by what they deny, and what stands beside the text is given.
    given = _denying_terms() | {term for passage in readable for term in _terms_beside(passage)}
    weights = {
        term: _weight(term, stated, asked) for term in stated.terms if not term.isdecimal() and term not in given
    }
    if weights:
        whole = _coverage(weights, views)
        local, best, nearest = _best_sentences(weights, views, [_sentences(passage.text) for passage in readable])
    else:
        whole, local, best, nearest = 1.0, 1.0, 0.0, ""
    score = LOCAL * local + (1 - LOCAL) * whole
    if missing:
        return Grounding(min(score, NUMBER_CAP), f"not in the passage: {', '.join(missing)}")
    if best >= NEARLY_QUOTED and _contradict(statement, nearest, weights):
        return Grounding(min(score, NEGATION_CAP), "one of them denies what the other says")
    return Grounding(score)


def same_language(left: str, right: str) -> bool:
    """Simplified and Traditional Chinese are one; a text without letters fits any."""
    return "und" in (left, right) or left.split("-")[0] == right.split("-")[0]


@lru_cache(maxsize=1024)
def _language_of(text: str) -> str:
    return detect_language(text)


def _view(passage: StoredChunk) -> PassageView:
    """As the answerability model looked at it, so that its work is not done again (it is cached)."""
    return view_passage(f"{passage.title}\n{passage.heading}".strip(), passage.text)


def _terms_beside(passage: StoredChunk) -> set[str]:
    return set(analyze(" \n".join((passage.department, passage.doc_type, passage.file_name))))


def _all_text(passage: StoredChunk) -> str:
    facts = (passage.title, passage.heading, passage.department, passage.doc_type, passage.file_name, passage.published)
    return "\n".join((*facts, str(passage.policy_year or ""), str(passage.page or ""), passage.text))


def _weight(term: str, stated: QuestionView, asked: QuestionView) -> float:
    weight = NAME if term in stated.names else WEAK_WORD if term in stated.weak else 1.0
    return weight * ASKED if term in asked.terms else weight


@lru_cache(maxsize=1)
def _denying_terms() -> frozenset[str]:
    return frozenset(query_terms("not no never cannot neither nor 不 没有 无法 不得 禁止 未能 并非 未"))


def _coverage(weights: dict[str, float], views: Sequence[PassageView]) -> float:
    held = sum(weight * max(view.credit(term) for view in views) for term, weight in weights.items())
    return held / (sum(weights.values()) or 1.0)


def _best_sentences(
    weights: dict[str, float], views: Sequence[PassageView], texts: Sequence[Sequence[str]]
) -> tuple[float, float, str]:
    """Coverage by the best two neighbouring sentences, by the best one, and that one."""
    total = sum(weights.values()) or 1.0
    pair = best = 0.0
    nearest = ""
    for view, sentences in zip(views, texts, strict=True):
        held = [
            {term for term in weights if term in sentence.terms or term in view.head} for sentence in view.sentences
        ]
        for at, terms in enumerate(held):
            alone = sum(weights[term] for term in terms) / total
            if alone > best:
                best, nearest = alone, sentences[at]
            joined = terms | (held[at + 1] if at + 1 < len(held) else set())
            pair = max(pair, sum(weights[term] for term in joined) / total)
    return pair, best, nearest


@lru_cache(maxsize=1024)
def _sentences(text: str) -> tuple[str, ...]:
    """As `view_passage` cuts them."""
    return tuple(split_sentences(unicodedata.normalize("NFKC", text)))


def _contradict(statement: str, sentence: str, weights: dict[str, float]) -> bool:
    """Whether one denies what the other says: a denial in another part of the sentence is about something else."""
    if _denies(statement):
        return not _denies(sentence)
    total = sum(weights.values()) or 1.0
    for clause in _CLAUSE.split(sentence):
        if _denies(clause):
            held = sum(weights[term] for term in weights.keys() & set(analyze(clause)))
            if held / total >= NEARLY_QUOTED:
                return True
    return False


def _denies(sentence: str) -> bool:
    return bool(DENIAL.search(to_simplified(sentence)))
