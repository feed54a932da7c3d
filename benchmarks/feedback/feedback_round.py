"""How long a round of the feedback loop takes, what memory it needs, and what boosts cost a search.

    python -m benchmarks.feedback_round [--ratings 100000] [--people 5000] [--questions 20000] [--documents 1250]
                                        [--new 100] [--entries 10000] [--index]
                                        [--database postgresql://USER@HOST/NAME] [--json]

Makes a site whose people have rated much (`benchmarks.feedback.site`) in a temporary folder, on SQLite or, with
--database, in a database of its own on that PostgreSQL server, and drops it afterwards. Then `manage.py
reindex_feedback` runs three times, each time as a fresh process: over everything; after --new more ratings, as on the
next night; and with nothing new. Processor time and peak memory are that process's with its start, which a worker of
the site does not have each time; "round s" leaves the start out, and with it the loading of the Chinese dictionary and
of the index's client. "where" names the parts that took most of it, in seconds. Milvus Lite runs beforehand, as on a
running site, and is not counted. With --index the chunks are indexed (minutes), so that the guard finds something where
it searches; without it, its searches find nothing.

Last, searches on --entries live query-scoped boosts: 100 hits, all of them rated, of which 30 are candidates; each
question has a vector of 384 numbers, as every rated one has. "The same without boosts" is the baseline of that part.
Its embedding is left out: the search needs it anyhow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from benchmarks.support.own_site import a_database, set_up
from benchmarks.support.tables import medians_ms, show

DIM = 384
HITS, CANDIDATES = 100, 30
SEARCHES = 200
MORE_DAYS = 1.0  # in which the new ratings come
PARTS_SHOWN = 4
# What a worker that has ingested and searched has behind it: the Chinese dictionary and the index's client.
RUN_A_ROUND = """
import json, os, resource, sys, time
import django
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
django.setup()
from retrieval.engine.search.milvus import connection

connection.TIMEOUT_S = 120.0  # a busy machine
connection.import_client()
from django.core.management import execute_from_command_line
from feedback.rounds import round
from retrieval.engine.text.analysis import analyze

spent = {}
def timed(name):
    part = getattr(round, name)
    def run(*args, **kwargs):
        begun = time.perf_counter()
        try:
            return part(*args, **kwargs)
        finally:
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - begun
    setattr(round, name, run)

for name in ("passages_relocate", "evidence_gather", "questions_embed", "question_pairs_decide", "proposal_make",
             "content_make", "content_of", "guard_measure", "_decide"):
    timed(name)
analyze("圖書館的開放時間")
execute_from_command_line(["manage.py", "reindex_feedback", "--json"])
used = resource.getrusage(resource.RUSAGE_SELF)
high = [line for line in open("/proc/self/status") if line.startswith("VmHWM")] if sys.platform == "linux" else []
mib = int(high[0].split()[1]) / 1024 if high else used.ru_maxrss / 2**20
print(json.dumps({"cpu_s": used.ru_utime + used.ru_stime, "mib": mib, "spent": spent}), file=sys.stderr)
"""


# ------------------------------------------------------------------------------------------------ a round
def run_round(what: str) -> dict[str, object]:
    """In a process of its own. Raises RuntimeError with what it printed where it fails."""
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", RUN_A_ROUND], capture_output=True, text=True)
    wall = time.perf_counter() - begun
    if done.returncode:
        raise RuntimeError(done.stderr)
    outcome, used = json.loads(done.stdout), json.loads(done.stderr.splitlines()[-1])
    parts = sorted(used["spent"].items(), key=lambda item: -item[1])[:PARTS_SHOWN]
    return {
        "round": what, "process s": wall, "round s": outcome["duration_ms"] / 1000, "CPU s": used["cpu_s"],
        "peak MiB": round(used["mib"]),
        "ratings": outcome["ratings"], "evidence": outcome["evidence"], "boosts": boosts_of(outcome),
        "became": outcome["status"], "where": ", ".join(f"{name} {seconds:.1f}" for name, seconds in parts),
    }  # fmt: skip


def boosts_of(outcome: Mapping[str, Any]) -> int:
    counts = outcome["counts"]
    return int(counts.get("query_boosts", 0) + counts.get("document_boosts", 0))


def measure_rounds(topics: Sequence[Any], new: int, now: datetime) -> list[dict[str, object]]:
    from benchmarks.feedback.site import add_ratings

    rows = [run_round("everything")]
    add_ratings(topics, new, now=now + timedelta(minutes=1), seed=2, days=MORE_DAYS)
    rows.append(run_round(f"{new} new"))
    rows.append(run_round("nothing new"))
    return rows


# ------------------------------------------------------------------------------------------------ searches
class AtOnce:
    """`retrieval.engine.ports.Models` and the embedder of questions whose vectors are there already."""

    def __init__(self) -> None:
        self._vector = _unit(1)[0]

    async def embedder(self, space: object) -> AtOnce:
        return self

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        return np.stack([self._vector for _ in texts])


def _unit(count: int) -> Any:
    vectors = np.random.default_rng(count).standard_normal((count, DIM)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def go_live_with(entries: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The strongest boosts of the newest revision become a live one of their own, and each question gets a vector.

    Returns the questions, and the rated chunks with their documents.
    """
    from django.db import transaction

    from feedback.models import RatedPassage, RatedQuestion, Revision
    from feedback.ranking.boosts import digest
    from feedback.ranking.same_question import vector_encode
    from feedback.rounds.live import boosts_of
    from feedback.rounds.revisions import revision_create, revision_go_live

    queries, documents = boosts_of(Revision.objects.first())
    queries = sorted(queries, key=lambda boost: -abs(boost.multiplier - 1.0))[:entries]
    with transaction.atomic():
        revision = revision_create(
            queries=queries, documents=documents, digest=digest(queries, documents), guard={}, wordings={}, summary={}
        )
        revision_go_live(revision=revision)
        ids = sorted({boost.question for boost in queries})
        for key, vector in zip(ids, _unit(len(ids)), strict=True):
            RatedQuestion.objects.filter(pk=key).update(
                embedding_model="a-model", embedding_dim=DIM, vector=vector_encode(vector)
            )
    texts = dict(RatedQuestion.objects.values_list("pk", "text"))
    places = RatedPassage.objects.exclude(chunk_id=None).values_list("pk", "chunk_id", "document_id")
    live = {boost.passage for boost in queries}
    return [texts[key] for key in ids], [(str(chunk), str(document)) for key, chunk, document in places if key in live]


async def measure_searches(questions: Sequence[str], rated: Sequence[tuple[str, str]]) -> list[dict[str, object]]:
    from asgiref.sync import sync_to_async

    from feedback.rounds.live import LiveBoosts
    from retrieval.engine.search.boosting import put_boosts
    from retrieval.engine.values import Boosts
    from retrieval.knowledge.selectors import DatabaseChunkStore, scope_for_all

    choose, store = random.Random(0), DatabaseChunkStore()
    scope = await sync_to_async(scope_for_all)(names=["handbooks"])
    asked = [choose.choice(questions) for _ in range(SEARCHES)]
    results = [await _result(choose.sample(rated, HITS), store, scope) for _ in asked]
    live = LiveBoosts(AtOnce())  # type: ignore[arg-type]

    async def multipliers(number: int) -> Boosts:
        result = results[number]
        return await live.boosts(asked[number], (*result.candidates, *result.tail_hits))

    async def without(number: int) -> None:
        await put_boosts(results[number], Boosts(), store=store, scope=scope)

    async def whole(number: int) -> None:
        await put_boosts(results[number], await multipliers(number), store=store, scope=scope)

    runs = {"the same without boosts": without, "their multipliers": multipliers, "and put in place": whole}
    times = await medians_ms(runs, SEARCHES, warm_up=10)
    return [{"a search's boosts": what, "p50 ms": ms} for what, ms in times.items()]


async def _result(hits: Sequence[tuple[str, str]], store: Any, scope: Any) -> Any:
    """As a search gives it: the best with their texts, the others without."""
    from retrieval.engine.ports import SearchResult
    from retrieval.engine.values import ScoredChunk, Scores, TailHit

    chunks = await store.fetch([chunk for chunk, _ in hits[:CANDIDATES]], scope=scope)
    scores = [Scores(fused=2.0 - at / HITS) for at in range(HITS)]
    return SearchResult(
        candidates=tuple(
            ScoredChunk(chunk=chunks[chunk], scores=score)
            for (chunk, _), score in zip(hits[:CANDIDATES], scores, strict=False)
        ),
        tail_hits=tuple(
            TailHit(chunk_id=chunk, document_id=document, scores=score)
            for (chunk, document), score in zip(hits[CANDIDATES:], scores[CANDIDATES:], strict=True)
        ),
    )


# ------------------------------------------------------------------------------------------------ the site
def index_chunks() -> None:
    from io import StringIO

    from django.core.management import call_command

    call_command("rebuild_index", stdout=StringIO())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=5_000)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--documents", type=int, default=1_250, help="of four chunks each")
    parser.add_argument("--new", type=int, default=100)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--index", action="store_true")
    parser.add_argument("--database", default="", help="a PostgreSQL server's URL; its role may create databases")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="ragsite-benchmark-") as folder, a_database(options.database) as database:
        set_up(folder, database)
        from benchmarks.feedback.site import make_site
        from ragsite.runtime.milvus_lite import ensure_server

        begun = time.perf_counter()
        topics = make_site(
            ratings=options.ratings, documents=options.documents, people=options.people, questions=options.questions,
            now=now,
        )  # fmt: skip
        made_s = time.perf_counter() - begun
        with ensure_server(folder):
            if options.index:
                index_chunks()
            rounds = measure_rounds(topics, options.new, now)
        if not options.json:
            show(rounds, as_json=False, notes=[f"The site was made in {made_s:.0f} s.", ""])
        searches = asyncio.run(measure_searches(*go_live_with(options.entries)))
        from django.db import connections

        connections.close_all()
    if options.json:
        print(json.dumps({"made_s": made_s, "rounds": rounds, "searches": searches}, ensure_ascii=False, indent=2))
    else:
        show(searches, as_json=False)


if __name__ == "__main__":
    main()
