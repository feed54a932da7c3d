"""Route: department, kind of document and year that the question names become filters.

The fast model reads them among the values that the documents in scope hold ("HR", 人事); nothing without evidence in
the question's own words. Filters of the request always win. One that was read from the question is preferred, not
strict: it may mean something else, so what it hides fills up what it leaves (`retrieval.steps.retrieve.search`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace

from retrieval.steps.deps import Deps
from retrieval.steps.schemas import QuestionFilters, one_of
from retrieval.steps.step import step
from retrieval.text.language import to_simplified
from retrieval.text.quoting import one_line
from retrieval.trace import note
from retrieval.values import Question, SearchFilters, Vocabulary

MAX_LISTED = 60  # values of a kind that the model chooses among
MIN_EVIDENCE = 2  # characters
_YEAR = re.compile(r"(?<!\d)((?:19|20)\d{2})(?!\d)")


async def prefer_named_year(deps: Deps, question: Question) -> Question:
    """With the one year that the question names in digits, where documents in scope are of that year, as a preferred
    filter: "under the 2025 regulations". Two years are a comparison."""
    years = years_in(question.standalone)
    if len(years) != 1 or question.filters.policy_year is not None:
        return question
    if years[0] not in (await deps.store.vocabulary(question.scope)).policy_years:
        return question
    named = SearchFilters(policy_year=years[0]).in_mode("prefer")
    return replace(question, filters=merge(question.filters, named))


async def read_filters(deps: Deps, question: Question, known: SearchFilters) -> SearchFilters:
    """`known`, and what a model finds beside it.

    No call, and no entry in the path, where a request wants no rewriting or the documents hold no other value to
    choose: a department or kind that all of them share excludes nothing.
    """
    if question.options.rewrite is False or not deps.settings.route.by_model:
        return known
    vocabulary = await deps.store.vocabulary(question.scope)
    departments_left = known.department is None and len(vocabulary.departments) > 1
    doc_types_left = known.doc_type is None and len(vocabulary.doc_types) > 1
    return await route(deps, question, known, vocabulary) if departments_left or doc_types_left else known


def as_known(deps: Deps, question: Question, known: SearchFilters, vocabulary: Vocabulary) -> SearchFilters:
    return known


@step("route", fallback=as_known, optional=True)
async def route(deps: Deps, question: Question, known: SearchFilters, vocabulary: Vocabulary) -> SearchFilters:
    reply = await deps.complete(
        "question_filters",
        one_of(
            QuestionFilters,
            department=[*vocabulary.departments[:MAX_LISTED], ""],
            doc_type=[*vocabulary.doc_types[:MAX_LISTED], ""],
            policy_year=[*vocabulary.policy_years[:MAX_LISTED], None],
        ),
        departments=_listed(vocabulary.departments),
        doc_types=_listed(vocabulary.doc_types),
        policy_years=_listed(vocabulary.policy_years),
        question=question.standalone,
    )
    evident = with_evidence(reply, question.standalone, vocabulary)
    filters = merge(known, evident)
    found = evident.as_dict()
    note(
        "filters_read" if found else "no_filters_read",
        from_model=found, filters=filters.as_dict(), evidence=reply.evidence,
    )  # fmt: skip
    return filters


def _listed(values: Iterable[object]) -> str:
    return "; ".join(one_line(str(value)) for value in list(values)[:MAX_LISTED]) or "-"


def with_evidence(read: QuestionFilters, question: str, vocabulary: Vocabulary) -> SearchFilters:
    """The documents' own values alone, and only if the words that are given as evidence stand in the question."""
    evidence, asked = fold(read.evidence), fold(question)
    if not MIN_EVIDENCE <= len(evidence) < len(asked) or evidence not in asked:
        return SearchFilters()
    departments = {fold(value): value for value in vocabulary.departments}
    doc_types = {fold(value): value for value in vocabulary.doc_types}
    year = read.policy_year if read.policy_year in vocabulary.policy_years else None
    return SearchFilters(
        department=departments.get(fold(read.department)),
        doc_type=doc_types.get(fold(read.doc_type)),
        policy_year=year if year and str(year) in asked else None,
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


def fold(text: str) -> str:
    """For comparing names: NFKC, Simplified, lower case, single blanks."""
    return " ".join(to_simplified(unicodedata.normalize("NFKC", text)).casefold().split())


def years_in(text: str) -> list[int]:
    """The years 1900 to 2099 that a text names in digits, in order, each once."""
    return list(dict.fromkeys(int(year) for year in _YEAR.findall(fold(text))))
