"""The plain part of `retrieval` runs in a program that has no Django, no REST framework, no Celery and no Channels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

# Runs in a process of its own, since this one has imported Django long ago.
PROGRAM = """
import importlib, json, pkgutil, sys

REFUSED = ("django", "rest_framework", "celery", "channels")
PLAIN = (
    "ragsite.core.errors", "ragsite.core.rag_settings", "ragsite.core.text", "feedback.ranking",
    "retrieval.values", "retrieval.ports", "retrieval.trace", "retrieval.errors", "retrieval.prompting",
    "retrieval.text", "retrieval.search", "retrieval.providers", "retrieval.steps",
    "retrieval.workflows", "retrieval.ingest",
)

class NoFrameworks:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, NoFrameworks())

def import_all(name):
    package = importlib.import_module(name)
    names = [name]
    for module in pkgutil.walk_packages(getattr(package, "__path__", ()), prefix=f"{name}."):
        importlib.import_module(module.name)
        names.append(module.name)
    return names

imported = [module for name in PLAIN for module in import_all(name)]

import asyncio
from ragsite.core.rag_settings import RagSettings
from retrieval.trace import Trace
from retrieval.workflows import get_workflow
from tests.retrieval.steps.fakes import HANDBOOK, ask, make_tools

engine = make_tools(RagSettings.from_env({"RAG_OFFLINE": "1"}), HANDBOOK)
trace = Trace()
answer = asyncio.run(get_workflow("corrective").answer(ask("What does a late resit cost?"), engine=engine, trace=trace))
frameworks = sorted(name for name in sys.modules if name.partition(".")[0] in REFUSED)
print(json.dumps({
    "imported": imported, "frameworks": frameworks, "decision": answer.decision, "text": answer.text,
    "steps": [step.name for step in trace.steps],
}))
"""


def test_the_plain_part_imports_and_answers_without_any_framework() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    child = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=PROJECT,
        env={**environment, "PYTHONPATH": str(PROJECT)},
    )
    assert child.returncode == 0, child.stderr
    report = json.loads(child.stdout)
    assert report["frameworks"] == []
    assert len(report["imported"]) > 80
    assert report["decision"] == "ANSWER"
    assert "EUR 55" in report["text"]
    assert {"retrieve", "assess", "generate"} <= set(report["steps"])
