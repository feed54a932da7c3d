"""Static files: under addresses that change with them, minified and compressed, kept for a year."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.test import AsyncClient, override_settings

from ragsite.management.commands import up
from ragsite.settings import _static_version

SOURCES = Path(site.BASE_DIR) / "ragsite" / "web" / "static"
ADDRESS = "/static/0123456789ab/"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("staticfiles") / "root"
    root = folder / "static" / "0123456789ab"
    with override_settings(STATIC_URL=ADDRESS, STATIC_ROOT=root, SERVESTATIC_ROOT=folder):
        up._collect_static_files()
        yield root


def test_scripts_are_collected_as_they_are_and_minified_where_compressed(root: Path) -> None:
    collected = root / "js" / "dom.js"
    assert collected.read_bytes() == (SOURCES / "js" / "dom.js").read_bytes()
    small = gzip.decompress(collected.with_name("dom.js.gz").read_bytes()).decode()
    assert "@param" not in small and "export function h(" in small


async def test_a_file_is_served_compressed_and_for_a_year(root: Path) -> None:
    response = await AsyncClient().get(f"{ADDRESS}js/dom.js", headers={"accept-encoding": "gzip"})
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "max-age=31536000, public"
    assert response.headers["Content-Encoding"] == "gzip"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_nothing_is_collected_twice(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def collect(*_: Any, **__: Any) -> None:
        raise AssertionError("collected")

    monkeypatch.setattr(up, "call_command", collect)
    up._collect_static_files()


def test_the_version_changes_with_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.js"
    file.write_text("1")
    first = _static_version(tmp_path)
    file.write_text("2")
    assert re.fullmatch("[0-9a-f]{12}", first) and _static_version(tmp_path) != first
