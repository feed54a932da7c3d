"""Static files: hashed names that agree with each other, compressed ahead, kept for a year, collected when needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import brotli
import pytest
from django.conf import settings as site
from django.contrib.staticfiles.storage import staticfiles_storage
from django.test import AsyncClient, override_settings

from ragsite.web import static_files

SOURCES = Path(site.BASE_DIR) / "ragsite" / "web" / "static"
IMPORT = re.compile(r"""^(?:import|export)\b[^"'=();]*["'](\.{1,2}/[^"']+)["']|\bawait import\("([^"]+)"\)""", re.M)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("static")
    storages = {**site.STORAGES, "staticfiles": {"BACKEND": "ragsite.web.static_files.HashedFiles"}}
    with override_settings(STATIC_ROOT=root, STORAGES=storages):
        assert static_files.collect() is True
        yield root


def imports(module: Path) -> list[Path]:
    return [(module.parent / (one or lazy)).resolve() for one, lazy in IMPORT.findall(module.read_text("utf-8"))]


def test_every_module_imports_hashed_modules_that_are_there(root: Path) -> None:
    entry = root / staticfiles_storage.stored_name("js/chat/app.js")
    reached, waiting = set(), [entry]
    while waiting:
        module = waiting.pop()
        assert re.search(r"\.[0-9a-f]{12}\.js$", module.name) and module.exists()
        reached.add(module)
        waiting += [one for one in imports(module) if one not in reached]
    assert len(reached) > 15


def test_a_lazy_import_is_written_so_that_it_is_hashed() -> None:
    """`await import("./x.js")` alone is rewritten; any other form would load a second copy under its plain name."""
    code = {path: path.read_text("utf-8") for path in (SOURCES / "js").rglob("*.js")}
    for path, text in code.items():
        lines = [
            line for line in text.splitlines() if "import(" in line and not re.search(r"@\w+ \{|^\s*(\*|//)", line)
        ]
        assert [line for line in lines if "await import(" not in line] == [], path


def test_our_scripts_come_without_comments_and_others_as_they_are(root: Path) -> None:
    ours = (root / staticfiles_storage.stored_name("js/dom.js")).read_text("utf-8")
    assert "@param" not in ours and "export function h(" in ours
    theirs = "js/vendor/temml/temml.js"
    assert (root / staticfiles_storage.stored_name(theirs)).read_bytes() == (SOURCES / theirs).read_bytes()


def test_what_was_collected_is_compressed(root: Path) -> None:
    name = staticfiles_storage.stored_name("js/dom.js")
    assert brotli.decompress((root / f"{name}.br").read_bytes()) == (root / name).read_bytes()
    assert (root / f"{name}.gz").exists()


async def test_a_hashed_file_is_served_compressed_and_for_a_year(root: Path) -> None:
    address = staticfiles_storage.url("js/dom.js")
    response = await AsyncClient().get(address, headers={"accept-encoding": "br"})
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "max-age=315360000, public, immutable"
    assert response.headers["Content-Encoding"] == "br"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_nothing_is_collected_twice_and_a_change_is_noticed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert static_files.collect() is False
    monkeypatch.setattr(static_files, "TOOLS", ("django",))
    assert not static_files.is_current(root)


def test_plain_names_serve_where_nothing_was_collected(tmp_path: Path) -> None:
    with override_settings(STATIC_ROOT=tmp_path):
        assert static_files.HashedFiles().url("js/dom.js") == "/static/js/dom.js"
