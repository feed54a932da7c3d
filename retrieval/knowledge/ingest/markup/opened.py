"""What the buttons, tabs and summaries of a page open: it is read under them as under a heading."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

from lxml import etree

SPACES = re.compile(r"[ \t\n\r\f\u00a0]+")
HEADINGS = {f"h{level}": level for level in range(1, 7)}
OPENED = ("div", "section", "article", "p", "ul", "ol", "dl", "table", "blockquote", "dd")
OPENS = (
    "aria-expanded",
    "aria-controls",
    "data-bs-toggle",
    "data-toggle",
    "data-bs-target",
    "data-target",
)


@dataclass(slots=True)
class Opened:
    """headings: what is opened, by the text of its button, "" where that stands in a heading itself. openers: what is
    shown as such a heading instead of where it stands."""

    headings: dict[etree._Element, str] = field(default_factory=dict)
    openers: set[etree._Element] = field(default_factory=set)


def opened_by(root: etree._Element) -> Opened:
    """What buttons, tabs and summaries open."""
    opened = Opened()
    by_id = {
        element.get("id"): element for element in root.iter(etree.Element) if element.get("id")
    }
    for element in root.iter(etree.Element):
        is_summary = element.tag == "summary" and element.getparent().tag == "details"
        is_button = element.tag == "button" or element.get("role") in ("button", "tab")
        if not is_summary and not is_button and not any(element.get(name) for name in OPENS):
            continue
        target = element.getparent() if is_summary else _target(element, by_id)
        if target is None or target in opened.headings or target is element:
            continue
        is_in_heading = any(
            parent.tag in HEADINGS for parent in itertools.islice(element.iterancestors(), 3)
        )
        text = SPACES.sub(" ", element.text_content()).strip()
        opened.headings[target] = "" if is_in_heading and not is_summary else text
        if not is_in_heading or is_summary:
            opened.openers.add(element)
    return opened


def _target(element: etree._Element, by_id: dict[str, etree._Element]) -> etree._Element | None:
    for name in ("aria-controls", "data-bs-target", "data-target", "href"):
        reference = (element.get(name) or "").removeprefix("#")
        if reference in by_id:
            return by_id[reference]
    here = element
    for _ in range(3):  # it may be wrapped up, in a heading for one
        following = here.getnext()
        if following is not None:
            is_text = following.tag in OPENED and bool(following.text_content().strip())
            return following if is_text else None
        parent = here.getparent()
        if (
            parent is None
            or parent.tag in ("form", "body")
            or len(parent) > 1
            or (parent.text or "").strip()
        ):
            return None
        here = parent
    return None
