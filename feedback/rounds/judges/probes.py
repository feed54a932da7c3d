"""A model that judges evidence is tried before it is believed: it is asked about passages of which it is known whether
they answer (`retrieval.steps.judge.probes`).

Without this a strong model's word weighs no more than the safe prior until staff have entered golden questions, and
one that says yes to everything costs a judgement a question until its tally shows it. Each probe is asked once for a
model and a form of asking (`JudgeProbe`), in rounds, for PROBES_S at most; a slow server is asked about the rest in the
next ones.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.utils import timezone

from feedback.models import JudgeProbe
from feedback.rounds.questions import with_engine
from ragsite.core.wording import worded
from retrieval.engine import Engine
from retrieval.errors import ModelError
from retrieval.steps.judge import probes
from retrieval.steps.judge.probes import Probe
from retrieval.steps.step import Context
from retrieval.steps.toolbox import Run
from retrieval.trace import Trace

PROBES_S = 60.0  # in a round, but for the last one begun
ASKED_AGAIN = timedelta(days=180)  # a name may stand for other weights by then
MOST_NAME = 200
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Probed:
    """asked: in this round. right, judged: of all that is known of the model. left: for the next rounds."""

    model: str = ""
    asked: int = 0
    right: int = 0
    judged: int = 0
    left: int = 0

    def note(self) -> str:
        """For staff; empty where nothing new is known."""
        if not self.asked:
            return ""
        if self.left:
            return worded(
                "{model} is being tried as a judge: {left} known cases are left for the next rounds",
                model=self.model, left=self.left,
            )  # fmt: skip
        return worded(
            "{model} was tried as a judge: {right} of {judged} known cases right",
            model=self.model, right=self.right, judged=self.judged,
        )  # fmt: skip


def judge_probe(*, report: Callable[[], None] = lambda: None) -> Probed:
    """Ask the fast model about what it was not asked about yet. Where there is none, or it fails, nothing is learned;
    the rest waits for the next round. report: after each."""
    goes_on = sync_to_async(report)

    async def work(engine: Engine) -> Probed:
        until = time.monotonic() + PROBES_S
        context = Context(tools=engine, run=Run.start(Trace(), engine.settings))
        asked, name = 0, ""
        left: list[Probe] = []
        try:
            name = (await engine.models.chat("fast")).name[:MOST_NAME]
            form = await probes.form(context)
            left = await sync_to_async(_left)(name, form)
            while left and time.monotonic() < until:
                said = await probes.ask(context, left[0])
                await sync_to_async(_keep)(name, form, left.pop(0), said)
                asked += 1
                await goes_on()
        except TimeoutError:
            logger.info("%s was too slow to be tried as a judge; the rest waits for the next round.", name)
        except ModelError as error:
            logger.info("No judge could be tried: %s", error.reason)
        return await sync_to_async(_outcome)(name, asked, len(left))

    return with_engine(work)


def _left(model: str, form: str) -> list[Probe]:
    """Those still to be asked; what was said long ago, or asked in another form, is forgotten."""
    of_model = JudgeProbe.objects.filter(model=model)
    of_model.exclude(form=form).delete()
    of_model.filter(at__lt=timezone.now() - ASKED_AGAIN).delete()
    known = set(of_model.values_list("number", flat=True))
    return [probe for probe in probes.probes() if probe.number not in known]


def _keep(model: str, form: str, probe: Probe, said: bool | None) -> None:
    row = {"form": form, "held": probe.held, "said": said, "at": timezone.now()}
    JudgeProbe.objects.update_or_create(model=model, number=probe.number, defaults=row)


def _outcome(model: str, asked: int, left: int) -> Probed:
    said = [(held, yes) for name, held, yes in probed() if name == model]
    return Probed(model, asked, sum(held == yes for held, yes in said), len(said), left)


def probed() -> Iterator[tuple[str, bool, bool]]:
    """Model, whether the passages held the answer, whether it said yes; of all that was a judgement."""
    rows = JudgeProbe.objects.filter(said__isnull=False).order_by("model", "number")
    for model, held, said in rows.values_list("model", "held", "said"):
        yield model, held, bool(said)
