"""How many of our files one question runs through, from its HTTP request to its stored answer, without a model.

    python -m benchmarks.trace_question [--workflow corrective] [--stream] [--files] [--json]

A site of its own with one document answers the question twice. The second time, when everything is loaded, each
function of ours that is called is noted, in all threads. `returns`: somebody who opens the files in the order in which
they first run comes back this often to a folder that was left. Files that only declare something (models, values,
errors) run no function and are not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import threading
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.own_site import set_up
from benchmarks.tables import show

ROOT = str(Path(__file__).resolve().parents[1]) + os.sep
OURS = ("retrieval", "chat", "feedback", "ragsite")
DOCUMENT = (
    "# Loans\n\nUndergraduates may borrow ten books from the university library for four weeks.\n"
)
QUESTION = "How many books may undergraduates borrow from the library?"


class Recorder:
    """File → its functions that ran, both in the order of their first call. One per process: install it first."""

    def __init__(self) -> None:
        self.functions: dict[str, dict[str, None]] = {}
        self.on = False
        threading.setprofile(self._called)  # of the threads that begin from now on
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self.on or event != "call":
            return
        code = frame.f_code
        file = code.co_filename.removeprefix(ROOT)
        if file.partition(os.sep)[0] in OURS and code.co_qualname != "<module>":
            self.functions.setdefault(file, {})[code.co_qualname] = None


async def ask(recorder: Recorder, user: Any, workflow: str, *, stream: bool) -> str:
    """The answer to the question, the second time that it is asked; only then the recorder is on."""
    from asgiref.sync import sync_to_async
    from django.test import AsyncClient

    from chat.models import Message
    from ragsite.accounts.tokens import token_create

    key = await sync_to_async(token_create)(user=user)
    client = AsyncClient()
    headers = {"Authorization": f"Token {key}"}
    for recorder.on in (False, True):
        body = {"message": QUESTION, "workflow": workflow, "stream": stream}
        response = await client.post(
            "/api/chat", body, content_type="application/json", headers=headers
        )
        if response.status_code != 200:
            raise SystemExit(response.content.decode())
        if stream:
            async for _ in response.streaming_content:
                pass
        await asyncio.sleep(0.5)  # the run's own end
    recorder.on = False
    answer = await sync_to_async(Message.objects.filter(role="assistant").latest)("created_at")
    return f"{answer.decision}: {answer.text[:80]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workflow", default="corrective")
    parser.add_argument(
        "--stream", action="store_true", help="follow the answer by Server-Sent Events"
    )
    parser.add_argument(
        "--files", action="store_true", help="one row a file, in the order of their first call"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    recorder = Recorder()
    with tempfile.TemporaryDirectory(prefix="ragsite-trace-") as folder:
        set_up(folder, "")
        from django.contrib.auth.models import User
        from django.core.management import call_command
        from django.test.utils import setup_test_environment

        from ragsite.runtime import milvus_lite

        setup_test_environment()
        user = User.objects.create_user("reader")
        document = Path(folder, "loans.md")
        document.write_text(DOCUMENT)
        with milvus_lite.ensure_server(folder):
            call_command(
                "ingest", str(document), collection="library", owner="reader", stdout=sys.stderr
            )
            answer = asyncio.run(ask(recorder, user, options.workflow, stream=options.stream))
        sys.setprofile(None)
    files = recorder.functions
    if options.files:
        show(
            [{"file": file, "functions": len(names)} for file, names in files.items()],
            as_json=options.json,
        )
        return
    folders = [str(Path(file).parent) for file in files]
    rows = []
    for room in sorted(OURS):
        own = [names for file, names in files.items() if file.startswith(f"{room}{os.sep}")]
        rows.append({"room": room, "files": len(own), "functions": sum(map(len, own))})
    visits = len(list(groupby(folders)))
    rows.append({"room": "all", "files": len(files), "functions": sum(map(len, files.values()))})
    notes = [f"{len(set(folders))} folders, {visits - len(set(folders))} returns", answer]
    show(rows, as_json=options.json, notes=notes)


if __name__ == "__main__":
    main()
