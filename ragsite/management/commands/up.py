"""`manage.py up`: the whole site from one command. `make run` calls it."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connections
from filelock import FileLock

from ragsite.core.queueing import enqueue
from ragsite.runtime import start_checks
from ragsite.runtime.milvus_lite import LiteServer, MilvusLiteError
from ragsite.runtime.start_checks import ADMIN_NAME, StartError
from ragsite.runtime.supervisor import DELAYS_S, Supervisor, programs
from retrieval.knowledge.services.reading_progress import reading_progress_of_all

LOOK_EVERY_S = 2.0  # at what is being read
TOLD_EVERY_S = 15.0
SAMPLES_WITHIN_S = 60.0  # of a new site, for a worker to begin with them
NEVER_SHOWN = [
    "redoc",
    "rest_framework",
    "*.map",
    "*.d.ts",
    "LICENSE*",
    "README*",
]  # files of libraries
logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Start web, worker, beat and Milvus Lite; Ctrl-C stops them all."
    requires_system_checks: list[
        str
    ] = []  # they import the whole site, which the web process does anyway

    def handle(self, *args: Any, **options: Any) -> None:
        data_dir: Path = settings.DATA_DIR
        try:
            start_checks.make_folders(data_dir)
            with start_checks.claimed_folder(data_dir):
                start_checks.check_port(settings.SITE.host, settings.SITE.port)
                start_checks.check_broker(settings.REDIS_URL)
                start_checks.make_secret_key(data_dir)
                _collect_static_files()
                self._serve(data_dir)
        except (StartError, MilvusLiteError) as error:
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
                look_again = partial(
                    enqueue, "retrieval.tasks.index_check"
                )  # its last writes may be lost
                supervisor.add(
                    LiteServer(data_dir, port=settings.RAG.milvus.lite_port),
                    when_restarted=look_again,
                )
            start_checks.migrate()
            self._first_login(start_checks.make_admin(settings.SITE.admin_password))
            connections.close_all()  # nothing here needs the database any more
            for program in programs(
                data_dir=data_dir,
                base_dir=settings.BASE_DIR,
                host=settings.SITE.host,
                port=settings.SITE.port,
                workers=settings.RAG.ingest.workers,
                environ=settings.ENVIRON,
            ):
                supervisor.add(program, delay_s=DELAYS_S.get(program.name, 0.0))
            if settings.SITE.sample_data:
                enqueue("ragsite.tasks.samples_load_once")
            supervisor.run(when_ready=partial(self._ready, url))
            self._say("Stopping …")
        finally:
            supervisor.stop()
        self._say("Stopped.")

    def _ready(self, url: str) -> None:
        self._say(f"Ragsite is ready at {url} (Ctrl-C stops it).")
        threading.Thread(
            target=tell_reading, args=(self._say,), name="reading", daemon=True
        ).start()

    def _first_login(self, made_up: str | None) -> None:
        if made_up == "":
            self._say(f"First login: {ADMIN_NAME}, with the password of RAGSITE_ADMIN_PASSWORD.")
        elif made_up:
            self._say(
                f"First login, shown only this once:\n\n    user      {ADMIN_NAME}\n    password  {made_up}\n"
            )

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def tell_reading(say: Callable[[str], object], *, look_every_s: float = LOOK_EVERY_S) -> None:
    """Say how far the reading of documents is, from when some are left to be read until none is: what is asked
    meanwhile is not answered from them."""
    until = time.monotonic() + SAMPLES_WITHIN_S
    told_at = 0.0
    while told_at or time.monotonic() < until:
        try:
            progress = reading_progress_of_all()
        except DatabaseError as error:
            logger.warning("the reading of documents could not be followed: %s", error)
            return
        finally:
            connections.close_all()
        if told_at and not progress.total:
            say("All documents are read.")
            return
        if progress.total and time.monotonic() - told_at >= TOLD_EVERY_S:
            say(f"Documents being read: {progress.total}, {progress.done} done.")
            told_at = time.monotonic()
        time.sleep(look_every_s)


def _collect_static_files() -> None:
    root = Path(settings.STATIC_ROOT)  # staticfiles/root/static/VERSION
    folder = root.parents[2]
    done = folder / f"{root.name}.done"
    try:
        folder.mkdir(exist_ok=True)
        with FileLock(folder / "collecting.lock"):  # several sites may start from one checkout
            if not (done.exists() and root.exists()):
                shutil.rmtree(root.parent, ignore_errors=True)
                call_command(
                    "collectstatic", interactive=False, verbosity=0, ignore_patterns=NEVER_SHOWN
                )
                done.touch()
    except OSError as error:
        raise StartError(
            f"The folder {folder} for the pages' files cannot be written ({error.strerror}): make it "
            "writable, or run `python manage.py collectstatic` as a user who may write it."
        ) from error
