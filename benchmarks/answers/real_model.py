"""What a real model makes of questions whose answers are known, beside no model at all.

    python -m benchmarks.real_model http://127.0.0.1:11434 --model qwen2.5:1.5b [--samples 30]
        [--data DATA_FOLDER --sets squad2_en cmrc2018_zh --each 15] [--workflow corrective] [--answers FILE] [--json]

Sample questions are asked over the sample handbook; of each labelled set as many that its documents answer as ones that
they don't (`unanswerable` where the set has some, else with their passages taken out). Baseline, in the same run and on
the same passages: no model. Both search by words, so that the model's judging and writing is what differs.

    right     decisions as labelled
    cited     of the answered ones that have an answer: the passage or document with the fact is cited
    stated    of the same: the answer states the fact, word for word or by four of five of its terms
    wrong     answers without the fact, or to a question that has none, with a sentence held to be supported
    asked     questions for which the model judged or rewrote anything; tokens: that it wrote for these, a question

A small model on a small machine needs a minute for an answer: time limits are raised here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.answers.sample_answers import sample_site, states, then_close
from benchmarks.support.tables import show

PATIENCE_S = 600.0  # for one call of the model, and twice that for an answer
SEED = 7
MOST_OF, LEAST_TERMS = 0.8, 3  # share of a fact's terms that an answer has to have, where it has so many


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question and what is known of it. `gold`: documents, by id or file name, of which one is to be cited."""

    text: str
    expects: str
    gold: frozenset[str]
    facts: Sequence[str] = ()
    hidden: frozenset[int] = frozenset()  # places in the set that are taken out
    at: int = 0  # place among the set's questions


@dataclass(frozen=True, kw_only=True)
class Result:
    asked: Asked
    decision: str
    text: str
    cited: bool
    stated: bool
    supported: bool
    seconds: float
    judged: bool
    tokens: int
    degraded: Sequence[str] = field(default=())

    @property
    def right(self) -> bool:
        return self.decision == self.asked.expects

    @property
    def answers(self) -> bool:
        """It answers what has an answer."""
        return self.right and self.decision == "ANSWER"

    @property
    def wrong(self) -> bool:
        return self.decision == "ANSWER" and self.supported and not (self.asked.expects == "ANSWER" and self.stated)


async def ask(workflow: Any, engine: Any, asked: Asked, scope: Any) -> Result:
    from retrieval.engine.trace import Trace
    from retrieval.engine.values import Question

    trace, begun = Trace(), time.perf_counter()
    answer = await workflow.answer(Question(text=asked.text, scope=scope), engine=engine, trace=trace)
    structured = [
        call for step in trace.steps if step.name not in ("generate", "verify") for call in step.calls
        if call.kind == "chat"
    ]  # fmt: skip
    cited = {source.chunk.document_id for source in answer.sources if source.cited}
    cited |= {source.chunk.file_name for source in answer.sources if source.cited}
    return Result(
        asked=asked,
        decision=answer.decision,
        text=answer.text,
        cited=bool(cited & asked.gold),
        stated=any(states(answer.text, fact) or says(answer.text, fact) for fact in asked.facts),
        supported=not answer.model or any(sentence.supported for sentence in answer.grounding),
        seconds=time.perf_counter() - begun,
        judged=bool(structured),
        tokens=sum(call.completion_tokens for call in structured),
        degraded=[f"{step.name}: {step.detail.get('reason', '')}" for step in trace.steps if step.status == "degraded"],
    )


def says(text: str, fact: str) -> bool:
    """A fact of several words in other order or punctuation; its numbers have to be there."""
    from retrieval.engine.text.analysis import analyze

    wanted, said = set(analyze(fact)), set(analyze(text))
    if len(wanted) < LEAST_TERMS or any(term not in said for term in wanted if term.isdecimal()):
        return False
    return len(wanted & said) >= MOST_OF * len(wanted)


def row(name: str, model: str, results: Sequence[Result]) -> dict[str, object]:
    answerable = [result for result in results if result.asked.expects == "ANSWER"]
    return {
        "questions": name,
        "model": model or "(none)",
        "right": f"{sum(result.right for result in results)} of {len(results)}",
        "cited": f"{sum(result.answers and result.cited for result in results)} of {len(answerable)}",
        "stated": f"{sum(result.answers and result.stated for result in results)} of {len(answerable)}",
        "refused rightly": f"{sum(r.right for r in results if r.asked.expects == 'NO_ANSWER')} of "
        f"{sum(r.asked.expects == 'NO_ANSWER' for r in results)}",
        "wrong": sum(result.wrong for result in results),
        "asked": sum(result.judged for result in results),
        "tokens": round(sum(result.tokens for result in results) / len(results), 1),
        "seconds": round(median(result.seconds for result in results), 1),
    }


# ------------------------------------------------------------------------------------------------ questions
def sample_questions(count: int) -> list[Asked]:
    from retrieval.knowledge.services.samples import read_questions

    entries = read_questions()
    chosen = [entries[at * len(entries) // count] for at in range(count)] if count < len(entries) else entries
    return [
        Asked(
            text=entry["question"],
            expects=entry["expects"],
            gold=frozenset(Path(name).name for name in entry["documents"]),
            facts=[entry["answer"]] if entry["answer"] else (),
        )
        for entry in chosen
    ]


def set_questions(labelled: Any, count: int) -> Iterator[Asked]:
    """Half of them have an answer here."""
    import numpy as np

    from benchmarks.support.set_searcher import gold

    choose = np.random.default_rng(SEED)
    usable = [at for at, query in enumerate(labelled.queries) if not query.get("excluded")]
    answerable = choose.permutation([at for at in usable if gold(labelled, at)]).tolist()
    without = choose.permutation([at for at in usable if labelled.queries[at].get("unanswerable")]).tolist()
    present, absent = answerable[: (count + 1) // 2], (without or answerable[::-1])[: count // 2]
    for at in present:
        query = labelled.queries[at]
        ids = frozenset(labelled.chunks[place].document_id for place in gold(labelled, at))
        yield Asked(text=query["text"], expects="ANSWER", gold=ids, facts=query["answers"], at=at)
    for at in absent:
        hidden = frozenset(gold(labelled, at))
        yield Asked(text=labelled.queries[at]["text"], expects="NO_ANSWER", gold=frozenset(), hidden=hidden, at=at)


# ------------------------------------------------------------------------------------------------ runs
def patient(settings: Any, options: argparse.Namespace) -> Any:
    """The site's settings with the server's address, and time for a small machine."""
    ollama = settings.ollama.replace(
        base_url=options.address, offline="auto", chat_model=options.model, fast_model=options.model,
        structured_timeout_s=PATIENCE_S, first_token_timeout_s=PATIENCE_S,
    )  # fmt: skip
    corrective = settings.corrective.replace(timeout_s=2 * PATIENCE_S)
    return settings.replace(ollama=ollama, corrective=corrective)


async def on_samples(options: argparse.Namespace) -> list[tuple[str, str, list[Result]]]:
    from asgiref.sync import sync_to_async
    from django.conf import settings

    from retrieval.compose import close_engine, get_engine
    from retrieval.engine.workflows.registry import get_workflow
    from retrieval.knowledge.selectors import scope_for_all

    scope, offline = await sync_to_async(scope_for_all)(), settings.RAG
    found = []
    for model, rag in (("", offline), (options.model, patient(offline, options))):
        await close_engine()
        settings.RAG = rag
        workflow = get_workflow(options.workflow)
        results = [await told(ask(workflow, get_engine(), asked, scope)) for asked in sample_questions(options.samples)]
        found.append(("samples", model, results))
    settings.RAG = offline
    return found


async def on_set(name: str, options: argparse.Namespace) -> list[tuple[str, str, list[Result]]]:
    from django.conf import settings as site

    from benchmarks.support.labelled_sets import LabelledSet
    from benchmarks.support.set_searcher import SetSearcher
    from retrieval.engine.deps import Deps
    from retrieval.engine.prompting import PromptLibrary
    from retrieval.engine.providers.registry import ModelRegistry
    from retrieval.engine.values import CollectionRef, EmbeddingSpace, SearchScope
    from retrieval.engine.workflows.registry import get_workflow
    from retrieval.evaluation.collection import MemoryChunkStore

    labelled, settings = LabelledSet(name, options.data, None), site.RAG
    offline = settings.replace(ollama=settings.ollama.replace(offline="1"))
    scope = SearchScope((CollectionRef(id=name, name=name, space=EmbeddingSpace("words", 384)),))
    found = []
    for model, rag in (("", offline), (options.model, patient(settings, options))):
        searcher, models = SetSearcher(labelled, dense=False), ModelRegistry(rag.ollama)
        engine = Deps(
            settings=rag, models=models, prompts=PromptLibrary(), searcher=searcher,
            store=MemoryChunkStore(labelled.chunks),
        )  # fmt: skip
        workflow, results = get_workflow(options.workflow), []
        for asked in set_questions(labelled, options.each):
            searcher.at, searcher.without = asked.at, set(asked.hidden)
            results.append(await told(ask(workflow, engine, asked, scope)))
        await models.close()
        found.append((name, model, results))
    return found


async def told(work: Any) -> Result:
    result: Result = await work
    verdict = "right" if result.right else f"{result.decision} for {result.asked.expects}"
    print(f"{result.seconds:6.1f} s  {verdict}: {result.asked.text}", file=sys.stderr, flush=True)
    return result


def as_text(name: str, model: str, result: Result) -> Mapping[str, object]:
    return {
        "questions": name, "model": model, "question": result.asked.text, "expects": result.asked.expects,
        "facts": list(result.asked.facts), "decision": result.decision, "cited": result.cited, "stated": result.stated,
        "wrong": result.wrong, "answer": result.text, "degraded": list(result.degraded), "seconds": result.seconds,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="of a server that speaks Ollama's protocol")
    parser.add_argument("--model", required=True, help="that judges and writes")
    parser.add_argument("--samples", type=int, default=30, help="of the sample questions; 0: none")
    parser.add_argument("--data", type=Path, help="one folder per set")
    parser.add_argument("--sets", nargs="+", default=["squad2_en", "cmrc2018_zh"])
    parser.add_argument("--each", type=int, default=15, help="questions of each set")
    parser.add_argument("--workflow", default="corrective")
    parser.add_argument("--answers", type=Path, help="where the answers are written, a line each")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: list[tuple[str, str, list[Result]]] = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-benchmark-"))
        stack.enter_context(sample_site(folder))
        if options.samples:
            found += asyncio.run(then_close(on_samples(options)))
        for name in options.sets if options.data else ():
            found += asyncio.run(on_set(name, options))
    if options.answers:
        lines = [as_text(name, model, result) for name, model, results in found for result in results]
        options.answers.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    show([row(*each) for each in found], as_json=options.json)


if __name__ == "__main__":
    main()
