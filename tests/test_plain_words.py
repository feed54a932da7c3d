"""Documentation, docstrings and comments read as English: no word or turn of phrase that a fluent maintainer would not
write, and no two classes of one name."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PAGES = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")])
ENGLISH = [page for page in PAGES if ".zh-" not in page.name]
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
TELL_TALE = {
    "again, rewrite, rebuild": re.compile(r"\banew\b"),
    "e-mail": re.compile(
        r"\bletters? (?:is|are|go|goes|begin|wait)\b|\b(?:sends?|in|of|check) letters\b"
    ),
    "reported, notified, shown": re.compile(r"\b(?:is|are) told\b"),
    "a subject, as in “Reviewers can …”": re.compile(
        r"(?:^|[.:;] )Who [a-z]+ (?!decides)[^?\n]*[^?]$", re.MULTILINE
    ),
    "obey, follow": re.compile(r"\bheed(?:s|ed)?\b"),
    "those who, people who": re.compile(r"\b(?:of|for|to|by) who\b"),
    "report, show": re.compile(r"\btells? of\b"),
    "support": re.compile(r"\b(?:bears?|borne) (?:it )?out\b"),
    "continued, resumed": re.compile(r"\bgone on with\b"),
}
ROOMS = ("chat", "feedback", "ragsite", "retrieval")
MODULES = sorted(
    module
    for room in ROOMS
    for module in (PROJECT / room).rglob("*.py")
    if "migrations" not in module.parts
)
# Django's and DRF's own names for what is nested in a class, and the state of each workflow's graph.
NESTED = {"Command", "Kind", "Meta", "Role", "Scope", "State", "Status"}
# A title is a noun phrase, or an instruction ("Add a step"): no clause with a subject of its own.
CLAUSE = re.compile(r"\b(?:is|are|was|were|does|do|has|have|what|who|whatever)\b", re.IGNORECASE)

pages = pytest.mark.parametrize("page", ENGLISH, ids=lambda page: str(page.relative_to(PROJECT)))


def prose(page: Path) -> str:
    return CODE.sub("", page.read_text(encoding="utf-8"))


@pages
def test_prose_has_none_of_the_tell_tale_words(page: Path) -> None:
    found = {better: pattern.findall(prose(page)) for better, pattern in TELL_TALE.items()}
    assert {better: words for better, words in found.items() if words} == {}


@pages
def test_titles_are_noun_phrases(page: Path) -> None:
    titles = re.findall(r"^#{1,6} +(.+?) *$", prose(page), re.MULTILINE)
    assert [title for title in titles if CLAUSE.search(title)] == []


def remarks(module: Path) -> Iterator[str]:
    """Docstrings and comments of a module, each in one line."""
    source = module.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield " ".join((ast.get_docstring(node) or "").split())
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


@pytest.mark.parametrize("room", ROOMS)
def test_remarks_in_the_code_have_none_of_the_tell_tale_words(room: str) -> None:
    found = []
    for module in MODULES:
        if module.relative_to(PROJECT).parts[0] != room:
            continue
        for remark in remarks(module):
            plain = CODE.sub("", remark)
            found += [
                f"{module.relative_to(PROJECT)}: {better}: {match.group()[:60]}"
                for better, pattern in TELL_TALE.items()
                if better != "e-mail"  # in code a letter is one of the alphabet
                for match in pattern.finditer(plain)
            ]
    assert found == []


def test_no_two_classes_have_one_name() -> None:
    names: Counter[str] = Counter()
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                names[node.name] += 1
    assert {name for name, count in names.items() if count > 1} - NESTED == set()
