"""What a judge is shown of the passages: whether the fact is in it, and how many tokens it costs.

    python -m benchmarks.judge_windows [--sets FOLDER [--names squad2_en,cmrc2018_zh] [--limit 200]] [--data FOLDER]

The sample handbook's answerable questions, with the passages that `corrective` finds first without a model, and with
`--sets` labelled sets whose questions have short answers (form: `benchmarks.answers.context`). Counted are the
questions whose fact stands in what is shown of a passage that holds it, and the mean of all that is shown, in estimated
tokens. The baseline shows one window of 500 characters of each passage, around the sentence nearest to the question.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.answers.context import cases_of
from benchmarks.answers.sample_answers import sample_site, states, then_close
from benchmarks.support.grader_data import LabelledSet
from benchmarks.support.tables import show
from retrieval.answerability import estimate_answerability
from retrieval.steps.judge import excerpts
from retrieval.steps.judge.judge import worth_showing
from retrieval.text.snippet import best_window
from retrieval.text.tokens import estimate_tokens
from retrieval.values import ScoredChunk

POOL = 10  # passages that are judged
WINDOWS = (500, 1000, 2000)  # characters
BUDGETS = (400, 600, 700, 1000)  # tokens

Shown = dict[int, str]  # place of a passage → what is shown of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """gold: places of the passages that hold the fact."""

    question: str
    passages: Sequence[ScoredChunk]
    probabilities: Sequence[float]
    gold: frozenset[int]
    fact: str


async def sample_cases() -> list[Case]:
    from asgiref.sync import sync_to_async

    from retrieval.engine import get_engine
    from retrieval.ports import SearchRequest
    from retrieval.selectors import scope_for_all
    from retrieval.services.samples import read_questions
    from retrieval.steps.query.route import Route
    from retrieval.steps.retrieve.dedupe import dedupe
    from retrieval.steps.retrieve.retrieve import breadth, search_documents
    from retrieval.steps.step import Asked, Context
    from retrieval.steps.toolbox import Run
    from retrieval.trace import Trace
    from retrieval.values import Query, Question

    scope, tools, cases = await sync_to_async(scope_for_all)(), get_engine(), []
    for entry in read_questions():
        if entry["expects"] != "ANSWER":
            continue
        question = Question(text=entry["question"], scope=scope)
        context = Context(tools=tools, run=Run.start(Trace(), tools.settings))
        request = SearchRequest(
            queries=(Query(question.text),), scope=scope, filters=await Route(context)(Asked(question, question.text)),
            top_k=breadth(question, tools.settings),
        )  # fmt: skip
        found = (await search_documents(context, request)).candidates
        passages = dedupe(found).kept[:POOL]
        estimate = estimate_answerability(question.text, passages, listed=found, semantic=scope.semantic)
        names = {Path(name).name for name in entry["documents"]}
        gold = frozenset(
            place
            for place, passage in enumerate(passages)
            if passage.chunk.file_name in names and states(passage.chunk.text, entry["answer"])
        )
        cases.append(
            Case(
                question=question.text, passages=passages, probabilities=estimate.passages, gold=gold,
                fact=entry["answer"],
            )
        )  # fmt: skip
    return cases


def labelled_cases(folder: Path, name: str, limit: int) -> list[Case]:
    cases = []
    for case in cases_of(LabelledSet(name, folder, None), limit):
        probabilities = estimate_answerability(case.question, case.pool).passages
        gold = frozenset(place for place, one in enumerate(case.pool) if case.answer in one.chunk.text)
        cases.append(
            Case(question=case.question, passages=case.pool, probabilities=probabilities, gold=gold, fact=case.answer)
        )
    return cases


def windows(length: int) -> Callable[[Case], Shown]:
    return lambda case: {
        place: best_window(passage.chunk.text, case.question, length) for place, passage in enumerate(case.passages)
    }


def chosen(tokens: int) -> Callable[[Case], Shown]:
    def show_it(case: Case) -> Shown:
        places = worth_showing(case.probabilities)
        texts = excerpts.choose_excerpts(
            case.question, [case.passages[place].chunk for place in places],
            [case.probabilities[place] for place in places], tokens=tokens,
        )  # fmt: skip
        return dict(zip(places, texts, strict=True))

    return show_it


def measured(name: str, cases: Sequence[Case]) -> list[dict[str, object]]:
    ways = {f"a window of {length} characters": windows(length) for length in WINDOWS}
    ways |= {f"sentences in {tokens} tokens": chosen(tokens) for tokens in BUDGETS}
    held = [case for case in cases if case.gold]
    rows = []
    for way, shown_of in ways.items():
        shown = [shown_of(case) for case in held]
        rows.append(
            {
                "set": name, "shown": way, "questions": len(held),
                "fact shown": sum(
                    any(states(texts.get(place, ""), case.fact) for place in case.gold)
                    for case, texts in zip(held, shown, strict=True)
                ),
                "passages": fmean(len(texts) for texts in shown),
                "tokens": fmean(sum(map(estimate_tokens, texts.values())) for texts in shown),
            }
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=Path, help="folder of labelled sets")
    parser.add_argument("--names", default="squad2_en,cmrc2018_zh")
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--data", help="the site's data folder, kept; by default a temporary one")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.data or stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-benchmark-"))
        stack.enter_context(sample_site(str(Path(folder).resolve())))
        rows = measured("sample handbook", asyncio.run(then_close(sample_cases())))
    for name in options.names.split(",") if options.sets else ():
        rows += measured(name, labelled_cases(options.sets, name, options.limit))
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main()
