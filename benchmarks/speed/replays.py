"""What a replay takes over the answer itself: reading what was asked, both answers' differences, its row, its lease.

    python -m benchmarks.replays [--replays 40] [--json]

A site of its own, on SQLite, with the sample handbook and its questions answered, without a model. Each replay runs as
the desk's does, from its lease to its stored result; the clock stops while the workflow answers, so that what remains
is the overhead.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from itertools import cycle, islice
from statistics import median, quantiles
from typing import Any

from benchmarks.answers.sample_answers import sample_site
from benchmarks.support.tables import show

WARM_UP = 5


class Clocked:
    """A workflow whose answers are timed: wall and processor seconds of this process."""

    def __init__(self, workflow: Any) -> None:
        self._workflow = workflow
        self.wall = self.processor = 0.0

    async def answer(self, *args: Any, **options: Any) -> Any:
        wall, processor = time.perf_counter(), time.process_time()
        try:
            return await self._workflow.answer(*args, **options)
        finally:
            self.wall += time.perf_counter() - wall
            self.processor += time.process_time() - processor


async def measure(count: int) -> list[dict[str, object]]:
    """One row for wall time and one for processor time, in ms: of the answers, and of what replays took besides."""
    from asgiref.sync import sync_to_async
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import AsyncClient

    from chat.models import Message, Replay
    from chat.review.replay import replay_run as module
    from chat.review.replay.replay_run import replay_lease, replay_run
    from chat.review.replay.replays import replay_create
    from chat.review.roles import desk_access
    from retrieval.engine import close_engine, warm_up
    from retrieval.services.samples import read_questions

    warm_up()
    get_workflow, clocked = module.get_workflow, []

    def timed(name: str) -> Clocked:
        clocked.append(Clocked(get_workflow(name)))
        return clocked[-1]

    module.get_workflow = timed  # type: ignore[assignment]
    admin = await sync_to_async(User.objects.create_superuser)("replayer")
    access = await sync_to_async(desk_access)(admin)
    settings.ALLOWED_HOSTS = ["*"]
    client = AsyncClient()
    await client.aforce_login(admin)
    for question in islice(cycle(read_questions()), count + WARM_UP):
        answer = await client.post("/api/chat", {"message": question["question"]}, content_type="application/json")
        assert answer.status_code == 200, answer.content
    answers = Message.objects.filter(role="assistant").order_by("pk")
    ids = await sync_to_async(lambda: list(answers.values_list("pk", flat=True)))()
    answered, besides = [], []
    for message_id in ids:
        replay = await sync_to_async(replay_create)(access=access, message_id=message_id, change={})
        wall, processor = time.perf_counter(), time.process_time()
        lease = replay_lease(replay.pk)
        await sync_to_async(lease.take)(status=Replay.Status.RUNNING, attempts=1)
        await replay_run(lease)
        took = (time.perf_counter() - wall, time.process_time() - processor)
        await sync_to_async(replay.refresh_from_db)()
        assert replay.status == Replay.Status.COMPLETE, replay.error
        inner = (clocked[-1].wall, clocked[-1].processor)
        answered.append(inner)
        besides.append((took[0] - inner[0], took[1] - inner[1]))
    await close_engine()
    rows: list[dict[str, object]] = []
    for index, name in enumerate(("wall", "processor")):
        answer = [1000 * one[index] for one in answered[WARM_UP:]]
        over = [1000 * one[index] for one in besides[WARM_UP:]]
        rows.append(
            {
                "time": name,
                "answer_ms": median(answer),
                "over_ms": median(over),
                "over_p95_ms": quantiles(over, n=20)[-1],
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replays", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ["RAG_LIMIT_QUESTIONS_PER_MINUTE"] = "100000"
    with tempfile.TemporaryDirectory(prefix="ragsite-replays-") as folder, sample_site(folder):
        rows = asyncio.run(measure(options.replays))
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main()
