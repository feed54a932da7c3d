"""The styles of a Word document: which paragraphs are headings, and which runs nobody sees."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, huge_tree=False, remove_comments=True
)
MAX_BASES = 20  # styles that a style is based on, one on the other
UNSEEN_HALF_POINTS = 4  # text of two points and less is not read
WHITE = ("FFFFFF", "WHITE")
NO_GROUND = (None, "auto", *WHITE)
_HEADING = re.compile(r"(?:heading|标题|標題)\s*([1-9])", re.I)
TITLES = ("title", "标题", "標題")


def tag(name: str) -> str:
    return W + name


def value_of(element: etree._Element | None, name: str = "val") -> str | None:
    return None if element is None else element.get(tag(name))


def is_on(element: etree._Element | None) -> bool:
    return element is not None and value_of(element) not in ("0", "false", "off")


class Styles:
    """root: of styles.xml; None where there is none."""

    def __init__(self, root: etree._Element | None) -> None:
        styles = [] if root is None else root.findall(tag("style"))
        self._styles = {value_of(style, "styleId") or "": style for style in styles}
        self._defaults = {
            value_of(style, "type"): value_of(style, "styleId") or ""
            for style in styles
            if value_of(style, "default") in ("1", "true", "on")
        }
        self._is_ground_known = True

    def chain(self, style_id: str | None) -> Iterator[etree._Element]:
        """The style, and those that it is based on."""
        for _ in range(MAX_BASES):
            style = self._styles.get(style_id or "")
            if style is None:
                return
            yield style
            style_id = value_of(style.find(tag("basedOn")))

    def paragraph_chain(self, properties: etree._Element | None) -> Iterator[etree._Element]:
        """The properties of a paragraph, and those of its styles."""
        style_id = None
        if properties is not None:
            yield properties
            style_id = value_of(properties.find(tag("pStyle")))
        for style in self.chain(style_id or self._defaults.get("paragraph")):
            if (inner := style.find(tag("pPr"))) is not None:
                yield inner

    # -------------------------------------------------------------------------------------------- headings
    def heading_level(self, properties: etree._Element | None) -> int:
        """1–6; 0 of a paragraph that is none."""
        if properties is None:
            return 0
        outline = properties.find(tag("outlineLvl"))
        if outline is not None:
            return _level(outline)
        for style in self.chain(value_of(properties.find(tag("pStyle")))):
            name = value_of(style.find(tag("name"))) or ""
            if match := _HEADING.search(name):
                return min(6, int(match[1]))
            if name.lower() in TITLES:
                return 1
            outline = style.find(f"{tag('pPr')}/{tag('outlineLvl')}")
            if outline is not None:
                return _level(outline)
        return 0

    # -------------------------------------------------------------------------------------------- what is seen
    def hides(self, run: etree._Element) -> bool:
        """Whether nobody sees the run: it is hidden, of hardly a point, or white where nothing lies behind it."""
        properties = list(self._run_chain(run))
        for name in ("vanish", "specVanish"):
            hidden = _first(properties, name)
            if hidden is not None and is_on(hidden):
                return True
        size = value_of(_first(properties, "sz")) or ""
        if size.isdigit() and int(size) <= UNSEEN_HALF_POINTS:
            return True
        color = _first(properties, "color")
        is_white = (value_of(color) or "").upper() in WHITE or value_of(color, "themeColor") in (
            "background1",
            "bg1",
        )
        return is_white and not self._has_ground(run, properties)

    def _run_chain(self, run: etree._Element) -> Iterator[etree._Element]:
        own = run.find(tag("rPr"))
        if own is not None:
            yield own
            for style in self.chain(value_of(own.find(tag("rStyle")))):
                yield from style.findall(tag("rPr"))
        paragraph = next(run.iterancestors(tag("p")), None)
        properties = None if paragraph is None else paragraph.find(tag("pPr"))
        style_id = None if properties is None else value_of(properties.find(tag("pStyle")))
        for style in self.chain(style_id or self._defaults.get("paragraph")):
            yield from style.findall(tag("rPr"))

    def _has_ground(self, run: etree._Element, properties: list[etree._Element]) -> bool:
        """Whether something darker than paper lies, or may lie, behind it."""
        highlight = value_of(_first(properties, "highlight"))
        if highlight not in (None, "none", "white") or _is_shaded(_first(properties, "shd")):
            return True
        for around in run.iterancestors(
            tag("p"), tag("tc"), tag("tbl"), tag("txbxContent"), tag("document")
        ):
            if around.tag == tag("txbxContent"):
                return True
            if around.tag == tag("document"):
                return around.find(tag("background")) is not None
            if around.tag == tag("p"):
                chain = list(self.paragraph_chain(around.find(tag("pPr"))))
                if _is_shaded(_first(chain, "shd")):
                    return True
            elif around.tag == tag("tc"):
                shade = around.find(f"{tag('tcPr')}/{tag('shd')}")
                if shade is not None:
                    return _is_shaded(shade)
            elif self._table_may_be_shaded(around):
                return True
        return False

    def _table_may_be_shaded(self, table: etree._Element) -> bool:
        style_id = value_of(table.find(f"{tag('tblPr')}/{tag('tblStyle')}"))
        own = table.find(f"{tag('tblPr')}/{tag('shd')}")
        return _is_shaded(own) or any(
            map(_is_shaded, (s for style in self.chain(style_id) for s in style.iter(tag("shd"))))
        )


def _level(outline: etree._Element) -> int:
    value = value_of(outline) or ""
    return int(value) + 1 if value.isdigit() and int(value) < 6 else 0


def _first(properties: list[etree._Element], name: str) -> etree._Element | None:
    return next((found for one in properties if (found := one.find(tag(name))) is not None), None)


def _is_shaded(shade: etree._Element | None) -> bool:
    if shade is None:
        return False
    fill = value_of(shade, "fill")
    return (fill.upper() if fill and fill != "auto" else fill) not in NO_GROUND or value_of(
        shade, "themeFill"
    ) is not None
