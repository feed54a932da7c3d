"""The catalogues of the interface's texts: complete, with their placeholders, and compiled."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.frontend import CommandLineInterface
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {
    "django": ["chat", "feedback", "ragsite", "retrieval", "templates", "tests/library_texts.py"],
    "djangojs": ["ragsite/web/static/js"],
}
PLACEHOLDER = re.compile(r"(?<!\{)\{\w+(?=[^\w\s])|%\(\w+\)|%[sd]")
DATE = r"(?:%\((?:date|day|moment|on|until)\)s|\{(?:date|day|moment|on|until)\})"
SPACED_DATE = re.compile(
    rf"[\u3000-\u9fff\uff00-\uffef] {DATE}|{DATE} [\u3000-\u9fff\uff00-\uffef]"
)


@pytest.fixture(scope="module", params=SOURCES)
def collected(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Catalog]:
    """A domain, and its texts in the sources as `make messages` reads them."""
    path = tmp_path_factory.mktemp("texts") / "texts.pot"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        CommandLineInterface().run(
            ["", "-q", "extract", "-F", "babel.cfg", "-o", path, *SOURCES[request.param]]
        )
    return request.param, read_po(BytesIO(path.read_bytes()))


@pytest.mark.parametrize("language", ["zh_Hans", "zh_Hant"])
def test_every_text_is_translated_with_its_placeholders_and_compiled(
    collected: tuple[str, Catalog], language: str
) -> None:
    domain, texts = collected
    path = ROOT / "ragsite" / "locale" / language / "LC_MESSAGES" / f"{domain}.po"
    stored = read_po(BytesIO(path.read_bytes()), locale=language)
    assert texts_of(stored).keys() == texts_of(texts).keys(), "run: make messages"
    faults = [ids for (ids, *_), strings in texts_of(stored).items() if not is_whole(ids, strings)]
    assert faults == [], "translate these, and run: make messages"
    assert texts_of(read_mo(BytesIO(path.with_suffix(".mo").read_bytes()))) == texts_of(stored), (
        "run: make messages"
    )


@pytest.mark.parametrize("language", ["zh_Hans", "zh_Hant"])
@pytest.mark.parametrize("domain", SOURCES)
def test_a_date_stands_in_a_chinese_sentence_without_spaces(domain: str, language: str) -> None:
    """Pages write 2026年5月1日; the server's own words hold 2026-05-01, which keeps its spaces."""
    path = ROOT / "ragsite" / "locale" / language / "LC_MESSAGES" / f"{domain}.po"
    stored = read_po(BytesIO(path.read_bytes()), locale=language)
    of_pages = [
        message
        for message in stored
        if any(not source.endswith(".py") for source, _ in message.locations)
    ]
    dated = [
        text for message in of_pages for text in forms(message.string) if re.search(DATE, text)
    ]
    assert dated, "the pages' dates have other placeholders now"
    assert [text for text in dated if SPACED_DATE.search(text)] == []


def texts_of(catalogue: Catalog) -> dict[Any, Any]:
    """Id's forms and context → forms of the translation."""
    return {
        (forms(message.id), *forms(message.context)): forms(message.string)
        for message in catalogue
        if message.id
    }


def forms(value: Any) -> tuple[str, ...]:
    if isinstance(value, bytes):  # the context, of a compiled one
        value = value.decode()
    return (value,) if isinstance(value, str) else tuple(value or ())


def is_whole(ids: tuple[str, ...], strings: tuple[str, ...]) -> bool:
    """Chinese has one form for every number; its placeholders are those of one of the English ones."""
    return all(strings) and {*PLACEHOLDER.findall(strings[0])} in [
        {*PLACEHOLDER.findall(form)} for form in ids
    ]
