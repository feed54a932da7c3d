"""Writing: how a model's answer reaches its reader, piece by piece. What has been sent is the answer.

The writing model replies in Markdown, or with one word that says why it does not: NO_ANSWER, UNCLEAR. A reply is held
back only as long as it can still become one of these words; everything else is text from its first token on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from retrieval.engine.errors import ModelCutError, ModelError
from retrieval.engine.ports import ChatModel, Prompt
from retrieval.engine.steps.grounding.alignment import Aligner
from retrieval.engine.steps.grounding.citation_stream import CitedStream
from retrieval.engine.steps.grounding.claims import brackets_of
from retrieval.engine.steps.step import Deps
from retrieval.engine.text.fences import Unwrapper
from retrieval.engine.text.phrases import ScriptKeeper
from retrieval.engine.text.quoting import estimate_tokens
from retrieval.engine.trace import reason_text
from retrieval.engine.values import Source

Verdict = Literal["no_answer", "unclear"]
WayOut = Literal["ask_back", "refuse", "none"]  # the words that the model is offered in place of an answer
HEARD_OUT = 40  # pieces behind a verdict: a reply that ends by itself leaves its connection open for the next
MAX_HELD = 64  # characters of a beginning that may become a verdict
EAST_ASIAN_LABEL = 4  # characters of "最终回答"; other labels are a word or two
_WORDS: dict[Verdict, str] = {"no_answer": "NO_ANSWER", "unclear": "UNCLEAR"}
_WRITTEN = {verdict: re.compile(word.replace("_", r"\\?[_ -]"), re.IGNORECASE) for verdict, word in _WORDS.items()}
_JOINT = re.compile(r"\\?[_ -]|\\\Z")
_SIGNS = re.compile(r"[\W_]*+")  # white space, Markdown, quotation marks
_LABEL = re.compile(r"[\W_]*+[^\W\d_]{1,12}(?: [^\W\d_]{1,12})?(?! \w)[\W_]+")  # "Answer: ", "**Final answer**"
_LABEL_BEGUN = re.compile(r"[\W_]*+(?P<words>[^\W\d_]{0,12}(?: [^\W\d_]{0,12})?)")
_GOES_ON = re.compile(r"_*[^\W_]")
_EAST_ASIAN = re.compile(r"[\u2e80-\uffff]")


class VerdictReader:
    """Takes pieces of a reply and gives back its text. verdict: the word that the reply consists of, or begins with.

    White space, Markdown and a label may stand before the word. All pieces put together give the same text however they
    are cut.
    """

    def __init__(self) -> None:
        self.verdict: Verdict | None = None
        self._held = ""
        self._is_text = False

    def feed(self, piece: str) -> str:
        if self._is_text or self.verdict:
            return piece if self._is_text else ""
        self._held += piece
        return self._read(is_last=False)

    def finish(self, *, whole: bool) -> str:
        """What was held back. whole: False of a reply that broke off, in a word that may have become a verdict."""
        if not whole:
            self._held = ""
        return "" if self._is_text or self.verdict else self._read(is_last=True)

    def _read(self, *, is_last: bool) -> str:
        is_long = len(self._held) > MAX_HELD
        found = _verdict(self._held[:MAX_HELD], is_last=is_last and not is_long)
        if found == "text" or (is_long and found is None):
            self._is_text = True
            text = self._held
            self._held = ""
            return text
        self.verdict = found
        return ""


def _verdict(reply: str, *, is_last: bool) -> Verdict | Literal["text"] | None:
    """None: more has to come first."""
    readings = [_word(reply, is_last=is_last)]
    if label := _LABEL.match(reply):
        readings.append(_word(reply[label.end() :], is_last=is_last))
    elif not is_last and _may_become_label(reply):
        readings.append(None)
    for reading in readings:
        if reading in _WORDS:
            return reading
    return None if None in readings and not is_last else "text"


def _may_become_label(reply: str) -> bool:
    begun = _LABEL_BEGUN.fullmatch(reply)
    if begun is None:
        return False
    return len(begun["words"]) <= EAST_ASIAN_LABEL or not _EAST_ASIAN.search(begun["words"])


def _word(reply: str, *, is_last: bool) -> Verdict | Literal["text"] | None:
    """Written otherwise than in capitals or with the underscore ("No answer.", "Unclear"), the words are a verdict only
    where nothing else is said."""
    begun = reply[_end_of_signs(reply) :]
    folded = _JOINT.sub("_", begun.upper())
    for verdict, word in _WORDS.items():
        if word.startswith(folded) and not is_last:
            return None
        written = _WRITTEN[verdict].match(begun)
        if written is None or _GOES_ON.match(begun, written.end()):
            continue
        rest = begun[written.end() :]
        if not rest.strip("_") and not is_last:
            return None
        if "_" in written[0] or written[0].isupper():
            return verdict
        if _end_of_signs(rest) == len(rest):
            return verdict if is_last else None
    return "text"


def _end_of_signs(text: str) -> int:
    signs = _SIGNS.match(text)
    return signs.end() if signs else 0


# ------------------------------------------------------------------------------------------------ writers


class AnswerWriter:
    """Emits a model's answer, a Chinese one in the script of the answer's language. Each sentence gets the citations of
    the passages that bear it out, when it is complete; the model's own markers are a hint (`steps.grounding`).

    text: what has been emitted. may_refuse: the reply may be a verdict in place of an answer; sources go to the reader
    before the first word of an answer, not at all where the model refuses.
    """

    def __init__(
        self,
        deps: Deps,
        *,
        sources: Sequence[Source],
        question: str,
        may_refuse: bool = False,
    ) -> None:
        self.text = ""
        self.aligner = Aligner(sources, question=question, models=deps.models)
        self._trace = deps.trace
        self._sources = tuple(sources)
        self._may_refuse = may_refuse
        self._language = deps.language
        self._begin()

    def _begin(self) -> None:
        self._reader = VerdictReader() if self._may_refuse else None
        self._unwrapper = Unwrapper()
        self._script = ScriptKeeper(self._language)
        self._cited = CitedStream(self.aligner, brackets=brackets_of(self._sources))

    @property
    def verdict(self) -> Verdict | None:
        """Where there is one, nothing more is to be read of the reply."""
        return self._reader.verdict if self._reader else None

    async def write(self, piece: str) -> None:
        """A piece of the model's reply."""
        text = self._reader.feed(piece) if self._reader else piece
        if text := self._unwrapper.feed(text):
            await self._emit(await self._cited.feed(self._script.feed(text)))

    async def withdraw(self) -> None:
        """What was written so far were a model's thoughts."""
        if self.text:
            await self._trace.withdraw_chunks()
        self.text = ""
        self._begin()

    async def finish(self, *, whole: bool = True) -> None:
        rest = self._reader.finish(whole=whole) if self._reader else ""
        if not self.verdict:
            rest = self._unwrapper.feed(rest) + self._unwrapper.finish()
            last = await self._cited.feed(self._script.feed(rest) + self._script.finish())
            await self._emit(last + await self._cited.finish(whole=whole))

    async def _emit(self, content: str) -> None:
        content = content if self.text else content.lstrip()
        if content and not self.text and self._reader:
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
) -> Ended:
    """Write the model's answer. Never raises a ModelError.

    Cancelling closes the model's connection. At the deadline the answer ends where it is.
    """
    if author.model is None:
        return Ended(author.failure)
    failure = ""
    cut = False
    behind_verdict = 0
    try:
        stream: AsyncGenerator[str | None, None] = author.model.stream(prompt())
        async with asyncio.timeout(deps.deadline.remaining()), aclosing(stream) as pieces:
            async for piece in pieces:
                await (writer.withdraw() if piece is None else writer.write(piece))
                behind_verdict += writer.verdict is not None
                if behind_verdict > HEARD_OUT:
                    break
    except ModelError as error:
        failure = error.reason
        cut = isinstance(error, ModelCutError)
    except TimeoutError:
        failure = reason_text("time_was_over")
    await writer.finish(whole=not failure)
    if not writer.text and not writer.verdict:
        failure = failure or reason_text("empty_answer")
    return Ended(failure, cut, author.model.name)
