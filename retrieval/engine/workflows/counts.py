"""Counts and lists over the whole base: what every workflow does for the task "count", and for "list" without documents.

    read the question (a model) ─┬─ a filter ─► count all ─► table with evidence
                                 └─ none ─────► say so

The model that routes may say after a refusal that a count is wanted; where it can't be had then, the search goes on. A
model says what is to be counted; the number, the rows and what is missing are the database's.
"""

from __future__ import annotations

from ragsite.core.errors import InvalidInputError, UnavailableError
from ragsite.core.messages import worded
from retrieval.engine.deps import Deps
from retrieval.engine.path_details import CountDetails, GenerateDetails
from retrieval.engine.reasons import Reason, reason_of
from retrieval.engine.steps.answer.appending import append_text
from retrieval.engine.steps.documents.count_reading import filter_details, read_count
from retrieval.engine.steps.documents.count_table import count_sources, count_text
from retrieval.engine.steps.query.condense import condense
from retrieval.engine.steps.step import step
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
    sentence = NOT_READ if outcome.code == "count_not_read" else NOT_COUNTED
    answer = Answer(decision="NO_ANSWER", text="", reason=outcome)
    return await append_text(deps, answer, deps.say(sentence, deps.language))


async def try_to_count(deps: Deps, question: Question) -> Answer | Reason:
    """The answer, or why there is none; nothing of it has reached the reader then. question: stands alone."""
    if deps.counter is None:
        return Reason("not_counted")
    vocabulary = await deps.store.vocabulary(question.scope)
    columns = await deps.counter.columns(question.scope)
    filter_ = await read_count(deps, question, vocabulary, columns)
    if filter_ is None:
        return Reason("count_not_read")
    result = await count_all(deps, question, filter_)
    if result is None:
        return Reason("not_counted")
    return await write_count(deps, filter_, result)


@step("count")
async def count_all(deps: Deps, question: Question, filter_: CountFilter) -> CountResult | None:
    """None: it could not be counted; the entry says why."""
    assert deps.counter is not None
    details = CountDetails(filters=filter_details(filter_))
    try:
        result = await deps.counter.count(question.scope, filter_, limit=MAX_COUNTED_ROWS)
    except (UnavailableError, InvalidInputError) as error:
        note("not_counted", details)
        degrade(reason_of(error))
        return None
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
    )
    note("counted" if result.complete else "counted_in_part", details)
    return result


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
