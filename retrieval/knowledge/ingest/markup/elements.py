"""What elements of a page show besides their text, and where they stand."""

from __future__ import annotations

from lxml import etree

TICKS = {True: "☑ ", False: "☐ "}
SHOWN_INPUTS = (
    "text",
    "email",
    "tel",
    "url",
    "number",
    "date",
    "time",
    "search",
    "month",
    "week",
    "datetime-local",
    "",
)
MAX_ICON_PX = 24


def input_text(element: etree._Element) -> str:
    """What a field of a form shows."""
    kind = (element.get("type") or "").lower()
    if kind in ("checkbox", "radio"):
        return TICKS[element.get("checked") is not None]
    return f" {element.get('value') or ''} " if kind in SHOWN_INPUTS else ""


def is_note(element: etree._Element) -> bool:
    roles = f"{element.get('role') or ''} {element.get('epub:type') or ''}"
    return "footnote" in roles or "endnote" in roles


def is_after(element: etree._Element, tag: str) -> bool:
    previous = element.getprevious()
    return previous is not None and previous.tag == tag and not (previous.tail or "").strip()


def is_large(element: etree._Element) -> bool:
    """Whether a picture is no spacer or icon that says nothing."""
    sizes = [element.get(name) or "" for name in ("width", "height")]
    is_icon = any(size.isdigit() and int(size) <= MAX_ICON_PX for size in sizes)
    return (
        not is_icon
        and element.get("aria-hidden") != "true"
        and element.get("role") != "presentation"
    )
