"""What the project's Markdown names is there: links with their headings, benchmarks, targets of make."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
# Written for developers and operators; seeds, samples and prompts are data.
PAGES = sorted(
    [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("benchmarks/**/*.md")]
)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
PLACEHOLDERS = {"NAME"}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    seen: dict[str, int] = {}
    found = set()
    for title in re.findall(
        r"^#{1,6} +(.+?) *$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE
    ):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        slug = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return frozenset(found)


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        ):
            broken.append(link)
    return broken


@pages
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


@pages
def test_benchmarks_and_targets_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    benchmarks = set(re.findall(r"\bbenchmarks\.(\w+(?:\.\w+)?)", text)) - PLACEHOLDERS
    assert {name for name in benchmarks if find_spec(f"benchmarks.{name}") is None} == set()
    targets = set(
        re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert set(re.findall(r"`make ([a-z-]+)", text)) - targets == set()


def test_modules_that_benchmarks_and_the_makefile_start_by_name_exist() -> None:
    """Those that are started with `-m`, which no import shows."""
    texts = [path.read_text(encoding="utf-8") for path in (PROJECT / "benchmarks").glob("**/*.py")]
    texts.append((PROJECT / "Makefile").read_text(encoding="utf-8"))
    named = set(re.findall(r"\b(?:benchmarks|tests)(?:\.[a-z]\w*)+", "\n".join(texts)))
    assert {name for name in named if not _is_module_or_in_one(name)} == set()


def _is_module_or_in_one(name: str) -> bool:
    package, _, last = name.rpartition(".")
    if find_spec(name) is not None:
        return True
    return (
        "." in package and find_spec(package) is not None and hasattr(import_module(package), last)
    )
