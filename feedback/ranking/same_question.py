"""The probability that two questions want the same answer, 0..1. Pure.

    questions ─► QuestionReading (terms, names, numbers, answer kinds, alternatives) ─► pair_signals ─► logistic model
                                                                     └► difference: what makes them two questions

Sentence embeddings put questions that differ in one decisive word nearly at the same place ("full-time", "part-time"),
and rewordings by people further apart. So a cosine alone does not decide. Where both questions name different numbers,
names, opposites or alternatives of one kind, or ask for different kinds of answer, the probability is at most
FORBIDDEN.

The weights are in `same_question.json`; `python -m benchmarks.question_pairs --train` writes them, and reports.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedback.ranking.question_words import (
    ACTIONS_OF,
    ALTERNATIVE_OF,
    ALTERNATIVES,
    FILLER,
    HAN_ACTIONS,
    MODAL,
    PHRASE_OF,
    PHRASES,
    SYNONYM_OF,
)
from retrieval.answerability.model import Logistic, read_logistic
from retrieval.answerability.oppositions import Opposition, is_opposed, opposites_of, prefixed
from retrieval.answerability.question import weak_terms
from retrieval.text.analysis import query_terms
from retrieval.text.language import HAN_CHARACTER, to_simplified
from retrieval.text.negation import NEGATION
from retrieval.text.numbers import missing_numbers

Floats = NDArray[np.float64]
SHIPPED = Path(__file__).with_name("same_question.json")
ONE_WORD_MORE = "one word more"
FORBIDDEN = 0.05  # the highest probability of questions that a difference sets apart
WEAK = 0.3  # weight of a term that questions need and that says little
MAX_CHARS = 600  # of a question that are compared
CACHED = 4096  # questions
# By the mean log-odds of two or three wordings and the cosine with their mean: fitted to the rewordings, contrast
# questions and others of squad2_en and docs_en_milvus, the bias .5 higher by simulation on these and scifact_en.
OF_WORDINGS = (0.82, 5.09, -3.0)
UNSURE = 1e-4  # no wording's word counts more than its log-odds
BACKGROUND = 0.8  # cosine of unrelated questions (E5's), where it can't be measured: rather too high than too low
CLOSE = 0.45  # share of common weight from which a negation in one of both sets them apart
RARE, COMMON = 0.05, 0.4  # share of a site's questions up to which a term says all, and from which it says LEAST
LEAST = 0.05
UNSEEN = 20  # questions without the term that are supposed beside those of a site, for sites with few
INFORMATIVE = 0.5  # weight from which a term tells questions apart
NEARLY_EQUAL = 0.75  # share of the pairs of characters from which a word more is the only thing that differs
ALIKE = 0.25  # share of common weight from which another action makes them two questions
WORD_SIGNALS = (
    "jaccard", "containment", "characters", "same_order", "shared", "least_left", "most_left", "one_for_one",
    "same_frame", "inserted", "action_missing", "names_left", "negation", "kinds_differ",
    "kinds_agree", "length_ratio", "han",
)  # fmt: skip
VECTOR_SIGNALS = ("cosine", "cosine_squared", "cosine_of_one_for_one", *WORD_SIGNALS)
_KINDS = {
    # At the beginning of a clause: "staff who resign" and "when I resign" ask nothing.
    "person": r"(?:^|[,.;:?!]\s?|\b(?:and|or|by|to|with|from|know)\s)who(?:m|se)?\b|谁|哪位|何人",
    "place": r"(?:^|[,.;:?!]\s?|\b(?:and|or|from|know)\s)where\b"
    r"|\bin which (?:directory|city|country|shop|place|town)\b"
    r"|哪里|哪儿|何处|在哪",
    "reason": r"\bwhy\b|\bwhat (?:causes|is the (?:reason|cause))\b|为什么|为何|原因|怎么回事|咋回事",
    "date": r"(?:^|[,.;:?!]\s?)when\b|\bwhen (?:do|does|did|is|are|was|were|will|can|may)\b"
    r"|\b(?:what|which) (?:date|day|year)\b|\byear of\b"
    r"|什么时候|何时|啥时|哪[一]?[天年]|几号|几点|日期",
    "duration": r"\bhow (?:long|many (?:days|weeks|months|years))\b|多久|多长",
    "frequency": r"\bhow often\b|\bat what intervals?\b|\bfrequency\b|多久.?[一]?次|几次|周期",
    "amount": r"\bhow (?:much|many|high|tall|old|large|big|far)\b|\bthe (?:number|amount) of\b"
    r"|多少|几[个本片颗件册]|上限|下限",
    "manner": r"\bhow (?:do|can|to|is|are|does|should|may)\b|\b(?:the|what) (?:way|steps?|procedure)\b"
    r"|怎么|如何|怎样|咋弄|流程|方法",
}  # fmt: skip
_KIND_PATTERNS = {kind: re.compile(pattern) for kind, pattern in _KINDS.items()}
# Kinds of answer that one question may ask for in two ways: "by when" and "how long", "where" and "how do I get".
_NEAR_KINDS = frozenset(
    map(frozenset, (("place", "manner"), ("reason", "manner"), ("date", "duration"), ("duration", "amount"),
                    ("duration", "frequency"), ("amount", "frequency")))
)  # fmt: skip
_YES_OR_NO = re.compile(r"(是|能|可|会|行|要|有|该|需)(?:不|没)\1(?:以|要|该)?|可不可以|能否|是否|可否")
_DEFINITION = re.compile(r"^(?:so )?what(?:'s| is| are)\b|^什么是|是什么[？?]?$")
# What stands on the two sides of a word that has a direction.
_DIRECTED = (
    re.compile(r"\b(from) ([^,.;:?!]{1,40}?) (?:in)?to ([^,.;:?!]{1,40})"),
    re.compile(
        r"(从|由)([^，。；？?]{1,20}?)(?:迁移|转换|同步|导入|升级|搬|转|换)?(?:到|至|成|为)([^，。；？?]{1,20})"
    ),
    re.compile(r"(?<![\w.-])([\w.-]{1,30}) (to|into|before|after|over|than) (?:the |an? |my )?([\w.-]{1,30})"),
    re.compile(
        r"([^\s，。；？?从由]{1,12}) ?(迁移到|迁移至|转换成|转换为|转成|换成|同步到|导入到|导入|比) ?"
        r"([^\s，。；？?]{1,12})"
    ),
)
_TURNED = re.compile(r"\b(?:in)?to ([^,.;:?!]{1,40}?) (from) ([^,.;:?!]{1,40})")
_ARTICLES = frozenset(("the", "a", "an", "my", "our", "your", "this", "that"))
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_QUOTED = re.compile(r"[《「『“\"‘]([^》」』”\"’]{1,60})[》」』”\"’]")
_SPACES = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """What of a question is compared. terms: what it is about, distinct, without filler, synonyms made one; weights: of
    each. names: of its terms, those written as names. alternatives: (kind, member), see `question_words`. grams: pairs
    of characters. folded: small letters, Simplified. actions: of each word, the numbers
    of those in `question_words` that it names. defines: it asks what something is."""

    text: str
    terms: tuple[str, ...]
    weights: dict[str, float]
    names: frozenset[str]
    kinds: frozenset[str]
    alternatives: frozenset[tuple[int, int]]
    negated: bool
    grams: frozenset[str]
    han: bool
    folded: str
    has_digits: bool
    opposites: tuple[Opposition, ...]
    prefixed: frozenset[str]
    actions: frozenset[frozenset[int]]
    defines: bool


@dataclass(frozen=True, slots=True)
class Commonness:
    """How much each term says among the questions of one site: 1, but for those in `weights`.

    On a site about one product its name stands in most questions, and to share it says nothing.
    """

    weights: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, holders: Mapping[str, int], count: int) -> Commonness:
        """The weight falls from 1 to LEAST, with the logarithm of the share of the questions that hold the term,
        between RARE and COMMON.

        holders: of analysed terms (`TermIndex.holders`), whose synonyms are made one here. count: questions.
        """
        of_meaning: dict[str, int] = {}
        for term, questions in holders.items():
            for meaning in query_terms(PHRASE_OF[term])[:1] if term in PHRASE_OF else [term]:
                synonym = _one_synonym(meaning)
                of_meaning[synonym] = min(of_meaning.get(synonym, 0) + questions, count)
        shares = {term: questions / (count + UNSEEN) for term, questions in of_meaning.items()}
        return cls(
            {
                term: max(LEAST, math.log(COMMON / share) / math.log(COMMON / RARE))
                for term, share in shares.items()
                if share > RARE
            }
        )

    def weight(self, term: str) -> float:
        """LEAST..1."""
        return self.weights.get(term, 1.0)


UNKNOWN = Commonness()


@lru_cache(maxsize=CACHED)
def read_question(text: str) -> QuestionReading:
    """Linear in the text's length, at most MAX_CHARS of it."""
    text = unicodedata.normalize("NFKC", text).strip()[:MAX_CHARS]
    folded = to_simplified(text).lower().replace("’", "'")
    plain = _YES_OR_NO.sub("可以", folded)
    one_wording = PHRASES.sub(_first_wording, plain)
    own = query_terms(one_wording)
    terms = tuple(dict.fromkeys(term for term in map(_one_synonym, own) if term and term not in _filler()))
    weak = _weak()
    squeezed = _SPACES.sub("", one_wording)
    return QuestionReading(
        text=text,
        terms=terms,
        weights={term: WEAK if term in weak else 1.0 for term in terms},
        names=_names(text) & frozenset(terms),
        kinds=frozenset(kind for kind, pattern in _KIND_PATTERNS.items() if pattern.search(folded)),
        alternatives=_alternatives(plain),
        negated=bool(NEGATION.search(one_wording)),
        grams=frozenset(intern(squeezed[start : start + 2]) for start in range(max(1, len(squeezed) - 1))),
        han=bool(HAN_CHARACTER.search(text)),
        folded=folded,
        has_digits=any(map(str.isdigit, text)),
        opposites=opposites_of(folded),
        prefixed=prefixed(folded),
        actions=_actions(folded),
        defines=bool(_DEFINITION.search(folded)),
    )


def _first_wording(match: re.Match[str]) -> str:
    return f" {PHRASE_OF[next(filter(None, match.groups()))]} "


@lru_cache(maxsize=1)
def _stems() -> dict[str, str]:
    """Stem of a wording of one word → stem of the meaning's first wording."""
    stems: dict[str, str] = {}
    for wording, first in SYNONYM_OF.items():
        if " " not in wording:
            for own, other in zip(query_terms(wording)[:1], query_terms(first)[:1], strict=False):
                stems.setdefault(own, other)
    return stems


def _one_synonym(term: str) -> str:
    return _stems().get(term, term)


@lru_cache(maxsize=1)
def _filler() -> frozenset[str]:
    return FILLER | {term for word in FILLER for term in query_terms(word)}


@lru_cache(maxsize=1)
def _weak() -> frozenset[str]:
    modal = {term for word in MODAL for term in query_terms(word)}
    return frozenset(map(_one_synonym, modal | weak_terms()))


def _alternatives(folded: str) -> frozenset[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for match in ALTERNATIVES.finditer(folded):
        wording = next(filter(None, match.groups()))
        found |= ALTERNATIVE_OF[wording]
    return frozenset(found)


def _actions(folded: str) -> frozenset[frozenset[int]]:
    words = [word for word in _WORD.findall(folded) if word not in _ARTICLES]
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    found = {pair: ACTIONS_OF[pair] for pair in pairs if pair in ACTIONS_OF}
    inside = {word for pair in found for word in pair.split()}
    own = [ACTIONS_OF[word] for word in words if word in ACTIONS_OF and word not in inside]
    han = [ACTIONS_OF[match.group()] for match in HAN_ACTIONS.finditer(folded)] if not folded.isascii() else []
    return frozenset((*found.values(), *own, *han))


@lru_cache(maxsize=CACHED)
def _directed(folded: str) -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """Words of direction, each with the terms before it and after it."""
    return tuple(_all_directed(folded))


def _all_directed(folded: str) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    for pattern in _DIRECTED:
        for match in pattern.finditer(folded):
            one, other, third = match.groups()
            if one in ("from", "从", "由"):
                yield "to", frozenset(query_terms(other)), frozenset(query_terms(third))
            else:
                way = "to" if other == "into" else other
                yield way, frozenset(query_terms(one)), frozenset(query_terms(third))
    for match in _TURNED.finditer(folded):
        yield "to", frozenset(query_terms(match.group(3))), frozenset(query_terms(match.group(1)))


def _names(text: str) -> frozenset[str]:
    """Terms of capitalised words but the first, of acronyms, of what is quoted, of Latin words in Chinese.

    In a text with most words in capital letters these say nothing.
    """
    words = _WORD.findall(text)
    marked = [word for word in words[1:] if word[0].isupper() and word != "I" and not word.startswith(("I'", "I’"))]
    if HAN_CHARACTER.search(text):
        marked = words
    elif len(marked) * 2 > len(words) and len(words) > 2:
        marked = []
    return frozenset(
        term for name in (*marked, *_QUOTED.findall(text)) for term in query_terms(to_simplified(name).lower())
    )


# ------------------------------------------------------------------------------------------------ differences
@dataclass(frozen=True, slots=True)
class Comparison:
    """Two readings side by side. left: the terms of each that the other has not. shared, left_weights: their weight.
    only_common: what they share, most questions of the site share, and one of them says more."""

    first: QuestionReading
    second: QuestionReading
    left: tuple[frozenset[str], frozenset[str]]
    shared: float
    left_weights: tuple[float, float]
    only_common: bool

    @property
    def jaccard(self) -> float:
        return self.shared / (self.shared + sum(self.left_weights)) if self.shared else 0.0


def compared(first: QuestionReading, second: QuestionReading, common: Commonness = UNKNOWN) -> Comparison:
    left_first, left_second = left_over(first, second)
    shared_first, shared_second = set(first.terms) - left_first, set(second.terms) - left_second
    shared = _weight(first, shared_first, common) + _weight(second, shared_second, common)
    left_weights = _weight(first, left_first, common), _weight(second, left_second, common)
    telling = any(common.weight(term) >= INFORMATIVE for term in shared_first | shared_second)
    return Comparison(
        first, second, (left_first, left_second), shared / 2.0, left_weights,
        only_common=bool(shared_first) and not telling and max(left_weights) >= INFORMATIVE,
    )  # fmt: skip


def difference(first: QuestionReading, second: QuestionReading, common: Commonness = UNKNOWN) -> str:
    """What makes them two questions, in a few words; empty where nothing does for sure. Symmetric."""
    return _difference(compared(first, second, common))


def set_apart(first: QuestionReading, second: QuestionReading, common: Commonness = UNKNOWN) -> bool:
    """Whether they are two questions whatever the model says: by a `difference`, or because they share no more than
    most questions of the site do."""
    return _set_apart(compared(first, second, common))


def _set_apart(pair: Comparison) -> bool:
    return pair.only_common or bool(_difference(pair))


def _difference(pair: Comparison) -> str:
    first, second = pair.first, pair.second
    if first.text == second.text:
        return ""
    has_digits = first.has_digits or second.has_digits
    if has_digits and (missing_numbers(first.text, second.text) or missing_numbers(second.text, first.text)):
        return "other numbers"
    for kind in {kind for kind, _ in first.alternatives} & {kind for kind, _ in second.alternatives}:
        own, other = ({found for found in one.alternatives if found[0] == kind} for one in (first, second))
        if not own & other:
            return "other alternatives of one kind"
    if first.names & pair.left[0] and second.names & pair.left[1]:
        return "other names"
    if _opposed(first, second) or _opposed(second, first):
        return "opposites"
    if first.actions and second.actions and pair.jaccard >= ALIKE and not _any_action(first) & _any_action(second):
        return "other actions"
    if _only_defines(first, second, pair.left[0]) or _only_defines(second, first, pair.left[1]):
        return "one asks what it is, the other what to do"
    if pair.jaccard >= ALIKE and _places_changed(first, second):
        return "changed places"
    if first.kinds and second.kinds and not _may_ask_alike(first.kinds, second.kinds):
        return "other kinds of answer"
    if first.negated != second.negated and pair.jaccard >= CLOSE:
        return "one of them is negated"
    if _one_word_more(pair):
        return ONE_WORD_MORE
    return ""


def _one_word_more(pair: Comparison) -> bool:
    """Whether the sentences are equal but for a word that one has more: "default", "dynamic". Who rewords changes more
    than that."""
    if min(map(len, pair.left)) > 0 or max(map(len, pair.left)) != 1 or max(pair.left_weights) < INFORMATIVE:
        return False
    return _same_order(pair.first, pair.second) and _alike(pair.first, pair.second) >= NEARLY_EQUAL


def _same_order(first: QuestionReading, second: QuestionReading) -> bool:
    shared = [term for term in first.terms if term in second.weights]
    return bool(shared) and shared == [term for term in second.terms if term in first.weights]


def _alike(first: QuestionReading, second: QuestionReading) -> float:
    """Share of the pairs of characters that both have (Dice), 0..1."""
    grams = len(first.grams) + len(second.grams)
    return 2.0 * len(first.grams & second.grams) / grams if grams else 0.0


def _any_action(reading: QuestionReading) -> frozenset[int]:
    return frozenset[int]().union(*reading.actions)


def _lacks_action(first: QuestionReading, second: QuestionReading) -> bool:
    """Whether something is done in the first that is not done in the second."""
    done = _any_action(second)
    return any(not action & done for action in first.actions)


def _only_defines(first: QuestionReading, second: QuestionReading, left: Set[str]) -> bool:
    """Whether the first asks what a thing is, of which the second asks how something is done with it."""
    return first.defines and not first.actions and not left and bool(second.actions) and not second.defines


def _places_changed(first: QuestionReading, second: QuestionReading) -> bool:
    """Whether what one has before a word of direction stands after it in the other, and the other way round."""
    return any(
        way == other_way and before & other_after and after & other_before
        and not (before & other_before or after & other_after)
        for way, before, after in _directed(first.folded)
        for other_way, other_before, other_after in _directed(second.folded)
    )  # fmt: skip


def _may_ask_alike(kinds: frozenset[str], others: frozenset[str]) -> bool:
    return bool(kinds & others) or any(frozenset((own, other)) in _NEAR_KINDS for own in kinds for other in others)


def _opposed(first: QuestionReading, second: QuestionReading) -> bool:
    if any(is_opposed(own, opposite, second.folded) for own, opposite in first.opposites):
        return True
    if not first.prefixed or first.prefixed & second.prefixed:
        return False
    own, other = first.folded.split(), second.folded.split()
    return any(word in other and word not in own for word in first.prefixed)


def left_over(first: QuestionReading, second: QuestionReading) -> tuple[frozenset[str], frozenset[str]]:
    """The terms of each that the other has not, also not with a slip of the pen."""
    own, other = set(first.terms) - set(second.terms), set(second.terms) - set(first.terms)
    for term in sorted(own):
        if (slip := next((word for word in sorted(other) if _is_slip(term, word)), None)) is not None:
            own.discard(term)
            other.discard(slip)
    return frozenset(own), frozenset(other)


def _is_slip(term: str, other: str) -> bool:
    """Whether one is the other mistyped: Latin words of four letters and more, with the same first letter."""
    if not (term.isascii() and other.isascii() and term.isalpha() and other.isalpha()) or term[0] != other[0]:
        return False
    shorter = min(len(term), len(other))
    if shorter < 4 or abs(len(term) - len(other)) > 2:
        return False
    return _edits(term, other) <= (2 if shorter >= 6 else 1)


def _edits(term: str, other: str) -> int:
    """Optimal string alignment distance: insertions, deletions, replacements, swaps of neighbours."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(term, start=1):
        last, row, before = row, [place], row if place == 1 else before
        for at, own in enumerate(other, start=1):
            cost = min(last[at] + 1, row[at - 1] + 1, last[at - 1] + (letter != own))
            if place > 1 and at > 1 and letter == other[at - 2] and term[place - 2] == own:
                cost = min(cost, before[at - 2] + 1)
            row.append(cost)
        before = last
    return row[-1]


# ------------------------------------------------------------------------------------------------ signals
def _weight(reading: QuestionReading, terms: Set[str], common: Commonness) -> float:
    return sum(reading.weights[term] * common.weight(term) for term in reading.terms if term in terms)


def pair_signals(
    first: QuestionReading, second: QuestionReading, cosine: float | None = None, common: Commonness = UNKNOWN
) -> Floats:
    """VECTOR_SIGNALS, or WORD_SIGNALS where cosine is None. Symmetric.

    cosine: above the background of the embedding model, see `above_background`, 0..1.
    """
    return _signals(compared(first, second, common), cosine)


def _signals(pair: Comparison, cosine: float | None) -> Floats:
    first, second, shared = pair.first, pair.second, pair.shared
    lefts = sorted(pair.left_weights)
    smaller = shared + lefts[0]
    alike = _alike(first, second)
    one_for_one = float(shared >= 1.0 and all(0 < len(left) <= 2 for left in pair.left))
    common = [term for term in first.terms if term in second.weights]
    in_order = common == [term for term in second.terms if term in first.weights]
    lengths = sorted((len(first.text), len(second.text)))
    exact, asked = first.kinds & second.kinds, bool(first.kinds and second.kinds)
    words = [
        pair.jaccard,
        shared / smaller if smaller else 0.0,
        alike,
        float(in_order and len(common) > 1),
        math.log1p(shared),
        math.log1p(lefts[0]),
        math.log1p(lefts[1]),
        one_for_one,
        one_for_one * alike,
        alike * min(1.0, lefts[1]) if lefts[0] < WEAK / 2 and in_order else 0.0,
        float(_lacks_action(first, second) or _lacks_action(second, first)),
        math.log1p(len(first.names & pair.left[0]) + len(second.names & pair.left[1])),
        float(first.negated != second.negated),
        float(asked and not exact),
        float(bool(exact)),
        lengths[0] / lengths[1] if lengths[1] else 1.0,
        float(first.han or second.han),
    ]
    if cosine is None:
        return np.asarray(words)
    return np.asarray([cosine, cosine * cosine, cosine * one_for_one, *words])


def above_background(cosine: float, background: float) -> float:
    """0 for the cosine that unrelated questions have in this embedding space, 1 for equal ones."""
    return float(np.clip((cosine - background) / max(1.0 - background, 1e-6), 0.0, 1.0))


# ------------------------------------------------------------------------------------------------ the model
@dataclass(frozen=True, slots=True)
class SameQuestionModel:
    """Logistic models: with a cosine for questions without Chinese characters, with one for the others, and by words
    alone. Cosines of Chinese say far less in many embedding models, so those are believed less."""

    latin: Logistic
    vectors: Logistic
    words: Logistic

    def probability(
        self, first: str, second: str, *, cosine: float | None = None, common: Commonness = UNKNOWN
    ) -> float:
        """0..1. 1 for the same words; at most FORBIDDEN where there is a `difference`. Symmetric.

        cosine: see `pair_signals`. common: of the site's questions; without them every term says as much.
        """
        return self.of_readings(read_question(first), read_question(second), cosine=cosine, common=common)

    def of_readings(
        self, first: QuestionReading, second: QuestionReading, *, cosine: float | None = None,
        common: Commonness = UNKNOWN,
    ) -> float:  # fmt: skip
        if first.text == second.text or (first.grams == second.grams and first.terms == second.terms):
            return 1.0
        if first.text > second.text:  # sums of floating-point numbers depend on their order
            first, second = second, first
        with_cosine = self.vectors if first.han or second.han else self.latin
        model = self.words if cosine is None else with_cosine
        pair = compared(first, second, common)
        likely = float(model.probabilities(_signals(pair, cosine)[np.newaxis])[0])
        return min(likely, FORBIDDEN) if _set_apart(pair) else likely


def of_wordings(likely: Sequence[float], *, cosine: float) -> float:
    """The probability that a question asks what several wordings of one question ask, 0..1.

    likely: of each wording, as of `SameQuestionModel`. cosine: with the wordings' mean, above the background.
    """
    per_log_odds, per_cosine, bias = OF_WORDINGS
    clipped = np.clip(np.asarray(likely), UNSURE, 1.0 - UNSURE)
    mean = float(np.log(clipped / (1.0 - clipped)).mean())
    return 1.0 / (1.0 + math.exp(-(per_log_odds * mean + per_cosine * cosine + bias)))


@lru_cache(maxsize=1)
def shipped_model() -> SameQuestionModel:
    return load_model(json.loads(SHIPPED.read_text(encoding="utf-8")))


def load_model(data: dict[str, Any]) -> SameQuestionModel:
    """Raises ValueError when the file was trained for other signals, or a part of it is missing."""
    try:
        return SameQuestionModel(
            latin=read_logistic(data["latin"], VECTOR_SIGNALS),
            vectors=read_logistic(data["vectors"], VECTOR_SIGNALS),
            words=read_logistic(data["words"], WORD_SIGNALS),
        )
    except KeyError as error:
        raise ValueError(f"the weights lack {error}: train them anew (benchmarks.question_pairs)") from error


def background_of(vectors: NDArray[np.float32], *, pairs: int = 4000, least: int = 20) -> float:
    """The median cosine of random pairs of these questions, 0..1: what unrelated ones have in this space.

    vectors: float32, shape (questions, dim), unit length; rows of NaN are left out. With fewer than `least` of them it
    is not known, and BACKGROUND is taken.
    """
    known = vectors[~np.isnan(vectors[:, 0])] if len(vectors) else vectors
    if len(known) < least:
        return BACKGROUND
    left, right = np.random.default_rng(0).integers(0, len(known), (2, pairs))
    differ = left != right
    return float(np.clip(np.median(np.einsum("ij,ij->i", known[left[differ]], known[right[differ]])), 0.0, 0.95))
