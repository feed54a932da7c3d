"""Static files: under addresses that change with them, minified and compressed, kept for a year."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import AsyncClient, override_settings

from ragsite.management.commands import up

ADDRESS = "/static/0123456789ab/"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("staticfiles") / "root"
    root = folder / "static" / "0123456789ab"
    with override_settings(STATIC_URL=ADDRESS, STATIC_ROOT=root, SERVESTATIC_ROOT=folder):
        up._collect_static_files()
        yield root


async def test_a_file_is_served_compressed_and_for_a_year(root: Path) -> None:
    response = await AsyncClient().get(f"{ADDRESS}js/dom.js", headers={"accept-encoding": "gzip"})
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "max-age=31536000, public"
    assert response.headers["Content-Encoding"] == "gzip"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
