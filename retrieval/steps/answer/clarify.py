"""Clarify: ask back when the question leaves open what the documents distinguish by.

Evidence for it is found without a model (`open_readings`): documents that answer the question for different things, of
which it names none. How well that tells ambiguous questions from others: `benchmarks.answers.clarify_report`.

The model's own question and options are used when it gave them; else the options are the values (year, department,
kind of document, title) in which the documents differ that the question can be read as being about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragsite.core.wording import worded
from retrieval.answerability.passage import PassageView, view_passage
from retrieval.answerability.question import view_question
from retrieval.steps.answer.in_force import in_force, topic
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.judge.evaluator import Assessment
from retrieval.steps.query.route import fold, is_named, years_in
from retrieval.steps.step import Step
from retrieval.text.analysis import query_terms
from retrieval.text.answer_language import Language
from retrieval.trace import StepRecord
from retrieval.values import Clarification, ScoredChunk, SearchFilters, StoredChunk

COMPETING = 0.85  # of the best score a model gave: candidates at or above it compete
VAGUE_TERMS = 2  # a question of so few words with a meaning of their own does not say which document it is about
MIN_OPTIONS, MAX_OPTIONS = 2, 5
LOOKED_AT = 10  # candidates among which readings are looked for
WEAK_WORTH = 0.3  # of a general word ("born", "many"), beside 1 of a word with a meaning of its own
FITS_AS_WELL = 0.6  # of what the best thing's passage holds of a question that refers to something unnamed

# What can be referred to without its name, as in "the film"; what is the same all over a collection, as the university
# of a handbook, does no harm: its documents do not hold the rest of the question equally.
_KINDS = (
    "film|movie|picture|company|firm|band|group|album|song|single|novel|book|play|magazine|newspaper|series|show|sitcom"
    "|episode|game|city|town|village|county|state|country|kingdom|empire|dynasty|river|lake|mountain|island|university"
    "|college|school|hospital|airport|station|railway|highway|line|bridge|stadium|theatre|hotel|museum|church|building"
    "|tower|park|organi[sz]ation|team|club|league|festival|award|war|battle|treaty|law|disease|drug|plant|genus|species"
    "|breed|animal|religion|language|airline|aircraft|ship|label|opera|musical|corporation|agency|committee|program"
    "|mission|process|theory|machine|engine|system|region|people|actor|actress|singer|author|writer|director|player|man"
    "|woman|person|politician|king|emperor|queen|president"
)
_REFERS = re.compile(
    r"\b(?:he|she|him|his|hers?|they|them|their)\b"
    r"|\b(?:of|to|with|by|about|from|in|did|does|was|is|has|had|can|could|will) it\b(?! (?:to|that|possible|allowed"
    r"|necessary|true|cost|costs|take|takes|mean|matter)\b)|\bits\b"
    rf"|\b(?:this|these|those|the)\s+(?P<kind>{_KINDS})(?:s|es)?\b(?!\s+(?:of|that|which|who|for|in|at|with)\b)",
    re.IGNORECASE,
)
# General words that stand for what documents call by narrower ones: "my money" is a deposit here and a fee there.
_NARROWER = {
    "money": "fee fees deposit rent charge refund payment scholarship allowance",
    "钱": "费用 学费 押金 保证金 住宿费 租金 退款 奖学金 补助",
}
# Folded to Simplified. 其他, 其中, 因此, 他人 and 此外 refer to nothing.
_REFERS_CHINESE = re.compile(
    r"[她它该]|(?<![其])他(?!人)|其(?![他它中实余次])|(?<![因彼如])此(?![外前后时致])"
    r"|(?:这|那)(?!些?(?:里|么|样|时))|本(?=[站校书片剧作曲线市县镇村机][^身来])"
)
_TELLS_APART = re.compile(r"\d|[\"“”‘《》「」『』]")
_NAMESAKE = re.compile(r"[(（]|,\s")

_READ: dict[str, Callable[[StoredChunk], str]] = {
    "policy_year": lambda chunk: str(chunk.policy_year or ""),
    "department": lambda chunk: chunk.department,
    "doc_type": lambda chunk: chunk.doc_type,
    "title": lambda chunk: chunk.title,
}


@dataclass(frozen=True, slots=True)
class Unclear:
    """`readings`: of `open_readings`."""

    assessment: Assessment
    readings: Sequence[ScoredChunk]


class Clarify(Step[Unclear, Clarification]):
    """What to ask back. Without readings, or without two values to choose among, the options are the nearest documents'
    titles."""

    name = "clarify"

    async def act(self, given: Unclear, entry: StepRecord) -> Clarification:
        asked = given.assessment.clarification
        if asked is None or len(asked.options) < MIN_OPTIONS:
            built = from_documents(given.readings or given.assessment.candidates, self.context.language)
            asked = Clarification(question=asked.question if asked else built.question, options=built.options)
            entry.detail["built_from"] = worded("what the documents that the question may be about differ in")
        entry.summary = asked.question
        entry.detail["options"] = list(asked.options)
        return asked


# ------------------------------------------------------------------------------------------------ readings
def open_readings(assessment: Assessment, question: str, filters: SearchFilters) -> tuple[ScoredChunk, ...]:
    """One candidate for each document that the question may be about, best first; none where it says which.

    Open are, without any model:
    - one document in the versions of several years, when no year is named, the older ones say as much about it, and
      none says that it replaces them;
    - a question of one or two words with a meaning of their own, when documents of different titles hold the same of
      them in neighbouring sentences. Where some are about these words by title or heading, they alone count;
    - a question that names nothing, when passages about different things hold it: see `_things`.
    """
    return _open_documents(assessment, question, filters) or _things(assessment, question)


def _open_documents(assessment: Assessment, question: str, filters: SearchFilters) -> tuple[ScoredChunk, ...]:
    wanted = [term for term in view_question(question).terms if term not in view_question(question).weak]
    firsts = _best_of_each_document(assessment, question, frozenset(wanted))
    if len(firsts) < MIN_OPTIONS or not wanted:
        return ()
    versions = _versions(firsts)
    if len(versions) >= MIN_OPTIONS:
        return () if filters.policy_year is not None or years_in(question) else versions
    if len(wanted) > VAGUE_TERMS:
        return ()
    readings = _about(firsts)
    text = fold(question)
    named = any(is_named(_READ[field](hit.chunk), text) for hit in readings for field in ("department", "title"))
    apart = len({fold(hit.chunk.title) for hit in readings}) == len(readings)
    unheld = set(wanted) & view_question(question).names - frozenset().union(*(first.held for first in firsts))
    return readings if apart and not named and not unheld and MIN_OPTIONS <= len(readings) <= MAX_OPTIONS else ()


def _things(assessment: Assessment, question: str) -> tuple[ScoredChunk, ...]:
    """The best passage about each of the things (titles) that the question may be about, in the candidates' order.

    None where it names something: a name, a number or a title of what was found. Where it refers to what it does not
    name ("the film", "he"), passages that hold most of the best one's share of it compete; else, those of two titles
    or more that hold all of its words.
    """
    view = view_question(question)
    if view.names or not view.terms or _TELLS_APART.search(question):
        return ()
    text = fold(question)
    refers = (_REFERS_CHINESE if view.chinese else _REFERS).search(text)
    referring = frozenset(view_question(refers.group()).terms) if refers else frozenset[str]()
    terms = frozenset(view.terms) - referring or frozenset(view.terms)
    strong = terms - view.weak or terms
    narrower = {general: frozenset(query_terms(_NARROWER[general])) for general in terms & _NARROWER.keys()}
    best: dict[str, tuple[float, ScoredChunk]] = {}
    for candidate in _competing(assessment, question)[:LOOKED_AT]:
        thing = _NAMESAKE.split(candidate.chunk.title, maxsplit=1)[0].strip()
        if is_named(thing, text):
            return ()
        held = _held(_view(candidate.chunk), terms, narrower)
        worth = sum(1.0 if term in strong else WEAK_WORTH for term in held)
        if refers or strong <= held:
            known = best.get(fold(thing))
            if known is None or worth > known[0]:
                best[fold(thing)] = (worth, candidate)
    most = max((worth for worth, _ in best.values()), default=0.0)
    readings = [candidate for worth, candidate in best.values() if worth >= most * FITS_AS_WELL and worth > 0]
    return tuple(readings[:MAX_OPTIONS]) if len(readings) >= MIN_OPTIONS else ()


def _competing(assessment: Assessment, question: str) -> list[ScoredChunk]:
    """Candidates of documents that are in force; where a model scored them, only those that compete with the best."""
    least = assessment.best * COMPETING if assessment.scored_by_model else 0.0
    return [
        candidate
        for candidate in in_force(assessment.candidates, question)
        if candidate.chunk.kind == "document" and (candidate.scores.rerank or 0.0) >= least
    ]


def _view(chunk: StoredChunk) -> PassageView:
    return view_passage(f"{chunk.title}\n{chunk.heading}".strip(), chunk.text)


@dataclass(frozen=True, slots=True)
class _First:
    """A document's best candidate for the question. `held`: wanted terms in two neighbouring sentences and the head;
    `headed`: those in title and heading alone."""

    candidate: ScoredChunk
    held: frozenset[str]
    headed: frozenset[str]


def _best_of_each_document(assessment: Assessment, question: str, wanted: frozenset[str]) -> list[_First]:
    """Documents that hold any of the wanted terms, in the order of their best candidates."""
    best: dict[str, _First] = {}
    for candidate in _competing(assessment, question):
        chunk = candidate.chunk
        view = _view(chunk)
        first = _First(candidate, _held(view, wanted), wanted & view.head)
        known = best.get(chunk.document_id)
        if first.held and (known is None or len(first.held) > len(known.held)):
            best[chunk.document_id] = first
    return list(best.values())


def _held(
    view: PassageView, wanted: frozenset[str], narrower: Mapping[str, frozenset[str]] | None = None
) -> frozenset[str]:
    """The most of the wanted terms that two neighbouring sentences hold together with the title and heading.
    narrower: by general term, those that count as it."""
    sentences = [sentence.terms for sentence in view.sentences]
    pairs = [left | right | view.head for left, right in pairwise(sentences)]
    pairs = pairs or [*(sentence | view.head for sentence in sentences), view.head]
    if narrower:
        pairs = [pair | {general for general, terms in narrower.items() if terms & pair} for pair in pairs]
    return max((wanted & pair for pair in pairs), key=len)


def _versions(firsts: Sequence[_First]) -> tuple[ScoredChunk, ...]:
    """The first document and its other versions that say as much about the question; alone, it has none."""
    best = firsts[0]
    same = [
        first
        for first in firsts
        if topic(first.candidate.chunk) == topic(best.candidate.chunk) and len(first.held) >= len(best.held)
    ]
    years = [version.candidate.chunk.policy_year for version in same]
    if None in years or len(set(years)) != len(years):
        return (best.candidate,)
    return tuple(version.candidate for version in same)[:MAX_OPTIONS]


def _about(firsts: Sequence[_First]) -> tuple[ScoredChunk, ...]:
    """The documents that hold the most of the wanted terms, and the same ones; of these, those whose titles or headings
    do, if several do."""
    most = max((first.held for first in firsts), key=len)  # of several, the best document's
    equal = [first for first in firsts if first.held == most]
    headed = [first for first in equal if first.headed]
    return tuple(first.candidate for first in (headed if len(headed) >= MIN_OPTIONS else equal))


# ------------------------------------------------------------------------------------------------ options
def from_documents(candidates: Sequence[ScoredChunk], language: Language) -> Clarification:
    """A question over the field that tells the candidates' documents apart: the year of versions of one document, else
    the department or the kind when each document has its own, else the title."""
    documents = {candidate.chunk.document_id: candidate for candidate in reversed(candidates)}
    first_of_each = list(documents.values())[::-1]
    one_topic = len({topic(candidate.chunk) for candidate in first_of_each}) == 1
    for field in ("policy_year",) if one_topic else ("department", "doc_type"):
        values = [_READ[field](candidate.chunk) for candidate in first_of_each]
        if all(values) and len(set(values)) == len(values) and MIN_OPTIONS <= len(values) <= MAX_OPTIONS:
            options = sorted(values, reverse=True) if field == "policy_year" else values
            return Clarification(question=phrase(f"clarify_{field}", language), options=tuple(options))
    titles = dict.fromkeys(candidate.chunk.title for candidate in first_of_each if candidate.chunk.title)
    return Clarification(question=phrase("clarify_title", language), options=tuple(titles)[:MAX_OPTIONS])
