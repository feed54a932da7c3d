"""docs/programs.md: its examples do what they say."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import subprocess
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from feedback.models import GoldenQuestion
from retrieval.knowledge.index_sync.repair import index_repair
from tests.chat.conftest import TEXT, ScriptedWorkflow, program_key
from tests.factories import ChunkFactory, CollectionFactory, DocumentFactory

PAGE = Path(__file__).parents[2] / "docs" / "programs.md"
# The walk through REST (`bash`) has placeholders for a password and an answer's id.
EXAMPLES = re.findall(r"^```(sh|python)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)


def run(language: str, example: str, *, site: str, key: str, folder: Path) -> str:
    """What it prints; its files are written into `folder`."""
    if language == "sh":
        names = {"site": site, "key": key}
        done = subprocess.run(
            ["bash", "-euc", example],
            env=names,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout
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
