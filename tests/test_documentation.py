"""What the documentation tells people to type, call and click is there: commands with their options, addresses of the
API, settings, and the words on the pages; the READMEs in Chinese have what the English one has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from uuid import uuid4

import pytest
from babel.messages.pofile import read_po
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.urls import Resolver404, resolve

PROJECT = Path(__file__).parents[1]
PAGES = sorted(
    [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("deploy/**/*.md")]
)
# Those that lead through the pages, whose words are emphasised.
GUIDE_NAMES = ["asking", "assistants", "operations", "programs", "review", "sources", "tutorial"]
GUIDES = [*PROJECT.glob("README*.md"), *(PROJECT / "docs" / f"{name}.md" for name in GUIDE_NAMES)]
CHINESE = ("zh-Hans", "zh-Hant")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
# A line of a block, which may go on behind a backslash, or code in a sentence; what follows "#" is a remark.
COMMAND = re.compile(
    r"(?:^|[ `])(?:\.venv/bin/)?(?:python )?manage\.py ((?:[^`\n\\]|\\\n)*)", re.MULTILINE
)
VALUES = {"DIR": "folder", "FILE": "file", "FOLDER": "folder"}
CALL = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE)\s+(/(?:api|v1)/[^\s`?…]+)")
EMPHASISED = re.compile(r"(?<![*\w])\*([^*\s][^*\n]{0,60}[^*\n.。])\*(?![*\w])")
# Emphasis that is no text of a page: states in prose, and what another program's page says.
NO_LABELS = {"both", "ready", "reviewed", "resolved", "Admin", "Connections"}


def relative(page: Path) -> str:
    return str(page.relative_to(PROJECT))


pages = pytest.mark.parametrize("page", PAGES, ids=relative)
guides = pytest.mark.parametrize("page", GUIDES, ids=relative)


def commands(text: str) -> list[list[str]]:
    """Each with its arguments, as a shell would split them."""
    found = []
    for line in COMMAND.findall(text):
        plain = line.replace("\\\n", " ").split(" #")[0].split(" | ")[0].split(" && ")[0]
        words = shlex.split(re.sub(r"[\[\]]", "", plain))
        found.append([VALUES.get(word, word) for word in words])
    return [words for words in found if words and re.fullmatch(r"[a-z_]+", words[0])]


@pages
def test_commands_and_their_options_exist(page: Path) -> None:
    apps = get_commands()
    for name, *arguments in commands(page.read_text(encoding="utf-8")):
        command = (
            load_command_class(apps[name], name) if isinstance(apps[name], str) else apps[name]
        )
        parser = command.create_parser("manage.py", name)
        if arguments:  # a bare name in a sentence is no call
            parser.parse_args(arguments)


@pages
def test_calls_of_the_api_exist(page: Path) -> None:
    wrong = []
    for method, address in CALL.findall(page.read_text(encoding="utf-8")):
        path = re.sub(r"\{[a-z_]*id\}|[A-Z]+_ID|/ID\b", lambda one: _id(one.group()), address)
        path = re.sub(r"\{[a-z_]+\}", "name", path).rstrip(".,;:)")
        if not _answers(method, path):
            wrong.append(f"{method} {address}")
    assert wrong == []


def _id(placeholder: str) -> str:
    return f"/{uuid4()}" if placeholder.startswith("/") else str(uuid4())


def _answers(method: str, path: str) -> bool:
    try:
        view = resolve(path).func
    except Resolver404:
        return False
    view_class = getattr(view, "view_class", None) or getattr(view, "cls", None)
    return view_class is None or hasattr(view_class, method.lower())


def test_settings_that_are_named_exist() -> None:
    """In the page of all settings, which another test compares with the code."""
    known = set(_settings_of(PROJECT / "docs" / "settings.md"))
    named = {name: page.name for page in PAGES for name in _settings_of(page)}
    unknown = {name: page for name, page in named.items() if name not in known}
    assert unknown == {} and len(named) > 70


def test_operations_names_what_can_be_changed_while_the_site_runs() -> None:
    changed = {name for name in settings.CONSTANCE_CONFIG if "RETENTION" not in name}
    section = (PROJECT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = section.split("## Runtime settings\n")[1].split("\n## ")[0]
    assert changed == set(re.findall(r"`(RAG\w+)`", section))


def _settings_of(page: Path) -> list[str]:
    names = re.findall(r"\bRAG(?:SITE)?_[A-Z][A-Z_]*[A-Z]\b(?!_)", page.read_text(encoding="utf-8"))
    return [name for name in names if not name.startswith("RAGSITE_TEST_")]


def labels(language: str) -> set[str]:
    """The texts of the pages and of their scripts in a language."""
    english = language == "en"
    folder = PROJECT / "ragsite/locale" / ("zh_Hans" if english else language.replace("-", "_"))
    found: set[str] = set()
    for domain in ("django", "djangojs"):
        with (folder / "LC_MESSAGES" / f"{domain}.po").open("rb") as file:
            for message in read_po(file):
                texts = message.id if english else message.string
                found.update([texts] if isinstance(texts, str) else texts)
    return found


@guides
def test_words_of_the_pages_are_as_the_pages_have_them(page: Path) -> None:
    language = next((tag for tag in CHINESE if f".{tag}." in page.name), "en")
    prose = CODE.sub("", page.read_text(encoding="utf-8")).replace("**", "")
    said = {part for words in EMPHASISED.findall(prose) for part in words.split(" › ")}
    assert said - NO_LABELS - labels(language) == set()


@pytest.mark.parametrize("language", CHINESE)
def test_a_chinese_readme_has_what_the_english_one_has(language: str) -> None:
    english = (PROJECT / "README.md").read_text(encoding="utf-8")
    chinese = (PROJECT / f"README.{language}.md").read_text(encoding="utf-8")
    for what, pattern in {
        "headings": r"^(#+) ",
        "pictures": r"<img src=\"([^\"]+)\"",
        "items": r"^(- |\d\. )",
        "rows of tables": r"^(\|)",
        "links": r"\]\(((?!README|#)[^)]+)\)",
    }.items():
        here = sorted(re.findall(pattern, FENCED.sub("", chinese), re.MULTILINE))
        there = sorted(re.findall(pattern, FENCED.sub("", english), re.MULTILINE))
        assert here == there, what
    assert commands_of(english) == commands_of(chinese)


def commands_of(readme: str) -> list[str]:
    """What is to be typed, without remarks and questions, which are in the page's language."""
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", readme, re.DOTALL | re.MULTILINE))
    return [re.sub(r'"[^"]*"', '""', line.split("#")[0]).strip() for line in blocks.splitlines()]
