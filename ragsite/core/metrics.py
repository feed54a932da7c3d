"""What a process counts of the site's own work, for /metrics. Names begin with `ragsite_`; times are seconds."""

from __future__ import annotations

import statistics
import time
from collections import deque

from prometheus_client import Counter, Gauge, Histogram

ANSWER_S = (0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300)
CALL_S = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
LAG_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)

first_token = Histogram(
    "ragsite_first_token_seconds", "To an answer's first words", ["workflow"], buckets=ANSWER_S
)
answer_seconds = Histogram(
    "ragsite_answer_seconds", "To an answer's end", ["workflow"], buckets=ANSWER_S
)
answers = Counter("ragsite_answers", "Answers that have ended", ["workflow", "status", "decision"])
support = Counter("ragsite_answer_support", "What a second look said of answers", ["support"])
steps = Histogram("ragsite_step_seconds", "Steps of answers", ["step"], buckets=CALL_S)
fallbacks = Counter(
    "ragsite_fallbacks", "Steps that fell back, failed or were skipped", ["step", "status"]
)
offered = Counter("ragsite_offered_questions", "Questions that were offered", ["where"])
offered_dropped = Counter(
    "ragsite_offered_questions_dropped", "Questions that were to be offered", ["where", "why"]
)
offered_asked = Counter(
    "ragsite_offered_questions_asked", "Offered questions that were asked", ["where", "decision"]
)
running = Gauge("ragsite_running_answers", "Answers that are being written in this process")
taken_over = Counter("ragsite_answers_taken_over", "Answers that another process had left")
model_wait = Histogram(
    "ragsite_model_wait_seconds", "That calls waited in our queue", ["kind"], buckets=CALL_S
)
model_calls = Histogram(
    "ragsite_model_call_seconds", "Calls of models", ["kind", "model"], buckets=CALL_S
)
model_errors = Counter("ragsite_model_errors", "Calls of models that failed", ["kind", "model"])
model_tokens = Counter(
    "ragsite_model_tokens", "Tokens read and written by models", ["direction", "model"]
)
loop_lag = Histogram(
    "ragsite_event_loop_lag_seconds", "By which the event loop is late", buckets=LAG_S
)
index_search = Histogram(
    "ragsite_index_search_seconds", "Searches of the index", ["leg"], buckets=CALL_S
)
ingest_stages = Histogram(
    "ragsite_ingest_stage_seconds", "Stages of reading documents", ["stage"], buckets=ANSWER_S
)
ingest_chunks = Counter("ragsite_ingest_chunks", "Chunks that were written into the index")
ingest_documents = Counter("ragsite_ingest_documents", "Documents that were worked on", ["outcome"])


class RecentTimes:
    """The last times of something, for a look at this process without Prometheus."""

    KEPT = 200
    FEWEST = 20  # a median of fewer says little
    MAX_AGE_S = 900.0

    def __init__(self) -> None:
        self._times: deque[tuple[float, float]] = deque(maxlen=self.KEPT)

    def add(self, seconds: float) -> None:
        self._times.append((time.monotonic(), seconds))

    def median(self) -> float | None:
        """Seconds; None while there are too few."""
        since = time.monotonic() - self.MAX_AGE_S
        recent = [seconds for at, seconds in list(self._times) if at >= since]
        return statistics.median(recent) if len(recent) >= self.FEWEST else None


index_searches = RecentTimes()
