"""What the styles of a page hide from its readers: `hidden`, `display: none`, text of no size, of the colour of its
ground, off the screen. Selectors are looked up by `cssselect`, style sheets are read by `tinycss2`."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import tinycss2
from cssselect import SelectorError, parser
from lxml import etree
from tinycss2.color3 import RGBA, parse_color

MAX_STYLE_CHARS = 400_000  # of all sheets of a page that are read
MAX_SELECTORS = 1000
MAX_LOOKUPS = 1_000_000  # elements around others that are looked at
MAX_SIBLINGS = 200  # before an element
SMALL_PX = 1.0  # text of this size is not read
OFF_SCREEN_PX = 500.0
ALIKE = 0.03  # how far a colour may be from its ground, of 1
PROPERTIES = frozenset(
    (
        "display",
        "visibility",
        "opacity",
        "font-size",
        "color",
        "background",
        "background-color",
        "background-image",
        "position",
        "left",
        "top",
        "right",
        "text-indent",
        "clip",
        "clip-path",
        "height",
        "width",
        "max-height",
        "overflow",
        "list-style",
        "list-style-type",
    )
)
PX = {
    "px": 1.0,
    "pt": 4 / 3,
    "em": 16.0,
    "rem": 16.0,
    "%": 16 / 100,
    "vw": 10.0,
    "vh": 10.0,
    "": 1.0,
}
WHITE = RGBA(1.0, 1.0, 1.0, 1.0)
_SIZE = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))\s*(px|pt|em|rem|%|vw|vh|)")
_CLIPPED = re.compile(
    r"rect\((?:\s*[01]?(?:px)?[\s,]*){4}\)|inset\(\s*(?:50|100)%.*\)|circle\(\s*0.*\)"
)

Styles = dict[str, str]
Priority = tuple[bool, tuple[int, int, int], int]  # important, specificity, order
INLINE = (1000, 0, 0)


class Look(NamedTuple):
    """What an element hands on to those in it. ground: the colour behind the text; None: not known."""

    is_visible: bool = True
    is_tiny: bool = False
    color: RGBA | None = None
    ground: RGBA | None = WHITE

    @property
    def is_seen(self) -> bool:
        if not self.is_visible or self.is_tiny:
            return False
        if self.color is None:
            return True
        is_clear = self.color.alpha == 0
        return not is_clear and (
            self.ground is None or _difference(self.color, self.ground) > ALIKE
        )


class ElementVisibility:
    """Of a page's elements. Style sheets elsewhere are not fetched: where there are some, colours say nothing."""

    def __init__(self, root: etree._Element) -> None:
        self._declared: dict[etree._Element, dict[str, tuple[Priority, str]]] = defaultdict(dict)
        self._order = itertools.count()
        self.first = Look(ground=None if _has_foreign_styles(root) else WHITE)
        self._read_sheets(root)

    def styles(self, element: etree._Element) -> Styles:
        """What is declared for it, of the properties that can hide, and of how lists are labelled."""
        declared = dict(self._declared.get(element, {}))
        for name, value, is_important in _declarations(element.get("style") or ""):
            _declare(declared, name, value, (is_important, INLINE, next(self._order)))
        return {name: value for name, (_, value) in declared.items()}

    def _read_sheets(self, root: etree._Element) -> None:
        sheets = [
            sheet
            for sheet in root.iter("style")
            if (sheet.get("media") or "all") in ("all", "screen")
        ]
        text = "\n".join(sheet.text or "" for sheet in sheets)[:MAX_STYLE_CHARS]
        if not text:
            return
        index = _Index(root)
        selectors = 0
        for prelude, declarations in _rules(
            tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
        ):
            try:
                parsed = parser.parse(prelude)
            except SelectorError:
                continue
            for selector in parsed:
                selectors += 1
                if selectors > MAX_SELECTORS or selector.pseudo_element:
                    continue
                order = next(self._order)
                specificity = selector.specificity()
                for element in index.elements(selector):
                    for name, value, is_important in declarations:
                        _declare(
                            self._declared[element], name, value, (is_important, specificity, order)
                        )


class _Index:
    """Finds the elements of a selector: those of its last part by a name, the others by their ancestors and siblings.

    XPath, which `cssselect` would make of it, takes the square of the elements' number where they nest deeply.
    """

    def __init__(self, root: etree._Element) -> None:
        self._by_name: dict[str, list[etree._Element]] = defaultdict(list)
        for element in root.iter(etree.Element):
            self._by_name[element.tag].append(element)
            self._by_name[""].append(element)
            self._by_name[f"#{element.get('id')}"].append(element)
            for name in set((element.get("class") or "").split()):
                self._by_name[f".{name}"].append(element)
        self._left = MAX_LOOKUPS
        self._known: dict[tuple[int, etree._Element], bool] = {}  # of the selector at hand

    def elements(self, selector: Any) -> list[etree._Element]:
        """Those of a selector that is not understood, or takes too long, are none."""
        tree = selector.parsed_tree
        self._known = {}
        last = tree.subselector if isinstance(tree, parser.CombinedSelector) else tree
        try:
            return [
                element
                for element in self._by_name.get(_name(last), [])
                if self._matches(tree, element)
            ]
        except NotImplementedError:
            return []

    def _matches(self, tree: Any, element: etree._Element | None) -> bool:
        """Raises NotImplementedError."""
        if element is None:
            return False
        match tree:
            case parser.Element():
                return tree.element in (None, "*", element.tag)
            case parser.Class():
                return tree.class_name in (element.get("class") or "").split() and self._matches(
                    tree.selector, element
                )
            case parser.Hash():
                return tree.id == element.get("id") and self._matches(tree.selector, element)
            case parser.Attrib(operator="exists"):
                return element.get(tree.attrib) is not None and self._matches(
                    tree.selector, element
                )
            case parser.Attrib(operator="=", value=value) if value is not None:
                return element.get(tree.attrib) == value.value and self._matches(
                    tree.selector, element
                )
            case parser.Negation():
                return not self._matches(tree.subselector, element) and self._matches(
                    tree.selector, element
                )
            case parser.Pseudo(ident="first-child"):
                return element.getprevious() is None and self._matches(tree.selector, element)
            case parser.Pseudo(ident="last-child"):
                return element.getnext() is None and self._matches(tree.selector, element)
            case parser.CombinedSelector():
                return self._matches(tree.subselector, element) and self._is_placed(tree, element)
        raise NotImplementedError

    def _is_placed(self, tree: Any, element: etree._Element) -> bool:
        """Whether what the combined selector asks for stands around or before the element."""
        key = (id(tree), element)
        if key not in self._known:
            match tree.combinator:
                case ">":
                    others = iter([element.getparent()])
                case "+":
                    others = iter([element.getprevious()])
                case "~":
                    others = itertools.islice(element.itersiblings(preceding=True), MAX_SIBLINGS)
                case _:
                    others = element.iterancestors()
            self._known[key] = any(self._is_one(tree.selector, other) for other in others)
        return self._known[key]

    def _is_one(self, tree: Any, element: etree._Element | None) -> bool:
        self._left -= 1
        if self._left < 0:
            raise NotImplementedError
        return self._matches(tree, element)


def _name(tree: Any) -> str:
    """What the elements of a selector's part are found by: "#id", ".class", a tag, or "" for all."""
    match tree:
        case parser.Hash():
            return f"#{tree.id}"
        case parser.Class():
            return f".{tree.class_name}"
        case parser.Element():
            return "" if tree.element in (None, "*") else str(tree.element)
        case _:
            return _name(tree.selector)


# ------------------------------------------------------------------------------------------------ what hides
def is_hidden(element: etree._Element, styles: Mapping[str, str]) -> bool:
    """Whether it stands nowhere, with all that is in it."""
    display = styles.get("display", "none" if _has_hidden(element) else "")
    if (
        display == "none"
        or _number(styles.get("opacity", "1")) == 0
        or _CLIPPED.fullmatch(styles.get("clip", ""))
    ):
        return True
    if (
        _CLIPPED.fullmatch(styles.get("clip-path", ""))
        or _px(styles.get("text-indent", "")) <= -OFF_SCREEN_PX
    ):
        return True
    is_placed = styles.get("position") in ("absolute", "fixed")
    if (
        is_placed
        and min(_px(styles.get(side, "")) for side in ("left", "top", "right")) <= -OFF_SCREEN_PX
    ):
        return True
    sizes = [_size(styles[name]) for name in ("height", "width", "max-height") if name in styles]
    return styles.get("overflow") in ("hidden", "clip") and any(
        size is not None and size <= SMALL_PX for size in sizes
    )


def look_of(styles: Mapping[str, str], around: Look) -> Look:
    """What of `around` the element's own styles change."""
    if not styles:
        return around
    look = around
    if "visibility" in styles:
        look = look._replace(is_visible=styles["visibility"] not in ("hidden", "collapse"))
    size = _size(styles.get("font-size", ""))
    if size is not None:
        look = look._replace(is_tiny=size <= SMALL_PX)
    if "color" in styles:
        color = parse_color(styles["color"])
        look = look._replace(color=color if isinstance(color, RGBA) else None)
    for name in ("background-image", "background", "background-color"):
        if name in styles and styles[name] not in ("none", "transparent", "inherit", "initial"):
            ground = parse_color(styles[name])
            look = look._replace(
                ground=ground if isinstance(ground, RGBA) and ground.alpha == 1 else None
            )
    return look


def _has_hidden(element: etree._Element) -> bool:
    is_closed_dialog = element.tag == "dialog" and element.get("open") is None
    return (
        element.get("hidden") is not None or element.get("popover") is not None or is_closed_dialog
    )


def _has_foreign_styles(root: etree._Element) -> bool:
    links = root.iter("link")
    return any("stylesheet" in (link.get("rel") or "").lower() for link in links)


def _difference(color: RGBA, other: RGBA) -> float:
    return max(
        abs(color.red - other.red), abs(color.green - other.green), abs(color.blue - other.blue)
    )


def _size(value: str) -> float | None:
    """In pixels, about; None for words like "small"."""
    match = _SIZE.fullmatch(value)
    return float(match[1]) * PX[match[2]] if match else None


def _px(value: str) -> float:
    return _size(value) or 0.0


def _number(value: str) -> float:
    match = _SIZE.fullmatch(value)
    return float(match[1]) if match else 1.0


# ------------------------------------------------------------------------------------------------ style sheets
Declaration = tuple[str, str, bool]  # name, value, important


def _rules(nodes: list[Any]) -> Iterator[tuple[str, list[Declaration]]]:
    """(selectors, declarations) of the rules that hold on a screen and declare some of `PROPERTIES`."""
    for node in nodes:
        if node.type == "qualified-rule":
            declarations = list(
                _declared(tinycss2.parse_declaration_list(node.content, skip_comments=True))
            )
            if declarations:
                yield tinycss2.serialize(node.prelude).strip(), declarations
        elif node.type == "at-rule" and node.lower_at_keyword == "media" and node.content:
            inner = tinycss2.parse_rule_list(node.content, skip_comments=True, skip_whitespace=True)
            is_for_screens = tinycss2.serialize(node.prelude).strip().lower() in (
                "all",
                "screen",
                "only screen",
            )
            yield from _rules(inner) if is_for_screens else ()


def _declarations(style: str) -> list[Declaration]:
    if not style:
        return []
    return list(
        _declared(tinycss2.parse_declaration_list(style[:MAX_STYLE_CHARS], skip_comments=True))
    )


def _declared(nodes: list[Any]) -> Iterator[Declaration]:
    for node in nodes:
        if node.type == "declaration" and node.lower_name in PROPERTIES:
            yield node.lower_name, tinycss2.serialize(node.value).strip().lower(), node.important


def _declare(
    declared: dict[str, tuple[Priority, str]], name: str, value: str, priority: Priority
) -> None:
    known = declared.get(name)
    if known is None or known[0] <= priority:
        declared[name] = (priority, value)
