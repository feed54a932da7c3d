"""The documentation reads as English: no word or turn of phrase that a fluent maintainer would not write."""

from __future__ import annotations

import re
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
}
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
