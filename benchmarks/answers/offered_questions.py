"""Of the questions that are offered below answers: how many are answered when somebody clicks them.

    python -m benchmarks.offered_questions http://127.0.0.1:11434 [--labelled] [--samples 34] [--data FOLDER] [--json]

The sample handbook's answerable questions are asked in turn. Below each answer the model's own questions are tried, as
the site does; with `--labelled`, for a server that can't make any, four others of the handbook's, some of which have no
answer. What is kept is clicked: asked behind the answer, by the default workflow. The baseline, in the first row, is
the same without trying: all that were to be offered.

    answered  NO_ANSWER and questions back are none
    right     with `--labelled`: of what was offered, the questions that have an answer
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.answers.sample_answers import sample_site, then_close
from benchmarks.support.tables import show

if TYPE_CHECKING:  # Django is set up first
    from retrieval.engine.values import Answer, Question, SearchScope

SEED = 7
LABELLED = 4  # candidates below an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """A candidate: whether it was kept, whether it was answered when asked, and whether it has an answer, if known."""

    text: str
    kept: bool
    answered: bool
    answerable: bool | None


async def answered(question: Question) -> Answer:
    from retrieval.compose import get_engine
    from retrieval.engine.trace import Trace
    from retrieval.engine.workflows.registry import get_workflow

    return await get_workflow("corrective").answer(question, engine=get_engine(), trace=Trace())


async def clicks(
    entry: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
    *,
    scope: SearchScope,
    chance: random.Random | None,
) -> list[Click]:
    """chance: chooses labelled candidates; None: the model makes them."""
    from retrieval.compose import get_engine
    from retrieval.engine.steps.offer.candidates import next_questions
    from retrieval.engine.steps.offer.trial import try_question
    from retrieval.engine.trace import Trace
    from retrieval.engine.values import HistoryMessage, Question
    from retrieval.engine.workflows.base import language_of

    first = Question(text=entry["question"], scope=scope)
    answer = await answered(first)
    if answer.decision != "ANSWER":
        return []
    said = (HistoryMessage("user", first.text), HistoryMessage("assistant", answer.text))
    following = replace(first, history=said)
    deps = get_engine().for_answer(Trace(), timeout_s=3600, language=language_of(first))
    if chance:
        alike = [
            one for one in entries if one is not entry and one["language"] == entry["language"]
        ]
        candidates = chance.sample(alike, min(LABELLED, len(alike)))
        labels = {one["question"]: one["expects"] == "ANSWER" for one in candidates}
    else:
        passages = [source.chunk for source in answer.sources if not source.cited]
        texts = await next_questions(deps, passages, about=first.text, history=said)
        labels = dict.fromkeys(texts)
    found = []
    for text, answerable in labels.items():
        asked = replace(following, text=text)
        trial = await try_question(deps, asked)
        clicked = await answered(asked)
        found.append(
            Click(
                text=text,
                kept=trial.outcome == "answered",
                answered=clicked.decision == "ANSWER",
                answerable=answerable,
            )
        )
    return found


async def measure(*, samples: int, labelled: bool) -> list[Click]:
    from asgiref.sync import sync_to_async

    from retrieval.knowledge.scopes import scope_for_all
    from retrieval.knowledge.services.samples import read_questions

    scope = await sync_to_async(scope_for_all)()
    entries = read_questions()
    asked = [entry for entry in entries if entry["expects"] == "ANSWER"][:samples]
    chance = random.Random(SEED) if labelled else None
    found = []
    for entry in asked:
        found += await clicks(entry, entries, scope=scope, chance=chance)
    return found


def row(name: str, found: Sequence[Click]) -> dict[str, object]:
    known = [one for one in found if one.answerable is not None]
    return {
        "offered": name,
        "questions": len(found),
        "answered": round(sum(one.answered for one in found) / max(1, len(found)), 3),
        "right": round(sum(map(_is_right, known)) / len(known), 3) if known else None,
    }


def _is_right(one: Click) -> bool:
    return bool(one.answerable)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="of an Ollama server")
    parser.add_argument("--model", default="", help="by default the first that is listed")
    parser.add_argument("--labelled", action="store_true")
    parser.add_argument("--samples", type=int, default=34)
    parser.add_argument("--data", help="the site's data folder, kept; by default a temporary one")
    parser.add_argument("--list", action="store_true", help="print each candidate")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ |= {"OLLAMA_BASE_URL": options.url, "RAG_CHAT_MODEL": options.model}
    with ExitStack() as stack:
        folder = options.data or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="ragsite-benchmark-")
        )
        stack.enter_context(sample_site(str(Path(folder).resolve()), offline=False))
        found = asyncio.run(then_close(measure(samples=options.samples, labelled=options.labelled)))
    for one in found if options.list else ():
        print(f"{'kept' if one.kept else '-':5}{'answered' if one.answered else '-':10}{one.text}")
    rows = [row("all", found), row("tried", [one for one in found if one.kept])]
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main()
