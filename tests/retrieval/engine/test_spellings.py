"""One word in Traditional and in Simplified Chinese: what a search of texts in the database finds."""

from __future__ import annotations

import re

import pytest

from retrieval.knowledge.lookups import either_script
from retrieval.models import Document
from tests.factories import DocumentFactory


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("研讨室", ["研討室", "研讨室"]),
        ("研討室", ["研討室", "研讨室"]),
        ("台湾", ["台灣", "臺灣", "台湾", "臺湾"]),
        ("頭髮", ["头发", "頭髮"]),
        ("皇后", ["皇后"]),
        ("干燥 (50%)", ["乾燥 (50%)", "干燥 (50%)"]),
    ],
)
def test_a_pattern_is_met_by_every_spelling(text: str, others: list[str]) -> None:
    assert [other for other in others if not re.fullmatch(either_script(text), other)] == []
    assert re.search(either_script(text), "研究 室 100") is None


@pytest.mark.parametrize("text", ["", "loan (.*", "研究", "\0%_\\"])
def test_a_text_with_one_spelling_needs_none(text: str) -> None:
    assert either_script(text) == re.escape(text)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("研討室", True), ("研讨室", True), ("研讨室 a", True), ("研讨室 A+(100%_) \\ [*", True), ("研究室", False),
        ("", True), ("a+(100%", True), ("讨室 AA", False), ("讨室 .", False), ("***讨室", False), ("讨室%", False),
        ("讨_A", False),
    ],
)  # fmt: skip
def test_the_lookup_takes_every_character_as_it_is(wanted: str, found: bool) -> None:
    DocumentFactory(title="研討室 a+(100%_) \\ [*]")
    assert Document.objects.filter(title__icontains_han=wanted).exists() is found
    assert Document.objects.exclude(title__icontains_han=wanted).exists() is not found
