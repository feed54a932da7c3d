"""Wrong values are refused at start, with the variable's name; the settings' page can't go stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragsite.core.rag_settings import GROUPS, RagSettings
from ragsite.core.settings_group import SettingsError
from ragsite.core.site_settings import SiteSettings, email_settings
from ragsite.management.commands.settings_doc import render

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RAGSITE_PORT", "http"),
        ("RAGSITE_SIGNUP", "sometimes"),
        ("DATABASE_URL", "postgresql://user:secret@host:port/name"),
        ("REDIS_URL", "127.0.0.1:6379"),
        ("RAG_NUM_CTX", "x"),
    ],
)
def test_a_command_says_it_in_one_sentence(variable: str, value: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={**os.environ, variable: value},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(variable)
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


@pytest.mark.parametrize("folder", ["var", "not/there"])
def test_a_command_before_the_first_start_says_what_to_do(tmp_path: Path, folder: str) -> None:
    (tmp_path / "var").mkdir()
    done = subprocess.run(
        [sys.executable, "manage.py", "ingest", "README.md", "--collection", "rules"],
        cwd=ROOT,
        env={**os.environ, "RAGSITE_DATA_DIR": str(tmp_path / folder), "DATABASE_URL": "", "RAG_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "make run" in done.stderr


@pytest.mark.parametrize(
    ("url", "values"),
    [
        ("", {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}),
        ("smtp://mail.example.org", {"EMAIL_PORT": 587, "EMAIL_USE_TLS": True, "EMAIL_USE_SSL": False}),
        ("smtp://127.0.0.1:25/?tls=0", {"EMAIL_PORT": 25, "EMAIL_USE_TLS": False}),
        (
            "smtps://me%40example.org:p%2Fss@mail.example.org",
            {"EMAIL_PORT": 465, "EMAIL_USE_SSL": True, "EMAIL_USE_TLS": False, "EMAIL_HOST_PASSWORD": "p/ss"},
        ),
    ],
)
def test_one_address_says_how_e_mail_goes_out(url: str, values: dict[str, object]) -> None:
    read = email_settings(url)
    assert {name: read[name] for name in values} == values and read["EMAIL_TIMEOUT"] > 0


@pytest.mark.parametrize(
    "url",
    ["mail.example.org", "http://x", "smtp://", "smtp://h:p", "console"],
)
def test_another_address_for_e_mail_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError, match="EMAIL_URL") as refusal:
        SiteSettings.from_env({"EMAIL_URL": url})
    assert "h:p" not in str(refusal.value)


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("RAG_NUM_CTX", "many", "valid integer"),
        ("RAG_NUM_CTX", "10", "greater than or equal to 1024"),
        ("RAG_OFFLINE", "maybe", "'auto', '0' or '1'"),
        ("RAG_RERANK_ENABLED", "perhaps", "valid boolean"),
        ("RAG_SEARCH_TOP_K", "60", "at most 50"),
        ("RAG_OLLAMA_FIRST_TOKEN_TIMEOUT_S", "nan", "finite number"),
        ("MILVUS_URI", "me:pw", "must be an address that starts with http:// or https://"),
    ],
)
def test_the_error_names_the_variable_and_shows_no_password(variable: str, value: str, reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        RagSettings.from_env({variable: value})
    told = str(caught.value)
    assert told.startswith(variable) and reason in told and "pw" not in told


def test_the_page_of_settings_is_what_the_code_says() -> None:
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == render(), "run: manage.py settings_doc"


def test_variables_stay_few() -> None:
    assert sum(len(group.variables()) for group in (SiteSettings, *GROUPS.values())) <= 60
