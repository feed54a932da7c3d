"""A misspelt variable is named at the start and by `manage.py check`."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragsite.core.rag_settings import GROUPS, SiteSettings
from ragsite.retired_settings import GONE, RETIRED
from ragsite.unknown_settings import unknown_variables, warn_of_unknown

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("RAG_CHATMODEL", "RAG_CHAT_MODEL"),
        ("RAGSITE_ALLOWED_HOST", "RAGSITE_ALLOWED_HOSTS"),
        ("RAG_SEARCH_TOPK", "RAG_SEARCH_TOP_K"),
        ("RAGSITE_DATABASE_URL", "DATABASE_URL"),
        ("RAG_OLLAMA_BASE_URL", "OLLAMA_BASE_URL"),
        ("rag_chat_model", "RAG_CHAT_MODEL"),
        ("RAG_COLOUR_OF_THE_DOOR", ""),
    ],
)
def test_the_nearest_variable_is_named(misspelt: str, meant: str) -> None:
    assert unknown_variables({misspelt: "1"}) == {misspelt: meant}


def test_what_is_read_was_read_or_belongs_to_others_is_not_unknown() -> None:
    read = {name for group in (SiteSettings, *GROUPS.values()) for name in group.variables().values()}
    others = {"PATH", "OLLAMA_HOST", "RAGTIME", "RAGSITE_TEST_REDIS_URL"}
    assert unknown_variables(dict.fromkeys(read | set(RETIRED) | set(GONE) | others, "1")) == {}


def test_the_warning_names_both_and_no_value(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_unknown(unknown_variables({"RAGSITE_SECRETKEY": "hush"}))
    (warning,) = caplog.messages
    assert "RAGSITE_SECRETKEY" in warning
    assert "Did you mean RAGSITE_SECRET_KEY?" in warning
    assert "hush" not in warning


def test_manage_py_check_names_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={**os.environ, "RAGSITE_DATA_DIR": str(tmp_path), "RAG_CHATMODEL": "qwen3:8b"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert "(ragsite.W001) Nothing reads the variable RAG_CHATMODEL" in done.stderr
    assert "Did you mean RAG_CHAT_MODEL?" in done.stderr
