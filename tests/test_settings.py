"""Wrong values are refused at start, with the variable's name; the settings' page can't go stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragsite.core.rag_settings import GROUPS, RagSettings
from ragsite.core.settings_group import SettingsError, refuse_unknown
from ragsite.core.site_settings import SiteSettings, email_settings
from tests.settings_page import PAGE, render

GROUPS_OF_ALL = (SiteSettings, *GROUPS.values())
ROOT = Path(__file__).resolve().parent.parent


def manage(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command, environ = [sys.executable, "manage.py", *arguments], {**os.environ, **variables}
    return subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120
    )


def test_a_command_says_it_in_one_sentence() -> None:
    done = manage("check", DATABASE_URL="postgresql://user:secret@host:port/name")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("DATABASE_URL") and "secret" not in done.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [("RAGSITE_PORT", "http"), ("RAGSITE_SIGNUP", "sometimes"), ("REDIS_URL", "127.0.0.1:6379")],
)
def test_a_setting_of_the_site_is_refused_by_its_name(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{variable}"):
        SiteSettings.from_env({variable: value})


def test_a_command_before_the_first_start_says_what_to_do(tmp_path: Path) -> None:
    folder = str(tmp_path / "not" / "there")
    done = manage(
        "ingest", "README.md", "--collection", "rules", RAGSITE_DATA_DIR=folder, DATABASE_URL=""
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "make run" in done.stderr


@pytest.mark.parametrize(
    ("url", "values"),
    [
        ("", {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}),
        (
            "smtp://mail.example.org",
            {"EMAIL_PORT": 587, "EMAIL_USE_TLS": True, "EMAIL_USE_SSL": False},
        ),
        ("smtp://127.0.0.1:25/?tls=0", {"EMAIL_PORT": 25, "EMAIL_USE_TLS": False}),
        (
            "smtps://me%40example.org:p%2Fss@mail.example.org",
            {
                "EMAIL_PORT": 465,
                "EMAIL_USE_SSL": True,
                "EMAIL_USE_TLS": False,
                "EMAIL_HOST_PASSWORD": "p/ss",
            },
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
        ("RAG_REWRITE_VARIANTS", "0", "greater than or equal to 1"),
        ("RAG_RERANK_PROMPT", "/nowhere/rerank.md", "not a file"),
        ("RAG_POSITION_STRATEGY", "middle", "'top_first' or 'sandwich'"),
        ("RAG_OLLAMA_FIRST_TOKEN_TIMEOUT_S", "nan", "finite number"),
        ("MILVUS_URI", "me:pw", "must be an address that starts with http:// or https://"),
    ],
)
def test_the_error_names_the_variable_and_shows_no_password(
    variable: str, value: str, reason: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        RagSettings.from_env({variable: value})
    told = str(caught.value)
    assert told.startswith(variable) and reason in told and "pw" not in told


def test_the_page_of_settings_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m tests.settings_page"


def test_variables_stay_few() -> None:
    assert sum(len(group.variables()) for group in (SiteSettings, *GROUPS.values())) <= 96


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("RAG_SERCH_TOP_K", "RAG_SEARCH_TOP_K"),
        ("RAG_REWRITE_ENABLE", "RAG_REWRITE_ENABLED"),
        ("RAGSITE_PROT", "RAGSITE_PORT"),
    ],
)
def test_a_variable_that_is_no_setting_is_refused_with_the_nearest_name(
    variable: str, nearest: str
) -> None:
    with pytest.raises(SettingsError, match=f"^{variable}: .*{nearest}"):
        refuse_unknown({variable: "1"}, GROUPS_OF_ALL)


def test_variables_of_other_programs_are_left_alone() -> None:
    refuse_unknown(
        {"RAGTIME": "1", "PATH": "/bin", "RAGSITE_KEY": "secret", "RAG_RERANK_URL": ""},
        GROUPS_OF_ALL,
    )


def test_a_command_does_not_start_with_a_misspelt_setting() -> None:
    done = manage("check", RAG_RERANK_ENABLD="1")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("RAG_RERANK_ENABLD") and "RAG_RERANK_ENABLED" in done.stderr
