"""The Celery application: ingest and periodic rounds."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_process_init

from ragsite import file_broker
from retrieval.die_with_parent import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

file_broker.register()
app = Celery("ragsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_process_init.connect
def _never_outlive_the_worker(**_: Any) -> None:
    """A pool process whose worker was killed would go on with its task beside the one that takes the job over."""
    die_with_parent(os.getppid())
