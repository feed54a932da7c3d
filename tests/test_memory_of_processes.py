"""Which libraries the processes of a site hold when nothing is asked of them: each costs memory in every one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PAGES = ("langgraph", "langchain_core", "langsmith")
READERS_OF_FILES = ("docx", "openpyxl", "pptx", "pypdfium2", "lxml", "PIL")

# As Celery does it at the start of the worker and of the scheduler.
A_WORKER = """
from ragsite.celery import app
from celery.fixups.django import DjangoWorkerFixup
app.loader.import_default_modules()
DjangoWorkerFixup(app).validate_models()
"""
THE_SITE = "import ragsite.asgi"


def imported(program: str, data_dir: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{program}\nimport sys; print(*sys.modules)"],
        env={**os.environ, "RAGSITE_DATA_DIR": str(data_dir), "DJANGO_SETTINGS_MODULE": "ragsite.settings"},
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_worker_and_scheduler_hold_neither_the_workflows_nor_the_readers_of_files(tmp_path):
    held = imported(A_WORKER, tmp_path)
    assert "retrieval.tasks" in held
    assert held.isdisjoint((*PAGES, *READERS_OF_FILES, "pymilvus", "jieba"))


def test_the_site_has_its_pages_before_somebody_asks(tmp_path):
    assert {"ragsite.urls", "chat.urls", "feedback.urls"} <= imported(THE_SITE, tmp_path)


def test_the_site_leaves_the_readers_of_files_to_processes_of_their_own(tmp_path):
    held = imported(THE_SITE, tmp_path)
    assert "retrieval.ingest.reader" in held
    assert held.isdisjoint(READERS_OF_FILES)
