"""The Celery application: ingest and periodic rounds."""

import os
from multiprocessing import current_process, process
from typing import Any

from celery import Celery
from celery.signals import import_modules, task_prerun, worker_process_init, worker_ready

from ragsite.runtime.die_with_parent import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
# Django's checks import every page, and with them the workflows: 40 MiB in the worker, in each process of its pool and
# in the scheduler, none of which shows a page. They are for whoever deploys: `manage.py check --deploy`.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

OWN_PROCESS = current_process()  # as `multiprocessing` knows it


@import_modules.connect  # before the application's own receiver, which loads everything that makes figures
def _share_figures(**_: Any) -> None:
    from ragsite.operations import worker_metrics  # whose settings can be read only now

    worker_metrics.share()


app = Celery("ragsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_process_init.connect
def _never_outlive_the_worker(**_: Any) -> None:
    """A pool process whose worker was killed would go on with its task beside the one that takes the job over."""
    die_with_parent(os.getppid())


@worker_process_init.connect
def _trace(**_: Any) -> None:
    from ragsite.operations import (
        telemetry,
    )  # whose settings can be read only when the apps are ready

    telemetry.start("worker")


@worker_process_init.connect
def _may_start_processes(**_: Any) -> None:
    """Celery's pool puts its own kind of process where `multiprocessing` looks for its, which then refuses to start the
    fork server that reads files."""
    process._current_process = OWN_PROCESS  # type: ignore[attr-defined]


@worker_ready.connect
def _tell_figures(**_: Any) -> None:
    from ragsite.operations import worker_metrics

    worker_metrics.serve()


@worker_ready.connect
def _show(**_: Any) -> None:
    from ragsite.runtime import (
        presence,
    )  # whose models can be imported only when the apps are ready

    presence.show_in_thread("worker")


@task_prerun.connect
def _take_up_settings(**_: Any) -> None:
    """A task works with the settings that are live when it begins."""
    from ragsite.runtime import (
        live_settings,
    )  # whose models can be imported only when the apps are ready

    live_settings.refresh()
