"""What every process and command of the site loads at its start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = "import django, sys; django.setup(); print([name for name in sys.argv[1:] if name in sys.modules])"


def test_what_only_answers_need_is_not_loaded(tmp_path: Path) -> None:
    """It takes longer than all else together, and each of some ten processes of a site would load it."""
    environ = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "ragsite.settings",
        "RAGSITE_DATA_DIR": str(tmp_path),
    }
    command = [sys.executable, "-c", SCRIPT, "langgraph", "langchain_core", "jieba", "pymilvus"]
    assert (
        subprocess.run(command, env=environ, capture_output=True, check=True, text=True).stdout
        == "[]\n"
    )
