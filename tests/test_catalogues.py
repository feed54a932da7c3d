"""The catalogues of the interface's texts: complete, in order, and compiled."""

from __future__ import annotations

from itertools import product

import pytest

from ragsite import catalogues

EVERY = list(product(catalogues.LANGUAGES, catalogues.DOMAINS))


@pytest.mark.parametrize(("language", "domain"), EVERY)
def test_every_text_of_the_sources_is_translated_with_its_placeholders(language: str, domain: str) -> None:
    assert catalogues.faults(language, domain) == [], "run: make messages, then translate what it lists"


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_what_is_compiled_is_what_the_catalogues_say(language: str) -> None:
    stale = [path.name for path, content in catalogues.compiled(language).items() if path.read_bytes() != content]
    assert stale == [], "run: make messages"
