"""Lines of the log say which request and which answer they belong to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ragsite.core.log_ids import current_message, current_request
from tests.processes import free_port
from tests.running_site import ROOT, START_S, environment

# In a process of its own: what is logged where to is set up once for each.
PROGRAM = """
import logging
import django
django.setup()
from ragsite.core.log_ids import current_message, current_request
logging.getLogger("chat").info("nobody's")
current_request.set("r-1")
current_message.set("m-1")
try:
    raise ValueError("no such page")
except ValueError:
    logging.getLogger("chat").exception("%d pages failed", 2)
logging.getLogger("uvicorn.access").info("GET /")
"""


def lines_of(tmp_path: Path, log_format: str) -> list[str]:
    variables = {"DJANGO_SETTINGS_MODULE": "ragsite.settings", "RAGSITE_LOG_FORMAT": log_format}
    environ = environment(tmp_path / "var", free_port(), **variables)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=START_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_json_has_an_object_a_line_with_the_ids(tmp_path: Path) -> None:
    nobodys, failed, asked = map(json.loads, lines_of(tmp_path, "json"))
    assert (nobodys["level"], nobodys["logger"], nobodys["message"]) == ("INFO", "chat", "nobody's")
    assert not {"request_id", "message_id"} & nobodys.keys()
    assert (failed["level"], failed["message"]) == ("ERROR", "2 pages failed")
    assert (failed["request_id"], failed["message_id"]) == ("r-1", "m-1")
    assert "ValueError: no such page" in failed["exc_info"]
    assert (asked["logger"], asked["message"]) == ("uvicorn.access", "GET /")


def test_text_is_for_people(tmp_path: Path) -> None:
    first = lines_of(tmp_path, "text")[0]
    assert first.endswith("INFO chat nobody's")


def test_outside_a_request_there_is_no_id() -> None:
    assert (current_request.get(), current_message.get()) == ("", "")
