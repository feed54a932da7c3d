"""Figures of the whole site for /metrics, read from the database with each call: each web process says the same."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from django.db import Error as DatabaseError
from django.db.models import Count, Min, Sum
from django.utils import timezone
from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from chat.models import Message
from ragsite.runtime import presence
from retrieval.models import Document, IngestJob

logger = logging.getLogger(__name__)


class SiteCollector(Collector):
    """A database that is away leaves its figures out; `ragsite_database_up` says so."""

    def describe(self) -> Iterator[Metric]:
        """Nothing is asked when it is registered."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("ragsite_database_up", "Whether the database could be asked")
        try:
            figures = list(_figures())
        except DatabaseError as error:
            logger.warning("the site's figures could not be read: %s", error)
            figures = []
        up.add_metric([], float(bool(figures)))
        yield up
        yield from figures


def connect() -> None:
    """Once a process."""
    REGISTRY.register(SiteCollector())


def _figures() -> Iterator[Metric]:
    jobs = GaugeMetricFamily(
        "ragsite_ingest_jobs", "Documents that are waited for", labels=["state"]
    )
    open_jobs = IngestJob.objects.filter(state__in=("waiting", "running")).order_by()
    counts = dict(open_jobs.values_list("state").annotate(Count("pk")))
    for state in ("waiting", "running"):
        jobs.add_metric([state], counts.get(state, 0))
    yield jobs
    oldest = open_jobs.filter(state="waiting").aggregate(at=Min("created_at"))["at"]
    waited_s = (timezone.now() - oldest).total_seconds() if oldest else 0.0
    yield GaugeMetricFamily(
        "ragsite_oldest_job_seconds", "That the oldest waiting document waits", value=waited_s
    )
    written = Message.objects.filter(status=Message.Status.STREAMING).count()
    yield GaugeMetricFamily(
        "ragsite_answers_in_progress", "Answers being written on the whole site", value=written
    )
    # As kept with each document: a scrape is not to count a million rows.
    searched = Document.objects.filter(status=Document.Status.READY, superseded_at=None)
    chunks = searched.aggregate(chunks=Sum("chunk_count"))["chunks"] or 0
    yield GaugeMetricFamily(
        "ragsite_index_chunks", "Chunks that the index is to hold", value=chunks
    )
    shown = GaugeMetricFamily("ragsite_processes", "Processes that serve the site", labels=["kind"])
    living = presence.living()
    for kind in ("web", "worker"):
        shown.add_metric([kind], sum(process.kind == kind for process in living))
    yield shown
