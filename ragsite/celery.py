"""The Celery application: ingest and periodic rounds."""

import _thread
import atexit
import os
import time
from typing import Any

from billiard.process import active_children
from celery import Celery
from celery.signals import beat_init, task_prerun, worker_process_init, worker_shutting_down

from ragsite.runtime import file_broker
from ragsite.runtime.die_with_parent import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
# Django's checks import every page, and with them the workflows: 40 MiB in the worker, in each process of its pool and
# in the scheduler, none of which shows a page. They are for whoever deploys: `manage.py check --deploy`.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

file_broker.register()
EMPTY_S = (
    0.7  # for which a worker's pool has been empty when it ends; Celery may wait seconds more for threads of its own
)

app = Celery("ragsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_process_init.connect
def _never_outlive_the_worker(**_: Any) -> None:
    """A pool process whose worker was killed would go on with its task beside the one that takes the job over."""
    die_with_parent(os.getppid())


@task_prerun.connect
def _take_up_settings(**_: Any) -> None:
    """A task works with the settings that are live when it begins."""
    from ragsite.runtime import live_settings  # whose models can be imported only when the apps are ready

    live_settings.refresh()


@worker_shutting_down.connect
def _stop_in_time(how: str, **_: Any) -> None:
    """At Celery's cold shutdown (SIGQUIT), which has just put back what it had not begun, and ended what runs."""
    if how == "Cold":
        _thread.start_new_thread(_exit_with_pool, ())  # the interrupted code may hold locks of `threading`


def _exit_with_pool() -> None:
    empty_since = time.monotonic()
    while time.monotonic() < empty_since + EMPTY_S:
        time.sleep(0.05)
        if active_children():
            empty_since = time.monotonic()
    os._exit(0)


@beat_init.connect
def _leave_memory_to_the_system(**_: Any) -> None:
    """When beat has written its schedule nothing is left to do; freeing every object would take seconds more."""
    atexit.register(os._exit, 0)
