"""For steps that are classes still: `Toolbox` is `Deps`, `Run` what of it belongs to one answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragsite.core.rag_settings import RagSettings
from retrieval.search.boosting import AnswerRevision
from retrieval.steps.deps import Deadline, Deps
from retrieval.trace import Trace

Toolbox = Deps


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    trace: Trace
    deadline: Deadline
    revision: AnswerRevision = field(default_factory=AnswerRevision)  # of users' ratings

    @classmethod
    def start(cls, trace: Trace, settings: RagSettings, *, timeout_s: float | None = None) -> Run:
        """`timeout_s`: of the whole answer; by default the corrective workflow's."""
        return cls(trace=trace, deadline=Deadline(timeout_s or settings.corrective.timeout_s))
