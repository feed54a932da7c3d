"""What the processes of a Celery worker count, told at one port of the worker.

Prometheus' client lets processes share their figures by files. It names them by process id, and a worker replaces its
processes after so many tasks: here they are named by the place in the pool, so that a process goes on with the figures
of the one before it, and there are never more files than places.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile

from billiard.process import current_process
from django.conf import settings

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
logger = logging.getLogger(__name__)


def share() -> None:
    """Before the first figure is made, and before the pool is: later it is too late."""
    if not settings.SITE.worker_metrics_port:
        return
    if "prometheus_client" in sys.modules:
        logger.error(
            "The worker's figures are not told: something made figures before it was ready."
        )
        return
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="ragsite-metrics-")
    from prometheus_client import values

    values.ValueClass = values.MultiProcessValue(process_identifier=_place)


def serve() -> None:
    """In the worker's main process."""
    if FOLDER not in os.environ or not settings.SITE.worker_metrics_port:
        return
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    port = settings.SITE.worker_metrics_port
    start_http_server(port, registry=registry)
    logger.info("The worker's figures are told at port %s", port)


def _place() -> str:
    """In the pool; of the worker itself "main"."""
    index = getattr(current_process(), "index", None)
    return "main" if index is None else str(index)
