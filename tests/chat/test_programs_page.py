"""docs/programs.md: its examples do what they say."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from feedback.models import GoldenQuestion
from retrieval.knowledge.index_sync.repair import index_repair
from tests.chat.conftest import TEXT, ScriptedWorkflow, program_key
from tests.clients import person
from tests.factories import (
    PASSWORD,
    ChunkFactory,
    CollectionFactory,
    DocumentFactory,
    SessionFactory,
    UserFactory,
    answered,
)
from tests.retrieval.knowledge.ingest.files import pdf_bytes

PAGE = Path(__file__).parents[2] / "docs" / "programs.md"
TEXT_OF_PAGE = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(sh|python)\n(.*?)^```", TEXT_OF_PAGE, re.S | re.M)
# Calls that follow each other, with placeholders for the site, a password and an answer's id.
WALK = re.findall(r"^```bash\n(.*?)^```", TEXT_OF_PAGE, re.S | re.M)


def shell(example: str, folder: Path, **names: str) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example],
        env=names,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def run(language: str, example: str, *, site: str, key: str, folder: Path) -> str:
    """What it prints; its files are written into `folder`."""
    if language == "sh":
        return shell(example, folder, site=site, key=key)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example, {"site": site, "key": key})
    return printed.getvalue()


async def test_each_example_prints_an_answer(
    site_url: str,
    user: User,
    milvus: Any,
    offline: None,
    workflow: ScriptedWorkflow,
    tmp_path: Path,
) -> None:
    loans = await sync_to_async(DocumentFactory)(
        collection=await sync_to_async(CollectionFactory)(builtin=True)
    )
    await sync_to_async(ChunkFactory)(document=loans, text="Ten books may be borrowed.")
    await index_repair()
    await GoldenQuestion.objects.acreate(
        text="Who may park?", collection=loans.collection, expects="NO_ANSWER"
    )
    user.is_staff = user.is_superuser = True  # as one of the examples is for curators
    await user.asave()
    key = await sync_to_async(program_key)(user, "read", "ask", "review")
    printed = [
        await asyncio.to_thread(run, language, example, site=site_url, key=key, folder=tmp_path)
        for language, example in EXAMPLES
    ]
    assert [language for language, _ in EXAMPLES] == ["sh", "sh", "python", "python"]
    assert "Ten books may be borrowed." in printed[0]
    assert '"unchanged"' in printed[1]
    assert [text.strip() for text in printed[2:]] == [TEXT, TEXT]


async def test_the_calls_of_the_walk_are_answered(
    site_url: str,
    transactional_db: None,
    milvus: Any,
    offline: None,
    workflow: ScriptedWorkflow,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *args, **options: None)
    admin = await sync_to_async(UserFactory)(username="admin", is_staff=True, is_superuser=True)
    handbook = await sync_to_async(CollectionFactory)(builtin=True, name="handbook")
    await sync_to_async(DocumentFactory)(collection=handbook, doc_type="policy")
    conversation = await sync_to_async(SessionFactory)(user=admin)
    refusal = await sync_to_async(answered)(session=conversation, decision="NO_ANSWER", text="No.")
    await sync_to_async(person)("Curators")  # to whom a question may be sent
    (tmp_path / "rules.pdf").write_bytes(pdf_bytes(["Ten books may be borrowed."]))
    (tmp_path / "notes.txt").write_text("A note.")

    first, *calls = "\n".join(WALK).split("\n\n")
    placeholders = {"http://127.0.0.1:8000": site_url, '"..."': f'"{PASSWORD}"'}
    for placeholder, value in placeholders.items():
        first = first.replace(placeholder, value)
    token = await asyncio.to_thread(shell, f"{first}\nprintf %s $token", tmp_path)
    printed = [
        await asyncio.to_thread(
            shell,
            call.replace("MESSAGE_ID", str(refusal.pk)),
            tmp_path,
            site=site_url,
            token=token,
        )
        for call in calls
    ]
    assert len(printed) == 9
    assert [reply for reply in printed if '"error":{' in reply or not reply] == []
    upload, answer, events, *_ = printed
    assert upload.count('"status":"') >= 2
    assert json.loads(answer)["answer"] == TEXT
    assert '"type": "done"' in events
