"""`manage.py up`: the whole site from one command. `make run` calls it."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections
from django.utils.translation import gettext as _
from filelock import FileLock
from kombu.exceptions import OperationalError

from ragsite.celery import app as celery_app
from ragsite.core.localized import said
from ragsite.runtime import start_checks
from ragsite.runtime.start_checks import ADMIN_NAME, StartError
from ragsite.runtime.supervisor import MilvusLite, Supervisor, programs

NEVER_SHOWN = ["redoc", "rest_framework", "*.map", "*.d.ts", "LICENSE*", "README*"]  # files of libraries
logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = _("Start web, worker, beat and Milvus Lite; Ctrl-C stops them all.")
    requires_system_checks: list[str] = []  # they import the whole site, which the web process does anyway

    def handle(self, *args: Any, **options: Any) -> None:
        data_dir: Path = settings.DATA_DIR
        try:
            start_checks.make_folders(data_dir)
            with start_checks.claimed_folder(data_dir):
                start_checks.check_port(settings.HOST, settings.PORT)
                start_checks.check_broker(settings.REDIS_URL)
                start_checks.make_secret_key(data_dir)
                _collect_static_files()
                self._serve(data_dir)
        except StartError as error:
            self.stderr.write(str(error))
            sys.exit(1)
        self.stdout.flush()
        os._exit(0)  # all is done; freeing every object of the interpreter would take seconds more

    def _serve(self, data_dir: Path) -> None:
        url = f"{settings.SITE.local_origin}/"
        supervisor = Supervisor(url=url, say=self._say)
        supervisor.handle_signals()
        try:
            if not settings.RAG.milvus.uri:
                supervisor.add(MilvusLite(data_dir, port=settings.RAG.milvus.lite_port, on_restart=_queue_index_check))
            start_checks.migrate()
            self._first_login(start_checks.make_admin(settings.ADMIN_PASSWORD))
            connections.close_all()  # nothing here needs the database any more
            for program in programs(
                data_dir=data_dir,
                base_dir=settings.BASE_DIR,
                host=settings.HOST,
                port=settings.PORT,
                workers=settings.RAG.ingest.workers,
                environ=settings.ENVIRON,
            ):
                supervisor.add(program)
            self._queue_samples()
            supervisor.run(when_ready=lambda: self._say(said("Ragsite is ready at {url} (Ctrl-C stops it).", url=url)))
            self._say(said("Stopping …"))
        finally:
            supervisor.stop()
        self._say(said("Stopped."))

    def _first_login(self, made_up: str | None) -> None:
        if made_up == "":
            self._say(said("First login: {name}, with the password of RAGSITE_ADMIN_PASSWORD.", name=ADMIN_NAME))
        elif made_up:
            self._say(
                said(
                    "First login, shown only this once:\n\n    user      {name}\n    password  {password}\n",
                    name=ADMIN_NAME,
                    password=made_up,
                )
            )

    def _queue_samples(self) -> None:
        """By name, and through the broker: the worker has the site loaded, and nobody waits for it."""
        if settings.LOAD_SAMPLES:
            _send("ragsite.tasks.samples_load_once")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _collect_static_files() -> None:
    root = Path(settings.STATIC_ROOT)  # staticfiles/root/static/VERSION
    folder = root.parents[2]
    done = folder / f"{root.name}.done"
    try:
        folder.mkdir(exist_ok=True)
        with FileLock(folder / "collecting.lock"):  # several sites may start from one checkout
            if not (done.exists() and root.exists()):
                shutil.rmtree(root.parent, ignore_errors=True)
                call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=NEVER_SHOWN)
                done.touch()
    except OSError as error:
        raise StartError(
            f"The folder {folder} for the pages' files cannot be written ({error.strerror}): make it "
            "writable, or run `python manage.py collectstatic` as a user who may write it."
        ) from error


def _queue_index_check() -> None:
    _send("retrieval.tasks.index_check")


def _send(task: str) -> None:
    """A broker that goes away must not end the site: what is left undone is done at the next start."""
    try:
        celery_app.send_task(task, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("%s was not queued: the broker is away (%s)", task, error)
