"""Whole documents: what every workflow does where a document is to be read, not six passages of several.

    task and documents ── named by the request, or by the model that routes (`retrieval.engine.steps.query.route`)
        ├─► no documents ► `retrieval.engine.workflows.counts`
        └─► read all chunks ─┬─ summarise ─► notes, where they do not fit one prompt ─► generate ─► verify
                             ├─ compare ───► compare the sentences ─► generate ─► verify, and the sentences that differ
                             └─ list ──────► rows, part by part, checked once more

Without a model: each section's first sentence, the sentences that differ; no list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

from retrieval.engine.deps import Deps
from retrieval.engine.path_details import (
    CompressDetails,
    GenerateDetails,
    RouteDetails,
)
from retrieval.engine.reasons import Reason
from retrieval.engine.steps.answer.appending import append_text
from retrieval.engine.steps.answer.generate import written_answer
from retrieval.engine.steps.answer.streaming import (
    AnswerWriter,
    Author,
    author_of,
    write_by_model,
)
from retrieval.engine.steps.documents.compare import (
    Comparison,
    Quoted,
    compare,
    differences,
    listing,
    outline,
    titles,
)
from retrieval.engine.steps.documents.excerpts import Excerpt
from retrieval.engine.steps.documents.notes import take_notes
from retrieval.engine.steps.documents.parts import (
    fit_one_prompt,
    quoted_passages,
    sources_of,
)
from retrieval.engine.steps.documents.read import WholeDocument, read_documents
from retrieval.engine.steps.documents.rows import find_rows
from retrieval.engine.steps.grounding.verify import verify
from retrieval.engine.steps.step import step
from retrieval.engine.text.phrases import phrase
from retrieval.engine.text.quoting import estimate_tokens, one_line
from retrieval.engine.trace import degrade, note
from retrieval.engine.values import Answer, AnswerSource, DocumentTask, Question
from retrieval.engine.workflows.counts import answer_by_count


async def answer_from_documents(deps: Deps, question: Question, task: DocumentTask) -> Answer:
    if task.counts:
        return await answer_by_count(deps, question)
    await _set_task(deps, task)
    documents = await read_documents(deps, task.documents, scope=question.scope)
    if len(documents) < len(task.documents):
        return await say_why_not(deps, phrase("missing", deps.language), "document_missing")
    if empty := [document for document in documents if not document.excerpts]:
        return await say_why_not(
            deps,
            phrase("empty", deps.language, names=titles(empty, deps.language)),
            "document_empty",
        )
    match task.name:
        case "summarise":
            answer = await _write(deps, documents, "document_summary", question.text)
        case "compare":
            answer = await _compare(deps, documents[0], documents[1], question.text)
        case "list":
            answer = await _list(deps, documents, question.text)
    if answer.partial:
        return answer  # it may be continued, from all that it was to be written from
    return replace(
        answer,
        sources=tuple(source for source in answer.sources if source.cited) or answer.sources,
    )


@step("route")
async def _set_task(deps: Deps, task: DocumentTask) -> None:
    note(f"task_{task.name}", RouteDetails(task=task.name, documents=task.documents))


async def _write(
    deps: Deps, documents: Sequence[WholeDocument], prompt: str, question: str
) -> Answer:
    """From all of the documents, or from notes on them; without a model their outline."""
    excerpts = _excerpts(documents)
    author = await author_for(deps, prompt, question)
    read = sum(document.sections for document in documents)
    if author.room is not None and not fit_one_prompt(excerpts, author.room):
        excerpts, readings = await take_notes(deps, excerpts, question, room=author.room)
        read = readings.read
        author = Author(failure=Reason("document_unread")) if readings.failed else author
    sources = sources_of(excerpts)
    markers = {source.chunk.chunk_id: source.marker for source in sources}
    answer = await write(
        deps,
        author,
        prompt,
        question,
        passages=quoted_passages(
            excerpts,
            [markers[one.chunk.chunk_id] for one in excerpts],
            deps.language,
        ),
        sources=sources,
        otherwise=lambda: outline(documents, deps.language),
    )
    checked = await verify(deps, answer, question=question)
    return await _say_in_part(deps, checked, documents, read if answer.model else None)


async def _compare(deps: Deps, older: WholeDocument, newer: WholeDocument, question: str) -> Answer:
    """The model's overview, and below it every sentence that differs."""
    found = await _differences(deps, older, newer)
    if not found.changes:
        text = phrase(
            "same",
            deps.language,
            old=titles([older], deps.language),
            new=titles([newer], deps.language),
            same=found.same,
        )
        return await append_text(deps, Answer(decision="ANSWER", text=""), "\n\n" + text)
    if not found.of_versions:
        return await _write(deps, [older, newer], "document_changes", question)
    author = await author_for(deps, "document_changes", question)
    quotes = await asyncio.to_thread(differences, found, older, newer, deps.language)
    answer = await write(
        deps,
        author,
        "document_changes",
        question,
        passages=_that_fit(quotes.text, author.room or 0),
        sources=quotes.sources,
        otherwise=lambda: quotes,
    )
    if answer.model and not answer.partial:
        checked = await verify(deps, answer, question=question)
        answer = await append_text(deps, replace(checked, decision="ANSWER"), "\n\n" + quotes.text)
    return await _say_in_part(deps, answer, [older, newer], None)


@step("compress")
async def _differences(deps: Deps, older: WholeDocument, newer: WholeDocument) -> Comparison:
    found = await asyncio.to_thread(compare, older.excerpts, newer.excerpts)
    details = CompressDetails(
        changed=found.count("changed"),
        new=found.count("new"),
        gone=found.count("gone"),
        same=found.same,
    )
    note("sentences_compared", details)
    return found


async def _list(deps: Deps, documents: Sequence[WholeDocument], question: str) -> Answer:
    author = await author_for(deps, "document_rows", question)
    if author.model is None:
        return await say_why_not(deps, phrase("no_list", deps.language), "list_needs_model")
    rows, readings = await find_rows(deps, _excerpts(documents), question, room=author.room or 0)
    if readings.failed:
        return await say_why_not(deps, phrase("no_list", deps.language), "document_unread")
    if not rows:
        text = phrase("none_found", deps.language, names=titles(documents, deps.language))
        return await say_why_not(deps, text, "nothing_of_this_kind")
    answer = await quote(deps, listing(rows, documents, deps.language), model=author.model.name)
    return await _say_in_part(deps, answer, documents, readings.read)


async def _say_in_part(
    deps: Deps, answer: Answer, documents: Sequence[WholeDocument], read: int | None
) -> Answer:
    """With a line behind it where not all was read. read: sections that a model read; None: as many as were loaded."""
    read = sum(document.sections for document in documents) if read is None else read
    total = sum(document.total for document in documents)
    if read >= total or answer.partial:
        return answer
    return await append_text(
        deps,
        answer,
        "\n\n" + phrase("in_part", deps.language, read=read, total=total),
    )


def _excerpts(documents: Sequence[WholeDocument]) -> list[Excerpt]:
    return list(chain.from_iterable(document.excerpts for document in documents))


def _that_fit(text: str, tokens: int) -> str:
    """The first lines of it."""
    lines = []
    for line in text.splitlines():
        tokens -= estimate_tokens(line) + 1
        if tokens < 0:
            break
        lines.append(line)
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------ writing
async def author_for(deps: Deps, prompt: str, question: str) -> Author:
    """The model, and the room for what it reads, or why there is none."""
    return await author_of(
        deps, lambda: deps.writing_prompt(prompt, passages="", question=one_line(question))
    )


@step("generate")
async def write(
    deps: Deps,
    author: Author,
    prompt: str,
    question: str,
    *,
    passages: str,
    sources: tuple[AnswerSource, ...],
    otherwise: Callable[[], Quoted],
) -> Answer:
    """By the model. `otherwise`: the answer where there is none, or it fails before its first word."""
    writer = AnswerWriter(deps, sources=sources, question=question)
    if author.model:
        await deps.trace.choose_sources(sources)
    ended = await write_by_model(
        deps,
        author,
        lambda: deps.writing_prompt(prompt, passages=passages, question=one_line(question)),
        writer,
    )
    if ended.failure:
        degrade(ended.failure)
    if not writer.text:
        return await _quoted(deps, await asyncio.to_thread(otherwise))
    return written_answer(writer.text, sources, ended)


@step("generate")
async def quote(deps: Deps, quoted: Quoted, *, model: str) -> Answer:
    """What a model found, in the document's words."""
    return await _quoted(deps, quoted, model=model)


async def _quoted(deps: Deps, quoted: Quoted, *, model: str = "") -> Answer:
    cited = tuple(source.marker for source in quoted.sources)
    note(
        "quoted",
        GenerateDetails(lines=quoted.lines, cited=cited, model=model, partial=False),
    )
    await deps.trace.choose_sources(quoted.sources)
    answer = Answer(decision="ANSWER", text="", sources=quoted.sources, model=model)
    return await append_text(deps, answer, quoted.text)


async def say_why_not(deps: Deps, text: str, reason: str) -> Answer:
    """There is nothing to answer from. reason: a code."""
    return await append_text(
        deps, Answer(decision="NO_ANSWER", text="", reason=Reason(reason)), text
    )
