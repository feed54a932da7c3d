"""Direct: a reply that needs no documents, to "hello", "thanks", "what can you do?".

No list of words tells such a message: the index knows whether any term of it stands in a document. Where none does, a
model that is connected says whether documents are asked for at all, and replies. Without one the help is given, which
also serves where passages are shown above it: those that are nearest in meaning, of a message that asks something, or
that comes near enough to one of them. Of any other they are listed as sources.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from retrieval.engine.deps import Deps
from retrieval.engine.errors import (
    EmbeddingUnavailableError,
    IndexUnavailableError,
    ModelError,
)
from retrieval.engine.path_details import GenerateDetails
from retrieval.engine.ports import Prompt, SearchRequest
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.engine.reasons import Reason, reason_of
from retrieval.engine.steps.answer.appending import append_text, with_passages
from retrieval.engine.steps.answer.generate import note_shown, written_answer
from retrieval.engine.steps.answer.quote import (
    NEAREST,
    SHOWN_CHARS,
    Shown,
    best_sources,
    show_passages,
)
from retrieval.engine.steps.answer.sources import as_sources
from retrieval.engine.steps.answer.streaming import (
    AnswerWriter,
    author_of,
    write_by_model,
)
from retrieval.engine.steps.grounding.alignment import (
    EMBEDDER_IS_SLOW,
    EMBEDDING_TIMEOUT_S,
)
from retrieval.engine.steps.memory import quote_memories
from retrieval.engine.steps.query.route import route
from retrieval.engine.steps.retrieve.search import search_documents
from retrieval.engine.steps.step import step
from retrieval.engine.text.analysis import search_terms
from retrieval.engine.text.languages import HAN_CHARACTER
from retrieval.engine.text.phrases import phrase
from retrieval.engine.text.quoting import one_line, quote_history
from retrieval.engine.text.sentences import QUESTION_MARKS
from retrieval.engine.trace import degrade, note, running_entry
from retrieval.engine.values import Answer, AnswerSource, Query, Question, RememberedFact

NAMES_SHOWN = 8  # collections
# Cosine by the built-in model from which a passage is near in meaning. Over the sample handbook greetings in six
# languages have .17 at most, questions in another language than their documents .24 or more.
NEAR = 0.2


async def reply_without_search(
    deps: Deps, question: Question, *, asks_model: bool
) -> Answer | None:
    """A direct reply, or the help; None for what is to be looked up in the documents. Never raises a ModelError.

    asks_model: where one is connected, whether it is asked here; else the workflow does.
    """
    filters = question.filters
    names_documents = bool(filters.documents or filters.preferred)
    if not _has_documents(question) or names_documents or question.open_clarification:
        return None
    if await _is_in_documents(deps, question):
        return None
    try:
        await deps.models.chat("answer")
    except ModelError as error:
        return await give_help(deps, question, why=reason_of(error))
    if not asks_model:
        return None
    vocabulary = await deps.store.vocabulary(question.scope)
    if not (await route(deps, question, filters, vocabulary, ())).direct:
        return None
    return await respond_directly(deps, question, ()) or await _help_alone(deps, question)


@step("generate")
async def respond_directly(
    deps: Deps, question: Question, memories: Sequence[RememberedFact]
) -> Answer | None:
    """None where no model can write it: nothing but a model can reply from a conversation."""

    def prompt() -> Prompt:
        return deps.writing_prompt(
            "direct_answer",
            memories=quote_memories(memories),
            history=quote_history(question.history),
            help=help_text(deps, question),
            question=one_line(question.standalone),
        )

    writer = AnswerWriter(
        deps, sources=(), question=question.standalone
    )  # takes the model's markers out
    ended = await write_by_model(deps, await author_of(deps, prompt), prompt, writer)
    if ended.failure:
        degrade(ended.failure)
    if not writer.text:
        note("no_direct_reply")
        return None
    return written_answer(writer.text, (), ended, reason=Reason("no_documents_needed"))


async def give_help(deps: Deps, question: Question, *, why: Reason) -> Answer | None:
    """The help, and what is nearest in meaning; None where a search finds nothing at all: then that is what is to be
    said. why: no model writes."""
    if not search_terms(question.standalone):  # nothing that the index gives any weight
        return await _help_alone(deps, question)
    request = SearchRequest(
        queries=(Query(question.standalone),),
        scope=question.scope,
        filters=question.filters,
        top_k=NEAREST,
    )
    result = await search_documents(deps, request)
    if not result.candidates:
        return None
    return await _with_nearest(deps, question, as_sources(result.candidates), why=why)


@step("generate")
async def _help_alone(deps: Deps, question: Question) -> Answer:
    text = help_text(deps, question)
    note("help_given", GenerateDetails(help=True, model="", partial=False))
    await deps.trace.emit_chunk(text)
    return Answer(decision="ANSWER", text=text, reason=Reason("no_word_found"))


@step("generate")
async def _with_nearest(
    deps: Deps, question: Question, sources: tuple[AnswerSource, ...], *, why: Reason
) -> Answer:
    """The help below the passages as they stand, where they are asked for or near; else they are listed under it. The
    sign of a question decides what stands first, and leaves nothing out."""
    text = help_text(deps, question)
    answer = Answer(decision="ANSWER", text="", sources=sources, reason=Reason("no_word_found"))
    degrade(why)
    await deps.trace.choose_sources(sources)
    if question.standalone.rstrip().endswith(QUESTION_MARKS) or await _are_near(
        deps, question, sources
    ):
        shown = await show_passages(
            deps, question, best_sources(sources), among=sources, chars=SHOWN_CHARS
        )
        below = Shown(f"{shown.text}\n\n{text}", shown.grounding)
        answer = await with_passages(
            deps, answer, phrase("no_model", deps.language) + "\n\n", below
        )
    else:
        answer = await append_text(
            deps, answer, f"{text}\n\n{phrase('near_in_meaning', deps.language)}"
        )
    cited = [source.marker for source in answer.sources if source.cited]
    note_shown(cited, of=len(sources))
    if not cited:
        running_entry().add(GenerateDetails(help=True))
    return answer


async def _are_near(deps: Deps, question: Question, sources: Sequence[AnswerSource]) -> bool:
    """Whether one of them is; no where that can't be found out, which the running step's entry says."""
    try:
        async with asyncio.timeout(EMBEDDING_TIMEOUT_S):
            embedder = await deps.models.embedder(BUILTIN_SPACE)
            passages = await embedder.embed_documents([source.chunk.text for source in sources])
            meaning = await embedder.embed_queries([question.standalone])
    except (EmbeddingUnavailableError, TimeoutError) as error:
        degrade(reason_of(error, late=EMBEDDER_IS_SLOW))
        return False
    return bool((passages @ meaning[0]).max() >= NEAR)


def help_text(deps: Deps, question: Question) -> str:
    """What is searched, and three things to try."""
    searched = [
        ref.name for ref in question.scope.collections if ref.documents and not ref.attached
    ]
    names = ", ".join(map(one_line, searched[:NAMES_SHOWN]))
    if len(searched) > NAMES_SHOWN:
        names += " …"
    return phrase("help", deps.language, count=question.scope.documents, names=names or "-")


def _has_documents(question: Question) -> bool:
    return any(ref.space is not None for ref in question.scope.collections)


async def _is_in_documents(deps: Deps, question: Question) -> bool:
    """Whether a term of the message stands in a document; where the index is away, the search is to say so."""
    terms = search_terms(question.standalone)
    words = [term for term in terms if len(term) > 1 or not HAN_CHARACTER.match(term)]
    alone = sum(map(str.isalnum, question.standalone)) <= 1
    if (
        not words and not alone
    ):  # a single Chinese character of a longer message is no word of its own
        return False
    try:
        return await deps.searcher.holds_any(words or terms, question.scope)
    except IndexUnavailableError:
        return True
