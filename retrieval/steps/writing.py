"""Writing: how a model's answer reaches its reader, piece by piece. What has been sent is the answer.

The writing model begins with a mark: whether the passages answer. The reply is a JSON object of two strings, the mark
and the text, which the server's grammar enforces: `{"mark": "answer", "answer": "…"}`. So a small model can't forget
the mark. Text that is not of this form is an answer: in doubt the model writes.
Source: the reflection tokens of Self-RAG (Asai et al., ICLR 2024, arXiv:2310.11511).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, cast

from retrieval.errors import ModelCutError, ModelError
from retrieval.ports import ChatModel, Prompt
from retrieval.steps.grounding.alignment import Aligner
from retrieval.steps.grounding.citation_stream import CitedStream
from retrieval.steps.step import Deps
from retrieval.text.analysis import ScriptKeeper
from retrieval.text.quoting import estimate_tokens
from retrieval.trace import reason_text
from retrieval.values import Source

Mark = Literal["answer", "no_answer", "ask_back"]
MARKS: tuple[Mark, ...] = ("answer", "no_answer", "ask_back")
_HEAD = re.compile(rf'\s*\{{\s*"mark"\s*:\s*"({"|".join(MARKS)})"\s*(?:,\s*"answer"\s*:\s*"|\}})')
_HEAD_CHARS = 80  # a longer beginning without a mark is text
_HIGH, _LOW, _HEX = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}", r"\\u[0-9a-fA-F]{4}"
_BROKEN = r"\\u[0-9a-fA-F]{0,3}(?=[^0-9a-fA-F])"
# What can be decoded of a JSON string: to its end, or to an escape of which more is to come.
_WHOLE = re.compile(
    rf'(?:[^"\\]++|\\[^u]|{_HIGH}(?:{_LOW}|(?=[^\\]|\\[^u]|{_HEX}|{_BROKEN}))|(?!{_HIGH}){_HEX}|{_BROKEN})*+'
)
_ESCAPE = re.compile(rf'(\\["\\/bfnrt]|{_HIGH}{_LOW})|({_HIGH}|{_LOW})|({_HEX})|\\u[0-9a-fA-F]*|\\.', re.DOTALL)
HEARD_OUT = 40  # pieces behind a refusing mark: a reply that ends by itself leaves its connection open for the next


def marked_shape(*, may_ask_back: bool) -> Mapping[str, Any]:
    """The JSON schema of a marked reply."""
    marks = MARKS if may_ask_back else MARKS[:-1]
    properties = {"mark": {"enum": list(marks)}, "answer": {"type": "string"}}
    return {"type": "object", "properties": properties, "required": ["mark", "answer"], "additionalProperties": False}


class MarkReader:
    """Takes pieces of a reply and gives back the text in them. `mark`: None until it is read.

    All pieces put together give the same text however they are cut.
    """

    def __init__(self) -> None:
        self.mark: Mark | None = None
        self._reply = ""  # that was not given back yet
        self._is_json = False

    def feed(self, piece: str) -> str:
        self._reply += piece
        if self.mark is None:
            self._read_mark()
        return self._next() if self.mark else ""

    def finish(self) -> str:
        """What was held back at the end: of a reply that ends before its mark, all of it."""
        self.mark = self.mark or "answer"
        return self._next()

    def _read_mark(self) -> None:
        if match := _HEAD.match(self._reply):
            self.mark, self._is_json = cast("Mark", match[1]), True
            self._reply = self._reply[match.end() :]
        elif self._reply.lstrip()[:1] not in ("", "{") or len(self._reply) > _HEAD_CHARS:
            self.mark = "answer"

    def _next(self) -> str:
        if not self._is_json:
            text, self._reply = self._reply, ""
            return text
        whole = cast("re.Match[str]", _WHOLE.match(self._reply))[0]
        rest = self._reply[len(whole) :]
        self._reply = '"' if rest.startswith('"') else rest  # behind the string's end nothing is text
        return str(json.loads(f'"{_ESCAPE.sub(_escape, whole)}"', strict=False))


def _escape(found: re.Match[str]) -> str:
    """As JSON has it; "?" for half of a surrogate pair, nothing for what is no escape."""
    known, half, code = found.groups()
    return known or code or ("?" if half else "")


# ------------------------------------------------------------------------------------------------ writers


class AnswerWriter:
    """Emits a model's answer, a Chinese one in the script of the answer's language. Each sentence gets the citations of
    the passages that bear it out, when it is complete; the model's own markers are a hint (`steps.grounding`).

    text: what has been emitted. marked: the reply begins with a mark, which is held back until it is read; sources go
    to the reader before the first word of an answer, not at all where the model refuses. released: called before that
    word.
    """

    def __init__(
        self,
        deps: Deps,
        *,
        sources: Sequence[Source],
        question: str,
        marked: bool = False,
        released: Callable[[], object] | None = None,
    ) -> None:
        self.text = ""
        self.aligner = Aligner(sources, question=question, models=deps.models)
        self._trace = deps.trace
        self._sources = tuple(sources)
        self._released = released
        self._reader = MarkReader() if marked else None
        self._script = ScriptKeeper(deps.language)
        self._cited = CitedStream(self.aligner, markers={source.marker for source in sources})

    @property
    def mark(self) -> Mark | None:
        return self._reader.mark if self._reader else None

    @property
    def refuses(self) -> bool:
        """Whether nothing more is to be read of the reply."""
        return self.mark in ("no_answer", "ask_back")

    async def write(self, piece: str) -> None:
        """A piece of the model's reply."""
        text = self._reader.feed(piece) if self._reader else piece
        if not self.refuses:
            await self._emit(await self._cited.feed(self._script.feed(text)))

    async def finish(self, *, whole: bool = True) -> None:
        rest = self._reader.finish() if self._reader else ""
        if not self.refuses:
            last = await self._cited.feed(self._script.feed(rest) + self._script.finish())
            await self._emit(last + await self._cited.finish(whole=whole))

    async def _emit(self, content: str) -> None:
        content = content if self.text else content.lstrip()
        if content and not self.text and self._reader:
            if self._released:
                self._released()
            await self._trace.choose_sources(self._sources)
        if content:
            self.text += content
            await self._trace.emit_chunk(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who writes. room: tokens that the passages may have; None: no model reads them, for the reason in `failure`."""

    model: ChatModel | None = None
    room: int | None = None
    failure: str = ""


async def author_of(deps: Deps, frame: Callable[[], Prompt]) -> Author:
    """frame: the prompt without passages. Never raises a ModelError."""
    try:
        async with asyncio.timeout(deps.deadline.remaining()):
            model = await deps.models.chat("answer")
        prompt = frame()
    except ModelError as error:
        return Author(failure=error.reason)
    except TimeoutError:
        return Author(failure=reason_text("no_time_left"))
    return Author(model=model, room=max(0, model.prompt_budget - estimate_tokens(prompt.system + prompt.user)))


@dataclass(frozen=True, slots=True)
class Ended:
    """How a model's writing ended. failure: why it failed or broke off, "" where it is whole. cut: it reached its
    length limit. model: its name; "" where none wrote."""

    failure: str = ""
    cut: bool = False
    model: str = ""


async def write_by_model(
    deps: Deps,
    author: Author,
    prompt: Callable[[], Prompt],
    writer: AnswerWriter,
    *,
    shape: Mapping[str, object] | None = None,
) -> Ended:
    """Write the model's answer; shape: see `ChatModel.stream`. Never raises a ModelError.

    Cancelling closes the model's connection. At the deadline the answer ends where it is.
    """
    if author.model is None:
        return Ended(author.failure)
    failure, cut, refused = "", False, 0
    try:
        stream: AsyncGenerator[str, None] = author.model.stream(prompt(), shape=shape)
        async with asyncio.timeout(deps.deadline.remaining()), aclosing(stream) as pieces:
            async for piece in pieces:
                await writer.write(piece)
                refused += writer.refuses
                if refused > HEARD_OUT:
                    break
    except ModelError as error:
        failure, cut = error.reason, isinstance(error, ModelCutError)
    except TimeoutError:
        failure = reason_text("time_was_over")
    await writer.finish(whole=not failure)
    if not writer.text and not writer.refuses:
        failure = failure or reason_text("empty_answer")
    return Ended(failure, cut, author.model.name)
