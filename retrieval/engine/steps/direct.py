"""Direct: a reply that needs no documents, to "hello", "thanks", "what can you do?".

No list of words tells such a message: the index knows whether any term of it stands in a document. Where none does, a
model that is connected says whether documents are asked for at all, and replies; without one the text of the help
stands in place of random passages, and what is near in meaning is listed as sources.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.engine.errors import IndexUnavailableError, ModelError
from retrieval.engine.ports import Prompt, SearchRequest
from retrieval.engine.steps.answer import as_sources, written_answer
from retrieval.engine.steps.memory import quote_memories
from retrieval.engine.steps.passages import NEAREST
from retrieval.engine.steps.query import route
from retrieval.engine.steps.retrieve import search_documents
from retrieval.engine.steps.step import Deps, step
from retrieval.engine.steps.writing import AnswerWriter, author_of, write_by_model
from retrieval.engine.text.analysis import search_terms
from retrieval.engine.text.languages import HAN_CHARACTER
from retrieval.engine.text.phrases import phrase
from retrieval.engine.text.quoting import one_line, quote_history
from retrieval.engine.trace import degrade, note, reason_text
from retrieval.engine.values import Answer, Query, Question, RememberedFact, Source

NAMES_SHOWN = 8  # collections


async def reply_without_search(deps: Deps, question: Question, *, asks_model: bool) -> Answer | None:
    """A direct reply, or the help; None for what is to be looked up in the documents. Never raises a ModelError.

    asks_model: where one is connected, whether it is asked here; else the workflow does.
    """
    if not _has_documents(question) or question.filters.documents or question.open_clarification:
        return None
    if await _is_in_documents(deps, question):
        return None
    try:
        await deps.models.chat("answer")
    except ModelError:
        return await give_help(deps, question)
    if not asks_model:
        return None
    vocabulary = await deps.store.vocabulary(question.scope)
    if not (await route(deps, question, question.filters, vocabulary, ())).direct:
        return None
    return await respond_directly(deps, question, ()) or await give_help(deps, question)


@step("generate")
async def respond_directly(deps: Deps, question: Question, memories: Sequence[RememberedFact]) -> Answer | None:
    """None where no model can write it: nothing but a model can reply from a conversation."""

    def prompt() -> Prompt:
        return deps.prompt(
            "direct_answer",
            memories=quote_memories(memories),
            history=quote_history(question.history),
            help=help_text(deps, question),
            question=one_line(question.standalone),
        )

    writer = AnswerWriter(deps, sources=(), question=question.standalone)  # takes the model's markers out
    ended = await write_by_model(deps, await author_of(deps, prompt), prompt, writer)
    if ended.failure:
        degrade(ended.failure)
    if not writer.text:
        note("no_direct_reply")
        return None
    return written_answer(writer.text, (), ended, reason=reason_text("no_documents_needed"))


# ------------------------------------------------------------------------------------------------ help
async def give_help(deps: Deps, question: Question) -> Answer | None:
    """The help, and what is near in meaning as sources; None where a search finds nothing at all: then that is what is
    to be said."""
    text = help_text(deps, question)
    sources: tuple[Source, ...] = ()
    if search_terms(question.standalone):
        request = SearchRequest(queries=(Query(question.standalone),), scope=question.scope, top_k=NEAREST)
        found = (await search_documents(deps, request)).candidates
        if not found:
            return None
        sources = as_sources(found)
        await deps.trace.choose_sources(sources)
        text += "\n\n" + phrase("near_in_meaning", deps.language)
    await deps.trace.emit_chunk(text)
    return Answer(decision="ANSWER", text=text, sources=sources, reason=reason_text("no_word_found"))


def help_text(deps: Deps, question: Question) -> str:
    """What is searched, and three things to try."""
    searched = [ref.name for ref in question.scope.collections if ref.documents and not ref.attached]
    names = ", ".join(map(one_line, searched[:NAMES_SHOWN])) + (" …" if len(searched) > NAMES_SHOWN else "")
    return phrase("help", deps.language, count=question.scope.documents, names=names or "-")


def _has_documents(question: Question) -> bool:
    return any(ref.space is not None for ref in question.scope.collections)


async def _is_in_documents(deps: Deps, question: Question) -> bool:
    """Whether a term of the message stands in a document; where the index is away, the search is to say so."""
    terms = search_terms(question.standalone)
    words = [term for term in terms if len(term) > 1 or not HAN_CHARACTER.match(term)]
    alone = sum(map(str.isalnum, question.standalone)) <= 1
    if not words and not alone:  # a single Chinese character of a longer message is no word of its own
        return False
    try:
        return await deps.searcher.holds_any(words or terms, question.scope)
    except IndexUnavailableError:
        return True
