"""What a citation of a table's row, of a slide and of an attachment leads to."""

from __future__ import annotations

import io
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pptx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, Site
from tests.browser.test_journey import WELCOME, OpenPage, ask, sign_up
from tests.retrieval.knowledge.ingest.files import xlsx_bytes

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def workbook() -> bytes:
    berths = [
        ("Berth", "Fee"),
        *((f"Berth {number}", f"{100 + number} euros") for number in range(1, 61)),
    ]
    return xlsx_bytes({"Staff": [("Name", "Desk"), ("Ida", 4)], "Moorings": berths})


def slides() -> bytes:
    presentation = pptx.Presentation()
    for number in range(1, 6):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Regatta, part {number}"
        is_start = number == 4
        slide.placeholders[1].text = (
            "The regatta starts at 10:40." if is_start else f"Rule {number} is on the board."
        )
    data = io.BytesIO()
    presentation.save(data)
    return data.getvalue()


def mail() -> bytes:
    message = EmailMessage()
    message["Subject"] = "Slipway repairs"
    message.set_content("The slipway is closed in March.")
    keys = b"The spare keys hang in locker 88.\n"
    message.add_attachment(keys, maintype="text", subtype="plain", filename="keys.txt")
    return message.as_bytes()


@pytest.mark.parametrize(
    ("name", "data", "question", "answer", "marked", "place"),
    [
        (
            "moorings.xlsx",
            workbook,
            "What does berth 37 cost?",
            "Berth 37 costs 137 euros [1].",
            "Berth 37",
            "Moorings",
        ),
        (
            "regatta.pptx",
            slides,
            "When does the regatta start?",
            "The regatta starts at 10:40 [1].",
            "10:40",
            "Slide 4",
        ),
        (
            "slipway.eml",
            mail,
            "Where do the spare keys hang?",
            "They hang in locker 88 [1].",
            "locker 88",
            "keys.txt",
        ),
    ],
)
def test_what_is_cited_is_marked_where_it_stands(
    open_page: OpenPage,
    site: Site,
    tmp_path: Path,
    name: str,
    data: Callable[[], bytes],
    question: str,
    answer: str,
    marked: str,
    place: str,
) -> None:
    site.ollama.reset()
    site.ollama.reply(structured=False, text=answer)
    page = open_page(DESKTOP)
    sign_up(page)
    file = tmp_path / name
    file.write_bytes(data())
    page.goto("/documents/")
    page.get_by_label("Files to upload").set_input_files(file)
    expect(page.locator(".doc .is-ready")).to_be_visible(timeout=60_000)
    page.goto("/")
    expect(page.get_by_role("heading", name=WELCOME)).to_be_visible()
    given = ask(page, question)
    given.locator(".prose .citation").first.click()
    panel = page.locator("#source-panel")
    expect(panel.locator("mark.evidence").filter(has_text=marked).first).to_be_in_viewport()
    expect(panel).to_contain_text(place)
