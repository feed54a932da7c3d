"""Clarify: ask back when the question leaves open what the documents distinguish by.

The model's own question and options are used when it gave them; else the options are the values (year, department,
kind of document, title) in which the documents differ that the question can be read as being about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from retrieval.answerability.passage import PassageView, view_passage
from retrieval.answerability.question import view_question
from retrieval.steps.answer.phrases import phrase
from retrieval.steps.judge.evaluator import Assessment
from retrieval.steps.query.route import fold, is_named, years_in
from retrieval.steps.step import Step
from retrieval.text.answer_language import Language
from retrieval.trace import StepRecord
from retrieval.values import Clarification, ScoredChunk, SearchFilters, StoredChunk

COMPETING = 0.85  # of the best score a model gave: candidates at or above it compete
VAGUE_TERMS = 2  # a question of so few words with a meaning of their own does not say which document it is about
MIN_OPTIONS, MAX_OPTIONS = 2, 5
_NOT_THE_TOPIC = re.compile(r"\d+|[\s\-–—_/,.:;()（）年版]+")

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
            entry.detail["built_from"] = "what the documents that the question may be about differ in"
        entry.summary = asked.question
        entry.detail["options"] = list(asked.options)
        return asked


# ------------------------------------------------------------------------------------------------ readings
def open_readings(assessment: Assessment, question: str, filters: SearchFilters) -> tuple[ScoredChunk, ...]:
    """One candidate for each document that the question may be about, best first; none where it says which.

    Open are, without any model:
    - one document in the versions of several years, when no year is named and the older ones say as much about it;
    - a question of one or two words with a meaning of their own, when documents of different titles hold the same of
      them in neighbouring sentences. Where some are about these words by title or heading, they alone count.
    """
    wanted = [term for term in view_question(question).terms if term not in view_question(question).weak]
    firsts = _best_of_each_document(assessment, frozenset(wanted))
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
    return readings if apart and not named and MIN_OPTIONS <= len(readings) <= MAX_OPTIONS else ()


@dataclass(frozen=True, slots=True)
class _First:
    """A document's best candidate for the question. `held`: wanted terms in two neighbouring sentences and the head;
    `headed`: those in title and heading alone."""

    candidate: ScoredChunk
    held: frozenset[str]
    headed: frozenset[str]


def _best_of_each_document(assessment: Assessment, wanted: frozenset[str]) -> list[_First]:
    """Documents that hold any of the wanted terms, in the order of their best candidates. Where a model scored them,
    only those that compete with the best."""
    least = assessment.best * COMPETING if assessment.scored_by_model else 0.0
    best: dict[str, _First] = {}
    for candidate in assessment.candidates:
        if candidate.chunk.kind != "document" or (candidate.scores.rerank or 0.0) < least:
            continue
        chunk = candidate.chunk
        view = view_passage(f"{chunk.title}\n{chunk.heading}".strip(), chunk.text)
        first = _First(candidate, _held(view, wanted), wanted & view.head)
        known = best.get(chunk.document_id)
        if first.held and (known is None or len(first.held) > len(known.held)):
            best[chunk.document_id] = first
    return list(best.values())


def _held(view: PassageView, wanted: frozenset[str]) -> frozenset[str]:
    """The most of the wanted terms that two neighbouring sentences hold together with the title and heading."""
    sentences = [sentence.terms for sentence in view.sentences]
    pairs = [left | right for left, right in pairwise(sentences)] or sentences
    return max((wanted & (pair | view.head) for pair in pairs), key=len, default=wanted & view.head)


def _versions(firsts: Sequence[_First]) -> tuple[ScoredChunk, ...]:
    """The first document and its other versions that say as much about the question; alone, it has none."""
    best = firsts[0]
    same = [
        first
        for first in firsts
        if _topic(first.candidate.chunk) == _topic(best.candidate.chunk) and len(first.held) >= len(best.held)
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


def _topic(chunk: StoredChunk) -> str:
    """A title without its year."""
    return _NOT_THE_TOPIC.sub(" ", fold(chunk.title)).strip()


# ------------------------------------------------------------------------------------------------ options
def from_documents(candidates: Sequence[ScoredChunk], language: Language) -> Clarification:
    """A question over the field that tells the candidates' documents apart: the year of versions of one document, else
    the department or the kind when each document has its own, else the title."""
    documents = {candidate.chunk.document_id: candidate for candidate in reversed(candidates)}
    first_of_each = list(documents.values())[::-1]
    one_topic = len({_topic(candidate.chunk) for candidate in first_of_each}) == 1
    for field in ("policy_year",) if one_topic else ("department", "doc_type"):
        values = [_READ[field](candidate.chunk) for candidate in first_of_each]
        if all(values) and len(set(values)) == len(values) and MIN_OPTIONS <= len(values) <= MAX_OPTIONS:
            options = sorted(values, reverse=True) if field == "policy_year" else values
            return Clarification(question=phrase(f"clarify_{field}", language), options=tuple(options))
    titles = dict.fromkeys(candidate.chunk.title for candidate in first_of_each if candidate.chunk.title)
    return Clarification(question=phrase("clarify_title", language), options=tuple(titles)[:MAX_OPTIONS])
