"""Route: what a question says about the documents it is about becomes filters, a task for whole documents, or neither.

The fast model reads department, kind of document and year among the values that the documents in scope hold ("HR",
人事), and the titles of some of them; no filter without evidence in the question's own words. Filters of the request
always win. One that was read from the question is preferred, not strict: it may mean something else, so what it hides
fills up what it leaves (`retrieval.engine.search.preferring`).
Source: seed 003 (routing).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import RouteDetails
from retrieval.engine.providers.reply_form import limited, shaped
from retrieval.engine.steps.step import step
from retrieval.engine.text.languages import to_simplified
from retrieval.engine.text.quoting import one_line
from retrieval.engine.trace import note
from retrieval.engine.values import (
    DocumentRef,
    DocumentTask,
    Question,
    SearchFilters,
    Vocabulary,
)

MAX_LISTED = 60  # values of a kind that the model chooses among
MAX_OFFERED = 40  # documents
COMPARED = 2
MIN_EVIDENCE = 2  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """filters: those that were known, and what a model read beside them. task: for whole documents. direct: no document
    is needed, as for a greeting."""

    filters: SearchFilters
    task: DocumentTask | None = None
    direct: bool = False


async def read_question(
    deps: Deps,
    question: Question,
    known: SearchFilters,
    *,
    found: Sequence[str] = (),
) -> Route:
    """found: ids of documents, offered to the model first.

    No call, and no entry in the path, where a request wants no rewriting, or there is nothing to choose: a department
    or kind that all documents share excludes nothing.
    """
    if question.options.rewrite is False:
        return Route(filters=known)
    vocabulary = await deps.store.vocabulary(question.scope)
    offered = await _offered(deps, question, found)
    named = {*known.as_dict(), *known.preferred.fields}
    departments_left = "department" not in named and len(vocabulary.departments) > 1
    doc_types_left = "doc_type" not in named and len(vocabulary.doc_types) > 1
    if not (departments_left or doc_types_left or offered):
        return Route(filters=known)
    return await route(deps, question, known, vocabulary, offered)


async def _offered(deps: Deps, question: Question, found: Sequence[str]) -> list[DocumentRef]:
    """Those that were found, then the newest."""
    if deps.documents is None:
        return []
    named = SearchFilters(documents=tuple(found))
    first = (
        await deps.documents.documents(question.scope, filters=named, limit=MAX_OFFERED)
        if found
        else ()
    )
    newest = await deps.documents.documents(
        question.scope, filters=question.filters, limit=MAX_OFFERED
    )
    by_id: dict[str, DocumentRef] = {}
    for document in (*first, *newest):
        by_id.setdefault(document.id, document)
    return list(by_id.values())[:MAX_OFFERED]


def as_known(
    deps: Deps,
    question: Question,
    known: SearchFilters,
    vocabulary: Vocabulary,
    offered: Sequence[DocumentRef],
) -> Route:
    return Route(filters=known)


class QuestionRoute(BaseModel):
    """What the question says about the documents it is about, and what is asked of whole documents, by their numbers.

    evidence: its own words that name department, kind or year. chat: nothing is asked of documents.
    """

    evidence: Annotated[str, limited(maxLength=120)] = ""
    department: str = ""
    doc_type: str = ""
    policy_year: int | None = None
    task: Literal["", "summarise", "list", "compare", "count", "chat"] = ""
    documents: Annotated[list[int], limited(maxItems=2)] = []


@step("route", fallback=as_known, optional=True)
async def route(
    deps: Deps,
    question: Question,
    known: SearchFilters,
    vocabulary: Vocabulary,
    offered: Sequence[DocumentRef],
) -> Route:
    titles: list[str] = []
    for number, document in enumerate(offered, start=1):
        title = f"{number}. {one_line(document.title)}"
        if document.policy_year:
            title += f" ({document.policy_year})"
        titles.append(title)
    reply = await deps.complete(
        "question_filters",
        shaped(
            QuestionRoute,
            department={"enum": [*vocabulary.departments[:MAX_LISTED], ""]},
            doc_type={"enum": [*vocabulary.doc_types[:MAX_LISTED], ""]},
            policy_year={"enum": [*vocabulary.policy_years[:MAX_LISTED], None]},
        ),
        departments=listed(vocabulary.departments),
        doc_types=listed(vocabulary.doc_types),
        policy_years=listed(vocabulary.policy_years),
        documents="\n".join(titles) or "-",
        question=question.standalone,
    )
    evident = Vocabulary()
    task = _task(reply, offered)
    if question.options.route is not False:
        evident = with_evidence(reply, question.standalone, vocabulary)
    found = evident.as_dict()
    filters = known.preferring(evident)
    direct = reply.task == "chat"
    details = RouteDetails(
        from_model=found,
        filters=filters.as_dict(),
        preferred=filters.preferred.as_dict(),
        evidence=reply.evidence,
    )
    if task:
        note(f"task_{task.name}", details)
    elif direct:
        note("no_documents_needed", details)
    else:
        note("filters_read" if found else "no_filters_read", details)
    return Route(filters=filters, task=task, direct=direct)


def _task(read: QuestionRoute, offered: Sequence[DocumentRef]) -> DocumentTask | None:
    """None: there is none, or it names no such documents."""
    if read.task == "" or read.task == "chat":
        return None
    if read.task == "count":
        return DocumentTask("count", ())
    numbers = list(dict.fromkeys(read.documents))
    least = COMPARED if read.task == "compare" else 1
    if not least <= len(numbers) <= COMPARED:
        return None
    if not all(1 <= number <= len(offered) for number in numbers):
        return None
    return DocumentTask(read.task, tuple(offered[number - 1].id for number in numbers))


def listed(values: Iterable[object]) -> str:
    return "; ".join(one_line(str(value)) for value in list(values)[:MAX_LISTED]) or "-"


def with_evidence(read: QuestionRoute, question: str, vocabulary: Vocabulary) -> Vocabulary:
    """The documents' own values alone, and only if the words that are given as evidence stand in the question."""
    evidence = fold(read.evidence)
    question_text = fold(question)
    if not MIN_EVIDENCE <= len(evidence) < len(question_text) or evidence not in question_text:
        return Vocabulary()
    departments = {fold(value): value for value in vocabulary.departments}
    doc_types = {fold(value): value for value in vocabulary.doc_types}
    department = departments.get(fold(read.department))
    doc_type = doc_types.get(fold(read.doc_type))
    year = read.policy_year if read.policy_year in vocabulary.policy_years else None
    return Vocabulary(
        departments=(department,) if department else (),
        doc_types=(doc_type,) if doc_type else (),
        policy_years=(year,) if year and str(year) in question_text else (),
    )


def fold(text: str) -> str:
    """For comparing names: NFKC, Simplified, lower case, single blanks."""
    return " ".join(to_simplified(unicodedata.normalize("NFKC", text)).casefold().split())
