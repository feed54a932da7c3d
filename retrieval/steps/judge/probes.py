"""Questions of which it is known whether passages answer them: what a model says of these tells what its word is worth.

Each three passages come with two questions: one that they answer, mostly in other words (`held`), and one about the
same thing, in their very words, whose answer they do not state (`absent`). The second sort is what judges get wrong:
small models say yes to all that is about the topic. The texts are made for this, and nothing else is tuned on them.

Source: gold questions with known answers among a worker's tasks, to weigh the worker's judgements (Oleson et al.,
"Programmatic Gold", HCOMP 2011).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from retrieval.answerability import Estimate
from retrieval.errors import ModelOutputError
from retrieval.steps.judge.judge import Rerank, Retrieved
from retrieval.steps.step import Context
from retrieval.text.answer_language import Language
from retrieval.time_left import ends_within
from retrieval.values import ScoredChunk, StoredChunk

FILE = Path(__file__).with_name("probes.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """number: its place, from 0. held: whether the passages state what is asked for."""

    number: int
    language: Language
    question: str
    held: bool
    passages: tuple[ScoredChunk, ...]


@lru_cache(maxsize=1)
def probes() -> tuple[Probe, ...]:
    """All, two after each other with the same passages, which the server then has read already; held and absent, and
    the languages, in turns, so that the first few say something of each."""
    found: list[Probe] = []
    groups: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    for place, group in enumerate(groups):
        passages = tuple(
            ScoredChunk(
                chunk=StoredChunk(
                    chunk_id=f"probe-{place}-{seq}",
                    document_id=f"probe-{place}-{seq}",
                    collection_id="",
                    seq=seq,
                    title=passage["title"],
                    text=passage["text"],
                    language=group["language"],
                )
            )
            for seq, passage in enumerate(group["passages"])
        )
        found += [
            Probe(
                number=2 * place + second,
                language=group["language"],
                question=group["absent" if second else "held"],
                held=not second,
                passages=passages,
            )
            for second in (0, 1)
        ]
    return tuple(found)


async def form(context: Context) -> str:
    """By what the model is asked now: another prompt, kind of judgement or set of probes makes another form, of which
    what was said before tells nothing. 16 hex digits. Raises ModelError."""
    name, weighed = await Rerank(context).asked_by()
    languages = sorted({probe.language for probe in probes()})
    empty = {"passages": "", "question": "", "count": 0}
    prompts = [context.tools.prompts.render(name, language=language, **empty).hash for language in languages]
    parts = [name, str(weighed), *prompts, await asyncio.to_thread(FILE.read_text, encoding="utf-8")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


async def ask(context: Context, probe: Probe) -> bool | None:
    """What the fast model says, asked as it is in an answer. None: its reply is no judgement.

    Raises another ModelError where there is no reply; TimeoutError after the time that a structured call has.
    """
    limit_s = context.tools.settings.ollama.structured_timeout_s
    rerank = Rerank(replace(context, language=probe.language))
    given = Retrieved(question=probe.question, passages=probe.passages)
    even = Estimate(passages=[0.5] * len(probe.passages), answerability=0.5)
    async with context.run.trace.step("rerank") as entry:
        try:
            with ends_within(limit_s):
                async with asyncio.timeout(limit_s):
                    return (await rerank.word(given, probe.passages, even, entry)).yes
        except ModelOutputError as error:
            entry.degrade(error.reason)
            return None
