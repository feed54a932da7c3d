"""Candidates: questions that passages answer and nobody has asked yet. Without a model there are none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import BaseModel

from retrieval.engine.deps import Deps
from retrieval.engine.errors import EmbeddingUnavailableError
from retrieval.engine.providers.builtin import embed_texts
from retrieval.engine.providers.reply_form import exactly
from retrieval.engine.steps.query.queries import QueryText, distinct
from retrieval.engine.text.quoting import estimate_tokens, one_line, quote_history, quote_source
from retrieval.engine.text.same_question import KnownQuestions, Wording, wording
from retrieval.engine.values import HistoryMessage, StoredChunk

CANDIDATES = 4  # the prompt names the number, too
PASSAGES = 6  # that are shown
PASSAGE_TOKENS = 1800  # and their length together
QUESTION_CHARS = 200


class NextQuestions(BaseModel):
    questions: list[QueryText]


async def next_questions(
    deps: Deps,
    passages: Sequence[StoredChunk],
    *,
    about: str,
    history: Sequence[HistoryMessage] = (),
) -> list[str]:
    """What a reader could ask next of these passages, without what the conversation has asked; at most CANDIDATES.

    about: what was asked last, or what the passages are about, in whose language it is asked. Raises ModelError.
    """
    reply = await deps.complete(
        "next_questions",
        exactly(NextQuestions, "questions", CANDIDATES),
        passages="\n\n".join(_quoted(passages)),
        history=quote_history(history),
        question=one_line(about),
    )
    short = [text for text in distinct(reply.questions) if len(text) <= QUESTION_CHARS]
    asked = [message.text for message in history if message.role == "user"]
    return await asyncio.to_thread(without_known, short[:CANDIDATES], asked)


def without_known(texts: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Those that want another answer than each of `asked`, and than those before them."""
    known = _wordings(asked)
    kept = []
    for text, candidate in zip(texts, _wordings(texts), strict=True):
        if not KnownQuestions(dict(enumerate(known))).same(candidate):
            known.append(candidate)
            kept.append(text)
    return kept


def _wordings(texts: Sequence[str]) -> list[Wording]:
    """By their words alone where the built-in model cannot be used."""
    try:
        vectors = embed_texts(texts)
    except EmbeddingUnavailableError:
        return [wording(text) for text in texts]
    return [wording(text, vector) for text, vector in zip(texts, vectors, strict=True)]


def _quoted(passages: Sequence[StoredChunk]) -> list[str]:
    quoted: list[str] = []
    left = PASSAGE_TOKENS
    for number, passage in enumerate(passages[:PASSAGES], start=1):
        text = quote_source(number, passage)
        left -= estimate_tokens(text)
        if left < 0 and quoted:
            break
        quoted.append(text)
    return quoted
