"""How far passages support a statement: by its words, figures, names and negation, without a model.

Words are compared as the index does (stems, Traditional Chinese as Simplified), so an answer in the other script is
checked like any other. A statement in another language than the passage is checked by its figures alone.

A figure or a name that no passage has makes a statement unsupported, whatever words they share. So does a figure that
only the question has: the passage may speak of another year. One that follows from others by adding, subtracting or
multiplying is weak, and no more. So is a name or figure that the passage has, but not where it says what was asked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from ragsite.core.wording import joined, worded
from retrieval.answerability.passage import PassageView, SentenceView, view_passage, view_sentence
from retrieval.answerability.question import QuestionView, view_question
from retrieval.steps.grounding.names import chinese_names, folded, missing_names
from retrieval.text.analysis import analyze, query_terms
from retrieval.text.figures import Figure, known_figures, missing_figures, says_rounded, stated_figures
from retrieval.text.language import detect_language, to_simplified
from retrieval.text.negation import DENIAL
from retrieval.text.numbers import numbers_in, spanned
from retrieval.text.sentences import sentence_spans
from retrieval.values import StoredChunk

WEAK_WORD, NAME = 0.5, 1.5  # what general words and names weigh; other words weigh 1
FIGURE, UNIT = 0.5, 0.5  # and a figure, and its unit: that a passage has it says little, that it has it not is decisive
ASKED = 0.15  # of its weight that a word keeps which the question holds already
LOCAL = 0.5  # share of the score that the best two neighbouring sentences give, the whole passage gives the rest
MIN_TERMS = 2  # without a name or a figure, fewer say nothing that could be looked up: "Yes.", "So it is."
REFUTED_CAP = 0.2  # the most that a statement gets with a figure or a name that no passage has
PARTLY_CAP = 0.35  # and one of whose other figures the passages have: wrong in part, which is weak and not baseless
NEGATION_CAP = 0.2  # and one that denies what its passage says, or the other way round
WEAK_CAP = 0.4  # and one with a figure that only the question has, or that must be computed
NEARLY_QUOTED = 0.85  # coverage by one sentence from which a negation on one side alone is a contradiction
NEIGHBOUR_GAIN = 0.2  # of the words' weight that the next sentence must add to be evidence as well
SAID = 0.75  # share of the words that statement and question have in common, in a sentence that says what was asked
NEARLY_AS_MUCH = 0.2  # less than the best such sentence has
SMALL = 10  # a count up to it that the question gives is repeated with its words: "two of the main reasons"
MAX_TERMS_OF_SUM = 12  # figures beside the statement's words that may have been computed with
MAX_SENTENCES = 200  # of a passage, as in `view_passage`

_WORD = re.compile(r"[^\W_]+")
_CLAUSE = re.compile(r"[,;:，；：、()（）—–]|\b(?:but|although|though|while|because|which|who|that)\b|但|虽然|因为|而")


@dataclass(frozen=True, slots=True)
class Place:
    """The characters of a passage, by its index among those given, that bear a statement out."""

    passage: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Grounding:
    """score: 0..1; None: it can't be checked. reason: for None and for a capped score. words: the score without a cap.
    places: the nearest sentence or two of each passage that has a part in it."""

    score: float | None
    reason: str = ""
    words: float = 0.0
    places: tuple[Place, ...] = ()


def ground(statement: str, passages: Sequence[StoredChunk], *, question: str, language: str) -> Grounding:
    """How far the passages together support the statement. `language`: the answer's, by `detect_language`."""
    readable = [passage for passage in passages if same_language(language, language_of(passage.text))]
    if not readable:
        return _by_figures_alone(statement, passages, question)
    stated, asked = view_question(statement), view_question(question)
    figures = stated_figures(statement)
    if len(stated.terms) < MIN_TERMS and not stated.names and not figures:
        return Grounding(None, worded("it is too short to be looked up"))
    views = [view_of(passage) for passage in readable]
    weights = statement_weights(stated, asked, figures, readable)
    nearest = [nearest_of(passage, weights, figures) for passage in readable]
    known = {figure for passage in readable for figure in known_figures(all_text(passage))}
    missing = missing_figures(figures, known, rounded=says_rounded(statement))
    score = _score(weights, views, nearest, figures, missing)
    places = _places(passages, readable, nearest)
    cap, reason = _refuted(missing, readable, nearest, question)
    if cap == REFUTED_CAP and _has_a_right_one(figures, missing, question):
        cap = PARTLY_CAP
    if cap is None:
        said = "\n".join(all_text(passage) for passage in readable)
        if names := missing_names(statement, views, said, question):
            cap, reason = REFUTED_CAP, worded("not in the passage: {told}", told=joined(", ", names))
    if cap is None and (apart := _said_elsewhere(statement, figures, readable, question)):
        cap, reason = WEAK_CAP, worded("the passage has it in another place: {told}", told=joined(", ", apart))
    best = max(nearest, key=lambda near: near.alone)
    if cap is None and best.alone >= NEARLY_QUOTED and _contradict(statement, best.text, weights):
        cap, reason = NEGATION_CAP, worded("one of them denies what the other says")
    return Grounding(score if cap is None else min(score, cap), reason, words=score, places=places)


def _has_a_right_one(figures: Sequence[Figure], missing: Sequence[Figure], question: str) -> bool:
    """Whether the passages have one of the figures that is not the question's own."""
    asked = known_figures(question)
    return any(missing_figures([figure], asked) for figure in figures if figure not in missing)


def same_language(left: str, right: str) -> bool:
    """Simplified and Traditional Chinese are one; a text without letters fits any."""
    return "und" in (left, right) or left.split("-")[0] == right.split("-")[0]


@lru_cache(maxsize=1024)
def language_of(text: str) -> str:
    """By `detect_language`, kept."""
    return detect_language(text)


def view_of(passage: StoredChunk) -> PassageView:
    """As the answerability model looked at it, so that its work is not done again (it is cached)."""
    return view_passage(f"{passage.title}\n{passage.heading}".strip(), passage.text)


def all_text(passage: StoredChunk) -> str:
    """What the passage says, and what stands beside it."""
    facts = (passage.title, passage.heading, passage.department, passage.doc_type, passage.file_name, passage.published)
    return "\n".join((*facts, str(passage.policy_year or ""), str(passage.page or ""), passage.text))


def statement_weights(
    stated: QuestionView, asked: QuestionView, figures: Iterable[Figure], passages: Iterable[StoredChunk]
) -> dict[str, float]:
    """What each word of a statement weighs.

    Figures are looked up by their value, negations by what they deny, and what stands beside the text is given.
    """
    given = _denying_terms() | {term for passage in passages for term in _terms_beside(passage)}
    given |= {term for figure in figures for term in query_terms(figure.text)}
    return {term: _weight(term, stated, asked) for term in stated.terms if not term.isdecimal() and term not in given}


def _terms_beside(passage: StoredChunk) -> frozenset[str]:
    return _beside(" \n".join((passage.department, passage.doc_type, passage.file_name)))


@lru_cache(maxsize=1024)
def _beside(text: str) -> frozenset[str]:
    return frozenset(analyze(text))


def _weight(term: str, stated: QuestionView, asked: QuestionView) -> float:
    weight = NAME if term in stated.names else WEAK_WORD if term in stated.weak else 1.0
    return weight * ASKED if term in asked.terms else weight


@lru_cache(maxsize=1)
def _denying_terms() -> frozenset[str]:
    return frozenset(query_terms("not no never cannot neither nor 不 没有 无法 不得 禁止 未能 并非 未"))


def _score(
    weights: dict[str, float],
    views: Sequence[PassageView],
    nearest: Sequence[Nearest],
    figures: Sequence[Figure],
    missing: Sequence[Figure],
) -> float:
    """The share of the statement's words and figures that the passages have, half of it in one place."""
    words = sum(weights.values())
    stated, lacking = (sum(FIGURE + UNIT * bool(one.unit) for one in some) for some in (figures, missing))
    if not words + stated:
        return 1.0
    whole = sum(weight * max(view.credit(term) for view in views) for term, weight in weights.items())
    local = max((near.pair for near in nearest), default=0.0) * words
    return (LOCAL * local + (1 - LOCAL) * whole + stated - lacking) / (words + stated)


# ------------------------------------------------------------------------------------------------ sentences
@dataclass(frozen=True, slots=True)
class PlacedSentence:
    """`passage.text[start:end]`, and its terms."""

    start: int
    end: int
    text: str
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Nearest:
    """A passage's sentence that is nearest to a statement.

    alone, pair: the share of the statement's words, 0..1, in it, and in the best two neighbours. start, end: it, with
    its neighbour where that adds much. text: it alone.
    """

    alone: float
    pair: float
    start: int
    end: int
    text: str
    figures: int = 0  # of the statement's that stand in start … end


@lru_cache(maxsize=1024)
def sentences_of(text: str) -> tuple[PlacedSentence, ...]:
    """The sentences of a passage with their places in it; their terms are taken from its cached view."""
    spans = sentence_spans(text)[:MAX_SENTENCES]
    normal = unicodedata.normalize("NFKC", text)
    views: Sequence[SentenceView] = view_passage("", text).sentences if normal == text else ()
    if len(views) != len(spans):
        views = [view_sentence(unicodedata.normalize("NFKC", span.text))[0] for span in spans]
    return tuple(
        PlacedSentence(span.start, span.end, span.text, view.terms) for span, view in zip(spans, views, strict=True)
    )


def nearest_of(passage: StoredChunk, weights: dict[str, float], figures: Sequence[Figure]) -> Nearest:
    """The sentence with most of the words, and of equals the one with most of the figures."""
    head, total = view_of(passage).head, sum(weights.values()) or 1.0
    sentences = sentences_of(passage.text)
    if not sentences:
        return Nearest(0.0, 0.0, 0, 0, "")
    held = [{term for term in weights if term in sentence.terms or term in head} for sentence in sentences]
    alone = [sum(weights[term] for term in terms) / total for terms in held]
    with_next = [
        sum(weights[term] for term in terms | (held[at + 1] if at + 1 < len(held) else set())) / total
        for at, terms in enumerate(held)
    ]
    found = [_held_figures(figures, sentence.text) for sentence in sentences] if figures else [0] * len(sentences)
    share = 1.0 / max(1, len(figures))
    best = max(range(len(sentences)), key=lambda at: (round(alone[at] + found[at] * share, 6), -at))
    first = last = best
    gains = [
        (with_next[at] - alone[best] + (found[other] > found[best]) * share, at, other)
        for at, other in ((best, best + 1), (best - 1, best - 1))
        if at >= 0 and 0 <= other < len(sentences)
    ]
    if gains and max(gains)[0] >= NEIGHBOUR_GAIN:
        first, last = min(best, max(gains)[2]), max(best, max(gains)[2])
    closest = max(range(len(sentences)), key=lambda at: (alone[at], -at))
    return Nearest(
        alone=alone[closest],
        pair=max(with_next),
        start=sentences[first].start,
        end=sentences[last].end,
        text=unicodedata.normalize("NFKC", sentences[closest].text),
        figures=max(found[at] for at in (first, last)),
    )


def _held_figures(figures: Sequence[Figure], text: str) -> int:
    return len(figures) - len(missing_figures(figures, known_figures(text)))


def _places(
    passages: Sequence[StoredChunk], readable: Sequence[StoredChunk], nearest: Sequence[Nearest]
) -> tuple[Place, ...]:
    index = {id(passage): at for at, passage in enumerate(passages)}
    return tuple(
        Place(index[id(passage)], near.start, near.end)
        for passage, near in zip(readable, nearest, strict=True)
        if near.end > near.start and (near.pair or near.figures)
    )


# ------------------------------------------------------------------------------------------------ figures, denials
def _refuted(
    missing: Sequence[Figure], passages: Sequence[StoredChunk], nearest: Sequence[Nearest], question: str
) -> tuple[float | None, str]:
    """(the most that a statement may score, why) with these figures that the passages do not have."""
    if missing:
        asked = numbers_in(question)
        within = {number for passage in passages for number in spanned(passage.text, asked)}
        missing = [figure for figure in missing if not any(figure.value == float(number) for number in within)]
    if not missing:
        return None, ""
    there = known_figures(question)
    unknown = missing_figures(missing, there)
    missing = [figure for figure in missing if figure in unknown or figure.unit or figure.value > SMALL]
    told = joined(", ", dict.fromkeys(figure.text for figure in unknown or missing))
    if not missing:
        return None, ""
    if not unknown:
        return WEAK_CAP, worded("only the question says it: {told}", told=told)
    texts = [passage.text[near.start : near.end] for passage, near in zip(passages, nearest, strict=True)]
    if all(_is_computed(figure, [*texts, question]) for figure in unknown):
        return WEAK_CAP, worded("computed, not said: {told}", told=told)
    return REFUTED_CAP, worded("not in the passage: {told}", told=told)


def _is_computed(figure: Figure, texts: Sequence[str]) -> bool:
    """Whether two figures that stand beside the statement's words make it, or the hundredth part of a product does."""
    values = sorted(
        {value for text in texts for value, unit in known_figures(text) if unit not in ("month", "date", "place")}
    )
    wanted = figure.value
    for left, right in combinations(values[:MAX_TERMS_OF_SUM], 2):
        if 0.0 in (left, right):
            continue  # 零下5度 makes no 5 degrees
        product = left * right
        if any(abs(made - wanted) < 1e-6 for made in (left + right, right - left, product, product / 100)):
            return left not in (0.0, 1.0) or abs(product - wanted) > 1e-6
    return False


def _said_elsewhere(
    statement: str, figures: Sequence[Figure], passages: Sequence[StoredChunk], question: str
) -> list[str]:
    """Names and figures of the statement, not the question's, where a sentence has nearly all words that both share,
    and neither it, nor the one before it, nor the title has any of them, nor does one that has them say the rest: the
    passage says it of something else."""
    stated, asked = view_question(statement), view_question(question)
    shared = [term for term in stated.terms if term in asked.terms and term not in stated.weak]
    names, han = stated.names.difference(asked.terms), chinese_names(statement, question)
    new = missing_figures(figures, known_figures(question))
    if len(shared) < MIN_TERMS or not (names or han or new):
        return []
    places = [
        (sum(term in sentence.terms for term in shared) / len(shared), passage, at)
        for passage in passages
        for at, sentence in enumerate(sentences_of(passage.text))
    ]
    most = max((share for share, _, _ in places), default=0.0)
    if most < SAID:
        return []
    saying = [(passage, at) for share, passage, at in places if share >= max(SAID, most - NEARLY_AS_MUCH)]

    def has_one(passage: StoredChunk, sentences: Sequence[PlacedSentence]) -> bool:
        held = view_of(passage).head.union(*(sentence.terms for sentence in sentences))
        said = "\n".join(sentence.text for sentence in sentences)
        if not names.isdisjoint(held) or len(missing_figures(new, known_figures(said))) < len(new):
            return True
        return bool(han) and any(name in folded(f"{passage.title}\n{passage.heading}\n{said}") for name in han)

    if any(has_one(passage, sentences_of(passage.text)[max(0, at - 1) : at + 1]) for passage, at in saying):
        return []
    claimed = frozenset(stated.terms).difference(asked.terms, names, stated.weak)
    rest = {term for term in claimed if not _is_part_of(term, han, new)}
    if len(rest) >= MIN_TERMS and any(
        rest <= sentence.terms and has_one(passage, [sentence])
        for passage in passages
        for sentence in sentences_of(passage.text)
    ):
        return []  # the sentence that has it says the rest as well: it is quoted
    sayers = {id(passage) for passage, _ in saying}  # what another passage has may be put together with it
    if any(id(other) not in sayers and has_one(other, sentences_of(other.text)) for other in passages):
        return []
    written = (word for word in _WORD.findall(statement) if not names.isdisjoint(query_terms(word)))
    return [*written, *han, *(figure.text for figure in new)]


def _is_part_of(term: str, names: Iterable[str], figures: Iterable[Figure]) -> bool:
    return any(term in folded(name) for name in names) or any(term in query_terms(figure.text) for figure in figures)


def _by_figures_alone(statement: str, passages: Sequence[StoredChunk], question: str) -> Grounding:
    """In another language than its passages only figures can be looked up; that they are there proves nothing."""
    figures = stated_figures(statement)
    nearest = [nearest_of(passage, {}, figures) for passage in passages]
    known = {figure for passage in passages for figure in known_figures(all_text(passage))}
    missing = missing_figures(figures, known, rounded=says_rounded(statement))
    cap, reason = _refuted(missing, passages, nearest, question)
    if cap is not None:
        return Grounding(cap, reason, words=cap)
    index = range(len(passages))
    places = tuple(Place(at, near.start, near.end) for at, near in zip(index, nearest, strict=True) if near.figures)
    return Grounding(None, worded("the passage is in another language"), places=places)


def _contradict(statement: str, sentence: str, weights: dict[str, float]) -> bool:
    """Whether one denies what the other says: a denial in another part of the sentence is about something else."""
    if denies(statement):
        return not denies(sentence)
    total = sum(weights.values()) or 1.0
    for clause in _CLAUSE.split(sentence):
        if denies(clause):
            held = sum(weights[term] for term in weights.keys() & set(analyze(clause)))
            if held / total >= NEARLY_QUOTED:
                return True
    return False


def denies(sentence: str) -> bool:
    """Whether it denies something."""
    return bool(DENIAL.search(to_simplified(sentence)))
