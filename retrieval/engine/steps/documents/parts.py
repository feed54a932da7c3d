"""Documents in parts that fit a prompt each, which a model reads side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ragsite.core.messages import worded
from retrieval.engine.deps import Deps
from retrieval.engine.steps.documents.excerpts import Excerpt
from retrieval.engine.steps.step import try_call
from retrieval.engine.text.phrases import Language, in_script_of
from retrieval.engine.text.quoting import attribute
from retrieval.engine.values import AnswerSource, Scores

MOST_SOURCES = 40  # passages that one answer may cite
MOST_PARTS = 40  # calls that read a document
PART_TOKENS = 2400  # of one call, where MOST_PARTS of them are enough: more take a small model long
PROMPT_TOKENS = 300  # of the instructions around a part
GIVE_UP = 3  # calls that fail from the first on: this model can't do it
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Readings(Generic[Result]):
    """What was made of each part: None where the model could not read it. read: sections, from the first on."""

    parts: list[tuple[Sequence[Excerpt], Result | None]]
    read: int

    @property
    def failed(self) -> bool:
        """Whether the model could read none."""
        return all(result is None for _, result in self.parts)


def fit_one_prompt(excerpts: Sequence[Excerpt], room: int) -> bool:
    return (
        len(sources_of(excerpts)) <= MOST_SOURCES
        and sum(excerpt.tokens for excerpt in excerpts) <= room
    )


def sources_of(excerpts: Iterable[Excerpt]) -> tuple[AnswerSource, ...]:
    """Their chunks, each once, with markers from 1."""
    chunks = {excerpt.chunk.chunk_id: excerpt.chunk for excerpt in excerpts}
    return tuple(
        AnswerSource(marker=number, chunk=chunk, scores=Scores())
        for number, chunk in enumerate(chunks.values(), start=1)
    )


def quoted_passages(excerpts: Sequence[Excerpt], markers: Iterable[int], language: Language) -> str:
    """What stands between the <passages> tags, each document's behind its title."""
    parts = list[str]()
    title = None
    for excerpt, marker in zip(excerpts, markers, strict=True):
        if excerpt.chunk.title != title:
            title = excerpt.chunk.title
            parts.append(f'<document title="{attribute(title)}">')
        parts.append(excerpt.quoted(marker))
    return in_script_of("\n\n".join(parts), language)


def parts_of(excerpts: Sequence[Excerpt], room: int) -> list[list[Excerpt]]:
    """In order, each part as long as fits the room. Of a long document they are longer, if the room allows."""
    target = max(PART_TOKENS, sum(excerpt.tokens for excerpt in excerpts) // (MOST_PARTS - 1))
    parts = list[list[Excerpt]]()
    left = 0
    size = max(PROMPT_TOKENS, min(target, room - PROMPT_TOKENS))
    for excerpt in excerpts:
        if not parts or excerpt.tokens > left:
            parts.append([])
            left = size
        parts[-1].append(excerpt)
        left -= excerpt.tokens
    return parts


async def read_parts(
    deps: Deps,
    parts: Sequence[Sequence[Excerpt]],
    read: Callable[[Sequence[Excerpt]], Coroutine[Any, Any, Result]],
) -> Readings[Result]:
    """The first MOST_PARTS, as many at a time as the site asks its model server at once; each reports the
    progress. The running step's entry says why a part could not be read."""
    limiter = asyncio.Semaphore(deps.settings.ollama.max_concurrency)
    sections = parts[-1][-1].section + 1
    done = list[tuple[int, Result | None]]()

    async def tell() -> None:
        read = max((section for section, _ in done), default=0)
        await deps.trace.announce(
            "read",
            worded("Read {read} of {total} sections", read=read, total=sections),
        )

    async def work(part: Sequence[Excerpt]) -> Result | None:
        async with limiter:
            if len(done) >= GIVE_UP and all(result is None for _, result in done):
                return None
            result = await try_call(deps, read(part))
            done.append((part[-1].section + 1, result))
            await tell()
            return result

    await tell()  # the first part takes a model as long as any
    results = await asyncio.gather(*map(work, parts[:MOST_PARTS]))
    seen = sections if len(parts) <= MOST_PARTS else max(1, parts[MOST_PARTS][0].section)
    return Readings(list(zip(parts, results, strict=False)), seen)
