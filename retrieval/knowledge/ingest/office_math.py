"""Equations of Office files, in which letters, fractions and powers are elements of their own."""

from __future__ import annotations

from lxml import etree

MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


def math_text(element: etree._Element) -> str:
    """An equation on one line."""
    parts = []
    for child in element:
        inner = math_text(child) if len(child) else child.text or ""
        match child.tag.removeprefix(MATH):
            case "den":
                parts.append(f"/{inner}")
            case "sup":
                parts.append(f"^{inner}")
            case "sub":
                parts.append(f"_{inner}")
            case "rad":
                parts.append(f"√{inner}")
            case name if not name.endswith("Pr"):
                parts.append(inner)
    return "".join(parts)
