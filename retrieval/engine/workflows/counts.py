"""Counts and lists over the whole base: what every workflow does for the task "count", and for "list" without
documents.

    read the question (a model) ─┬─ a filter ─► count all ─► table with evidence
                                 └─ none ─────► say so

The model that routes may say after a refusal that a count is wanted; where it can't be had then, the search goes on. A
model says what is to be counted; the number, the rows and what is missing are the database's.
"""

from __future__ import annotations

from ragsite.core.errors import AppError, InvalidInputError, UnavailableError
from ragsite.core.messages import joined, worded
from retrieval.engine.deps import Deps
from retrieval.engine.errors import UnknownValueError
from retrieval.engine.path_details import CountDetails, GenerateDetails
from retrieval.engine.reasons import Reason, reason_of
from retrieval.engine.steps.answer.appending import append_text
from retrieval.engine.steps.documents.count_reading import filter_details, read_count
from retrieval.engine.steps.documents.count_table import count_sources, count_text
from retrieval.engine.steps.query.condense import condense
from retrieval.engine.steps.step import step
from retrieval.engine.text.count_sentences import count_sentence
from retrieval.engine.trace import degrade, note
from retrieval.engine.values import Answer, Question
from retrieval.engine.values.counting import MAX_COUNTED_ROWS, CountFilter, CountResult

NOT_READ = worded(
    "I could not tell exactly what is to be counted. Fill in the form “Count and list” on the documents page: it counts "
    "without a model."
)
NOT_COUNTED = worded("The documents could not be counted just now. Try again.")


async def answer_by_count(deps: Deps, question: Question) -> Answer:
    """What was asked for as a count; where it can't be had, the answer says so."""
    outcome = await try_to_count(deps, await condense(deps, question))
    if isinstance(outcome, Answer):
        return outcome
    answer = Answer(decision="NO_ANSWER", text="", reason=outcome)
    return await append_text(deps, answer, deps.say(_reason_text(outcome), deps.language))


def _reason_text(reason: Reason) -> str:
    if reason.code == "count_not_read":
        return NOT_READ
    said: str = reason.values.get("wrong", NOT_COUNTED)
    return said


async def try_to_count(deps: Deps, question: Question) -> Answer | Reason:
    """The answer, or why there is none; nothing of it has reached the reader then. question: stands alone."""
    if deps.counter is None:
        return Reason("not_counted")
    vocabulary = await deps.store.vocabulary(question.scope)
    try:
        columns = await deps.counter.columns(question.scope)
    except UnavailableError as error:
        return await write_not_counted(deps, error)
    if columns.documents:
        filter_ = await read_count(deps, question, vocabulary, columns)
        if filter_ is None:
            return Reason("count_not_read")
    else:
        filter_ = CountFilter()  # there is nothing to count, which needs no model
    result = await count_for_answer(deps, question, filter_)
    if isinstance(result, Reason):
        return result
    if not result.in_scope or result.unknown_columns:  # a column may be gone since they were listed
        reason = Reason("not_counted" if result.in_scope else "no_documents")
        answer = Answer(decision="NO_ANSWER", text="", reason=reason)
        return await append_text(deps, answer, deps.say(count_sentence(result), deps.language))
    return await write_count(deps, filter_, result)


@step("count")
async def write_not_counted(deps: Deps, error: AppError) -> Reason:
    note("not_counted")
    degrade(reason_of(error))
    return Reason("not_counted")


@step("count")
async def count_for_answer(
    deps: Deps, question: Question, filter_: CountFilter
) -> CountResult | Reason:
    """A reason: it could not be counted; the entry says why, and `wrong` what who asks can change."""
    assert deps.counter is not None
    details = CountDetails(filters=filter_details(filter_))
    try:
        result = await deps.counter.count(question.scope, filter_, limit=MAX_COUNTED_ROWS)
    except InvalidInputError as error:
        wrong = _field_errors(error)
        note("not_counted", details)
        degrade(Reason(error.code, {"error": wrong}))
        return Reason("not_counted", {"wrong": wrong})
    except UnavailableError as error:
        note("not_counted", details)
        degrade(reason_of(error))
        return Reason("not_counted")
    details = CountDetails(
        filters=filter_details(filter_),
        unit=result.unit,
        total=result.total,
        documents=result.documents,
        shown=len(result.rows),
        looked_at=result.looked_at,
        to_look_at=result.to_look_at,
        complete=result.complete,
        being_read=result.being_read,
        failed=result.failed,
        partly_read=result.partly_read,
        unread_cells=result.unread_cells,
        ambiguous_cells=result.ambiguous_cells,
        empty_cells=result.empty_cells,
        other_units=tuple(cell.value for cell in result.other_units),
        words_left_out=result.words_left_out,
    )
    note("counted" if result.complete else "counted_in_part", details)
    return result


def _field_errors(error: InvalidInputError) -> str:
    """The sentences of its fields."""
    said = [sentence for sentences in error.fields.values() for sentence in sentences]
    return error.message if isinstance(error, UnknownValueError) else joined(" ", said)


@step("generate")
async def write_count(deps: Deps, filter_: CountFilter, result: CountResult) -> Answer:
    sources = count_sources(result)
    note(
        "count_shown",
        GenerateDetails(
            shown=len(result.rows),
            of=result.total,
            cited=tuple(source.marker for source in sources),
            model="",
            partial=False,
        ),
    )
    await deps.trace.choose_sources(sources)
    answer = Answer(
        decision="ANSWER", text="", sources=sources, reason=Reason("counted_by_database")
    )
    return await append_text(deps, answer, count_text(deps, filter_, result, sources))
