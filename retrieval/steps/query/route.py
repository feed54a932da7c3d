"""Route: department, kind of document, year and tags that the question names become filters.

By rules over the values that the documents in scope hold, and by the fast model for values that the question names in
other words ("HR", 人事); nothing without evidence in the question. Filters of the request always win, then those by
rules. Two years or two departments in one question are a comparison: no filter then. A filter that was read from the
question is preferred, not strict: the question may mean something else by the word, so it gives way where what it
leaves does not answer (`retrieval.steps.retrieve.relax`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from ragsite.core.wording import Sentence, joined, worded
from retrieval.steps.schemas import QuestionFilters, one_of
from retrieval.steps.step import Asked, Context, Step
from retrieval.text.language import HAN_CHARACTER, to_simplified
from retrieval.text.quoting import one_line
from retrieval.trace import StepRecord
from retrieval.values import SearchFilters, Vocabulary

PROMPT = "question_filters"  # its file in retrieval/prompts

MIN_HAN_VALUE = 2  # characters; shorter values turn up inside other words
MAX_LISTED = 60  # values of a kind that the model chooses among
SPECIFIC_TAG_WORDS = 2
SPECIFIC_TAG_HAN = 4
_YEAR = re.compile(r"(?<!\d)((?:19|20)\d{2})(?!\d)")
_CHINESE_YEAR = re.compile(r"([一二][〇零一二三四五六七八九]{3})(?=年|学年|级|届)")
_CHINESE_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
_EXPLICIT_TAG = r"(?:#|\btag(?:ged)?(?: as| with)?:?\s*|标签(?:是|为)?[:：]?\s*)[\"“「']?"
FILTERS: dict[str, Sentence] = {  # as the decision path says them
    "department": worded("department"), "doc_type": worded("doc_type"), "policy_year": worded("policy_year"),
    "tags": worded("tags"),
}  # fmt: skip
# "Which form do I need?" asks for a form; that the answer stands in one is not said.
_ASKED_FOR = re.compile(r"\b(?:which|what) \w+|哪(?:一|几)?[个些张份种项类]?(?:规定|[\u4e00-\u9fff]{2})")


class Route(Step[Asked, SearchFilters]):
    """By rules: the request's filters, and those that the self-contained question gives evidence for."""

    name = "route"

    async def act(self, given: Asked, entry: StepRecord) -> SearchFilters:
        question = given.question
        vocabulary = await self.tools.store.vocabulary(question.scope)
        # The message's own words come first: "and in 2024?" after a question about 2023.
        named = merge(filters_in(question.text, vocabulary), filters_in(given.text, vocabulary))
        filters = merge(question.filters, named)
        entry.detail |= {"from_question": named.as_dict(), "filters": filters.as_dict()}
        entry.summary = _summary(filters) or worded("no filter")
        return filters


async def filters_by_model(context: Context, asked: Asked, known: SearchFilters) -> SearchFilters:
    """`known`, and what the fast model finds beside it; for the round of calls that improve on the question.

    No call, and no entry in the path, where a request wants no rewriting or the documents hold no other value to
    choose: a department or kind that all of them share excludes nothing. Without a model `known` stays as it is.
    """
    if asked.question.options.rewrite is False or not context.tools.settings.route.by_model:
        return known
    vocabulary = await context.tools.store.vocabulary(asked.question.scope)
    departments_left = known.department is None and len(vocabulary.departments) > 1
    doc_types_left = known.doc_type is None and len(vocabulary.doc_types) > 1
    if not departments_left and not doc_types_left:
        return known
    return await RouteByModel(context)(Readable(asked.text, known, vocabulary))


@dataclass(frozen=True, slots=True)
class Readable:
    """A self-contained question, the filters that are known, and the documents' values to choose among."""

    text: str
    known: SearchFilters
    vocabulary: Vocabulary


class RouteByModel(Step[Readable, SearchFilters]):
    name = "route"
    optional = True

    async def act(self, given: Readable, entry: StepRecord) -> SearchFilters:
        read = await self.attempt(entry, self._ask_model(given), fallback=QuestionFilters, gives_way=True)
        evident = with_evidence(read, given.text, given.vocabulary)
        filters = merge(given.known, evident)
        entry.detail |= {"from_model": evident.as_dict(), "filters": filters.as_dict(), "evidence": read.evidence}
        entry.summary = (
            entry.summary or _summary(evident) or worded("the model reads no other filter from the question")
        )
        return filters

    async def _ask_model(self, given: Readable) -> QuestionFilters:
        return await self.complete(
            PROMPT,
            one_of(
                QuestionFilters,
                department=[*given.vocabulary.departments[:MAX_LISTED], ""],
                doc_type=[*given.vocabulary.doc_types[:MAX_LISTED], ""],
                policy_year=[*given.vocabulary.policy_years[:MAX_LISTED], None],
            ),
            departments=_listed(given.vocabulary.departments),
            doc_types=_listed(given.vocabulary.doc_types),
            policy_years=_listed(given.vocabulary.policy_years),
            question=given.text,
        )


def _summary(filters: SearchFilters) -> str:
    given = filters.as_dict() | ({"tags": ", ".join(filters.tags)} if filters.tags else {})
    return joined(", ", (worded("{name} = {value}", name=FILTERS[name], value=value) for name, value in given.items()))


def _listed(values: Iterable[object]) -> str:
    return "; ".join(one_line(str(value)) for value in list(values)[:MAX_LISTED]) or "-"


def with_evidence(read: QuestionFilters, question: str, vocabulary: Vocabulary) -> SearchFilters:
    """The documents' own values alone, and only if the words that are given as evidence stand in the question."""
    evidence, asked = fold(read.evidence), fold(question)
    if not MIN_HAN_VALUE <= len(evidence) < len(asked) or evidence not in asked:
        return SearchFilters()
    departments = {fold(value): value for value in vocabulary.departments}
    doc_types = {fold(value): value for value in vocabulary.doc_types}
    year = read.policy_year if read.policy_year in vocabulary.policy_years else None
    return SearchFilters(
        department=departments.get(fold(read.department)),
        doc_type=doc_types.get(fold(read.doc_type)),
        policy_year=year if years_in(question) == [year] else None,
    ).in_mode("prefer")


def merge(first: SearchFilters, second: SearchFilters) -> SearchFilters:
    """The first ones, and of the second those that the first leave open; each as strict as it was."""
    return SearchFilters(
        department=first.department or second.department,
        doc_type=first.doc_type or second.doc_type,
        policy_year=second.policy_year if first.policy_year is None else first.policy_year,
        tags=first.tags or second.tags,
        documents=first.documents or second.documents,
        preferred=first.preferred | (second.preferred - first.as_dict().keys()),
    )


def filters_in(question: str, vocabulary: Vocabulary) -> SearchFilters:
    """Filters that the question names, by the documents' own values."""
    text = fold(question)
    department = _only(vocabulary.departments, text)
    # "Library regulations": the words of one value are no evidence for another that they are part of.
    rest = text.replace(fold(department), " ") if department else text
    return SearchFilters(
        department=department,
        doc_type=_only(vocabulary.doc_types, _ASKED_FOR.sub(" ", rest)),
        policy_year=_year(text, vocabulary.policy_years),
        tags=tuple(tag for tag in vocabulary.tags if _tag_is_named(tag, text)),
    ).in_mode("prefer")


def fold(text: str) -> str:
    return " ".join(to_simplified(unicodedata.normalize("NFKC", text)).casefold().split())


def years_in(text: str) -> list[int]:
    folded = fold(text)
    chinese = (match.translate(_CHINESE_DIGITS) for match in _CHINESE_YEAR.findall(folded))
    return list(dict.fromkeys(int(year) for year in [*_YEAR.findall(folded), *chinese]))


def is_named(value: str, text: str) -> bool:
    """Whether the folded text holds this value: Latin ones as whole words (a plural counts), Chinese ones anywhere."""
    folded = fold(value)
    if not folded:
        return False
    if HAN_CHARACTER.search(folded):
        return len(folded) >= MIN_HAN_VALUE and folded in text
    pattern = name_pattern(folded)
    return bool(pattern and pattern.search(text))


def name_pattern(folded: str) -> re.Pattern[str] | None:
    """Finds a value's words, whatever joins them; None where it has no words."""
    words = [re.escape(word) for word in re.split(r"[\s_-]+", folded) if word]
    if not words:
        return None
    stem = words[-1][:-1] if words[-1].endswith("y") else words[-1].removesuffix("s")
    last = rf"(?:{words[-1]}|{stem}(?:s|es|ies)?)" if len(stem) > 2 else words[-1]
    phrase = r"[\s_-]+".join([*words[:-1], last])
    return re.compile(rf"(?<!\w){phrase}(?!\w)")


def tag_pattern(folded: str) -> re.Pattern[str]:
    """Finds a tag that is marked as one."""
    return re.compile(_EXPLICIT_TAG + re.escape(folded))


def _only(values: Iterable[str], text: str) -> str | None:
    """The one value that is named; a longer name wins over the shorter ones inside it."""
    named = sorted((value for value in values if is_named(value, text)), key=len, reverse=True)
    outer = [value for i, value in enumerate(named) if not any(fold(value) in fold(longer) for longer in named[:i])]
    return outer[0] if len(outer) == 1 else None


def _year(text: str, known: Iterable[int]) -> int | None:
    named = years_in(text)
    return named[0] if len(named) == 1 and named[0] in set(known) else None


def _tag_is_named(tag: str, text: str) -> bool:
    """A tag counts when it is marked as one (#exams, "tagged exams"), or is too specific to be there by chance."""
    folded = fold(tag)
    if folded and tag_pattern(folded).search(text):
        return True
    specific = len(folded.split()) >= SPECIFIC_TAG_WORDS or len(HAN_CHARACTER.findall(folded)) >= SPECIFIC_TAG_HAN
    return specific and is_named(tag, text)
