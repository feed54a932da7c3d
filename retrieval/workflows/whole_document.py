"""Whole documents: what every workflow does where a question wants a document read, not six passages of several.

    question ── asks for no whole document ──► the workflow's own graph
        │
        └─► read all chunks ─┬─ summary ─► notes, where it does not fit one prompt ─┐
                             ├─ changes ─► compare the sentences ───────────────────┼─► generate ─► verify
                             └─ list ────► patterns, and the model's finds ─────────┘

Without a model: the outline with the first sentence of each part, the sentences that differ, what the patterns find.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ragsite.core.wording import Sentence, counted, joined, worded
from retrieval.steps.answer.generate import AnswerWriter, Author
from retrieval.steps.cite.verify import verify
from retrieval.steps.document.changes import Comparison, compare
from retrieval.steps.document.choose import Request, whole_document_request
from retrieval.steps.document.compose import (
    Found,
    Quoted,
    compared_in_part,
    differences,
    listing,
    outline,
    paired,
    side_by_side,
)
from retrieval.steps.document.excerpts import MOST_SOURCES, Excerpt, excerpts_of, fit_one_prompt
from retrieval.steps.document.extract import find, is_headed, may_hold
from retrieval.steps.document.left_out import changes_left_out, part_leads, part_names, parts_left_out
from retrieval.steps.document.notes import Noted, TakeNotes, ToNote
from retrieval.steps.document.phrases import phrase
from retrieval.steps.document.read import ReadDocuments, ToRead, WholeDocument
from retrieval.steps.document.sections import Statement
from retrieval.steps.document.task import Task, Wanted, wants_it_short
from retrieval.steps.document.write import Material, WriteAboutDocuments, WriteList
from retrieval.steps.schemas import VERDICTS
from retrieval.steps.step import Context
from retrieval.text.analysis import analyze
from retrieval.text.answer_language import Language
from retrieval.text.numbers import known_numbers
from retrieval.text.sentences import split_sentences
from retrieval.text.tokens import estimate_tokens
from retrieval.values import Answer, Question

TASKS: dict[Task, Sentence] = {  # as the decision path says them
    "summary": worded("the summary of a whole document"),
    "changes": worded("what changed between two documents"),
    "list": worded("a list from a whole document"),
}


async def answer_from_whole_documents(question: Question, context: Context) -> Answer | None:
    """None: the question asks for no whole document; nothing was written into the decision path then."""
    request = await whole_document_request(question, context)
    if request is None:
        return None
    wanted, resolved = request.wanted, request.resolved
    async with context.run.trace.step("route") as step:
        step.detail |= {"task": wanted.task}
        step.detail["documents"] = [document.id for document in resolved.documents]
        titles = joined(", ", (document.title for document in resolved.documents))
        step.summary = worded("{task}: {titles}", task=TASKS[wanted.task], titles=titles)
    documents = await ReadDocuments(context)(ToRead(resolved.documents, question.scope))
    if empty := next((one for one in documents if not one.sections), None):
        text = phrase("empty", context.language, name=empty.ref.title)
        return await _no_answer(text, worded("the document holds no text"), context)
    match wanted.task:
        case "summary":
            answer = await _summarise(documents[0], request, context)
        case "changes":
            answer = await _compare(documents[0], documents[1], request, context)
        case "list":
            answer = await _list(documents[0], request, context)
    answer = await verify(context.deps, answer, question=request.question)
    if answer.partial:
        return answer  # it may be continued, from all that it was to be written from
    return replace(answer, sources=tuple(source for source in answer.sources if source.cited) or answer.sources)


# ------------------------------------------------------------------------------------------------ the three tasks
async def _summarise(document: WholeDocument, request: Request, context: Context) -> Answer:
    step, language = WriteAboutDocuments(context), context.language
    excerpts: Sequence[Excerpt] = excerpts_of(document.sections)
    author = await step.author("document_summary", request.question)
    read = len(document.sections)
    if author.room is not None and not fit_one_prompt(excerpts, author.room):
        to_note = ToNote(excerpts, read, request.question, author.room, document.ref.title)
        noted = await TakeNotes(context)(to_note)
        author = Author(failure=noted.failure) if noted.failure else author
        excerpts, read = _fitting(noted.notes, author.room or 0), noted.read
    lead = ""
    if read < document.total:
        lead = phrase("read_in_part", language, read=read, sections=document.total)
    # A wish for a few sentences leaves no room for a point for each section.
    whole = read == document.total and not wants_it_short(request.question)
    answer = await step(
        Material(
            prompt="document_summary",
            question=request.question,
            author=author,
            excerpts=excerpts,
            quoted=lambda: outline(document, language),
            lead=lead,
            title=document.ref.title,
            sections=part_names(document, language) if whole else (),
            rest=(lambda text, markers: parts_left_out(document, text, markers, language)) if whole else None,
            beside=part_leads(document) if whole else (),
        )
    )
    return replace(answer, reason=_read_of(document, read if answer.model else len(document.sections)))


async def _compare(older: WholeDocument, newer: WholeDocument, request: Request, context: Context) -> Answer:
    step, language = WriteAboutDocuments(context), context.language
    async with context.run.trace.step("compress") as entry:
        comparison = await asyncio.to_thread(compare, older.sections, newer.sections)
        counts = {kind: comparison.count(kind) for kind in ("changed", "new", "gone")}
        entry.detail |= {**counts, "same": comparison.same}
        reason = worded(
            "sentences: {changed} changed, {new} new, {gone} gone, {same} the same", **counts, same=comparison.same
        )
        entry.summary = reason
    if not comparison.changes:
        text = phrase("same", language, old=older.ref.title, new=newer.ref.title, same=comparison.same)
        return Answer(decision="ANSWER", text=await _say(text, context), reason=reason)
    author = await step.author("document_changes", request.question)
    if not comparison.of_versions:
        return replace(await _side_by_side(older, newer, author, request, context), reason=reason)
    excerpts, told = await asyncio.to_thread(_changed_excerpts, comparison, author.room or 0, language)
    notes = list(compared_in_part(older, newer, language))
    if told < len(comparison.changes):
        notes.append(phrase("changes_in_part", language, count=len(comparison.changes), shown=told))
    answer = await step(
        Material(
            prompt="document_changes",
            question=request.question,
            author=author,
            excerpts=excerpts if author.model else (),
            quoted=lambda: differences(comparison, older, newer, language=language),
            lead="\n\n".join(notes),
            paired=lambda markers: paired(comparison.changes[:told], markers, language),
            rest=lambda text, markers: changes_left_out(comparison.changes[:told], text, markers, language),
        )
    )
    return replace(answer, reason=reason)


async def _side_by_side(
    first: WholeDocument, second: WholeDocument, author: Author, request: Request, context: Context
) -> Answer:
    """Of two documents that are no versions of one: from all of both, or from notes on them."""
    excerpts: list[Excerpt] = [
        one for each in (first, second) for one in excerpts_of(each.sections, title=each.ref.title)
    ]
    lead = ""
    if author.room is not None and not fit_one_prompt(excerpts, author.room):
        noted = [
            await TakeNotes(context)(
                ToNote(
                    excerpts_of(one.sections, title=one.ref.title), len(one.sections), request.question,
                    author.room // 2, one.ref.title,
                )
            )
            for one in (first, second)
        ]  # fmt: skip
        if failure := next((one.failure for one in noted if one.failure), ""):
            author = Author(failure=failure)
        excerpts = _fitting([note for one in noted for note in one.notes], author.room or 0)
        read, total = sum(one.read for one in noted), first.total + second.total
        lead = phrase("compared_in_part", context.language, read=read, sections=total) if read < total else ""
    return await WriteAboutDocuments(context)(
        Material(
            prompt="document_changes",
            question=request.question,
            author=author,
            excerpts=excerpts,
            quoted=lambda: side_by_side(first, second, language=context.language),
            lead=lead,
        )
    )


async def _list(document: WholeDocument, request: Request, context: Context) -> Answer:
    """What the patterns find, and what the model finds beside it; each in its place in the document."""
    step, language, wanted = WriteList(context), context.language, request.wanted
    author = await step.author("document_summary", request.question)
    noted = Noted((), len(document.sections))
    if author.model is not None:
        excerpts = excerpts_of(document.sections)
        sections, title = len(document.sections), document.ref.title
        to_note = ToNote(excerpts, sections, request.question, 0, title, prompt="document_items")
        noted = await TakeNotes(context)(to_note)
        if noted.failure:
            author = Author(failure=noted.failure)
    found = await asyncio.to_thread(_found, document, wanted, noted)
    # The patterns look through all that was loaded, the model perhaps through less: that is told in the path.
    read = len(document.sections)
    if not found:
        name = "none_found" if read >= document.total else "none_found_in_part"
        text = phrase(name, language, name=document.ref.title, read=read, sections=document.total)
        if author.failure:
            async with context.run.trace.step("generate") as entry:
                entry.degrade(author.failure)
        return await _no_answer(text, worded("the document holds nothing of this kind"), context)

    def quoted() -> Quoted:
        return listing(document, found, read=read, language=language)

    material = Material("document_items", request.question, author, (), quoted)
    return replace(await step(material), reason=_read_of(document, read))


def _read_of(document: WholeDocument, read: int) -> Sentence:
    if read >= document.total:
        return counted("its only section was read", "all {count} sections were read", document.total)
    return worded("the first {read} of {total} sections were read", read=read, total=document.total)


def _fitting(notes: Sequence[Excerpt], room: int) -> list[Excerpt]:
    """The notes, evenly taken where even their notes are too many for one prompt."""
    kept, every = list(notes), 1
    while kept and not fit_one_prompt(kept, room):
        every += 1
        kept = list(notes[::every])
    return kept


def _changed_excerpts(comparison: Comparison, room: int, language: Language) -> tuple[list[Excerpt], int]:
    """The chunks of the first changes that fit, each once, and how many changes these are."""
    excerpts: dict[str, Excerpt] = {}
    for told, change in enumerate(comparison.changes):
        both = [one for one in (change.old, change.new) if one is not None]
        room -= estimate_tokens(paired([change], dict.fromkeys((one.chunk.chunk_id for one in both), 99), language)) + 1
        added = excerpts | {one.chunk.chunk_id: Excerpt("", "", 0, one.chunk) for one in both}
        if room < 0 or len(added) > MOST_SOURCES:
            return list(excerpts.values()), told
        excerpts = added
    return list(excerpts.values()), len(comparison.changes)


def _found(document: WholeDocument, wanted: Wanted, noted: Noted) -> list[Found]:
    """In the document's order. A note that says nothing but words of one sentence or row is given as that one, with the
    names of the row's columns; a sentence of which the model has noted all figures is not listed a second time."""
    by_chunk: dict[str, list[Excerpt]] = {}
    found: dict[tuple[int, str], Found] = {}
    # What no pattern knows has often a section of its own: "Error codes".
    other = "other" in wanted.kinds
    own_sections = [other and is_headed(wanted.thing, section.heading) for section in document.sections]
    for number, section in enumerate(document.sections):
        statements = section.statements()
        for note in (part for one in noted.notes if one.section == number for part in _sentences(one)):
            quoted = _quoted_by(note, statements)
            text = quoted.text if quoted else note.text
            if not may_hold(text, wanted.kinds):
                continue
            by_chunk.setdefault(note.chunk.chunk_id, []).append(replace(note, text=text))
            found.setdefault((number, text), Found(text, section.heading, note.chunk))
        listed = statements
        if not own_sections[number]:
            listed = find(statements, wanted.kinds, wanted.thing, all_words=any(own_sections))
        for statement in listed:
            if not any(_tells(note, statement.text) for note in by_chunk.get(statement.chunk.chunk_id, ())):
                found.setdefault((number, statement.text), Found(statement.text, section.heading, statement.chunk))
    return list(found.values())


def _sentences(note: Excerpt) -> list[Excerpt]:
    """A model that copies a paragraph makes one note of several sentences."""
    return [replace(note, text=sentence) for sentence in split_sentences(note.text)]


def _quoted_by(note: Excerpt, statements: Sequence[Statement]) -> Statement | None:
    words = set(analyze(note.text))
    holding = [
        one
        for one in statements
        if one.chunk.chunk_id == note.chunk.chunk_id and words and words <= set(analyze(one.text))
    ]
    return min(holding, key=lambda one: len(one.text), default=None)


def _tells(note: Excerpt, statement: str) -> bool:
    numbers = known_numbers(statement)
    return bool(numbers) and numbers <= known_numbers(note.text)


# ------------------------------------------------------------------------------------------------ no document to read
async def _no_answer(text: str, reason: str, context: Context) -> Answer:
    async with context.run.trace.step("assess") as step:
        step.summary = worded("{verdict}: {reason}", verdict=VERDICTS["NO_ANSWER"], reason=reason)
        step.detail["verdict"] = "NO_ANSWER"
        step.detail |= {"decision": "NO_ANSWER", "reason": reason}  # closes the path
    return Answer(decision="NO_ANSWER", text=await _say(text, context), reason=reason)


async def _say(text: str, context: Context) -> str:
    writer = AnswerWriter(context.run.trace)
    await writer.write(text)
    await writer.finish()
    return writer.text
