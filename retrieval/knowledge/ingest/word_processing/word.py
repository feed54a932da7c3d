"""Word documents: `mammoth` makes HTML of them, which is read like any other.

What it leaves out is put into the document's XML before: the labels of automatic lists (`word_numbering`), headers and
footers, text boxes, equations, fields. What Word does not show is taken out: hidden and unseen runs, deletions.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mammoth
from lxml import etree

from ragsite.core.messages import Sentence, worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest import unread
from retrieval.knowledge.ingest.blocks import ParsedDocument, first_title
from retrieval.knowledge.ingest.markup.html import Mark, read_html
from retrieval.knowledge.ingest.markup.opened import HEADINGS
from retrieval.knowledge.ingest.markup.trees import tree_of
from retrieval.knowledge.ingest.office_math import MATH, math_text
from retrieval.knowledge.ingest.text import MAX_HEADING_CHARS, heading_level
from retrieval.knowledge.ingest.word_processing.word_numbering import MAX_LEVELS, Labels
from retrieval.knowledge.ingest.word_processing.word_styles import PARSER, Styles, is_on, tag

DOCUMENT = "word/document.xml"
PARTS = (".xml", ".rels")  # pictures are not looked at
# What mammoth is given: it takes long for what it does not need, as are the styles.
GIVEN = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|word/(?:document|footnotes|endnotes)\.xml|word/_rels/.*\.rels"
)
NEEDED = frozenset(
    tag(name)
    for name in (
        "pStyle",
        "rStyle",
        "rPr",
        "del",
        "strike",
        "vertAlign",
        "gridSpan",
        "vMerge",
        "tblHeader",
    )
)
CORE_TITLE = "{http://purl.org/dc/elements/1.1/}title"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
CHARTS = (
    "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart",
    "{http://schemas.microsoft.com/office/drawing/2014/chartex}chart",
)
DRAWINGS = (
    "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds",
    tag("object"),
    tag("altChunk"),
)
HEADING = "RagsiteHeading"
ITEM = "RagsiteItem"
LABEL = "RagsiteLabel"
STYLE_MAP = {
    **{f"{HEADING}{level}": f"p.{HEADING}{level} => h{level}:fresh" for level in range(1, 7)},
    **{
        f"{ITEM}{level}": f"p.{ITEM}{level} => p.{ITEM}{level}:fresh"
        for level in range(1, MAX_LEVELS + 1)
    },
    LABEL: f"r.{LABEL} => span.{LABEL}",
}
NO_DOCUMENT = worded("This Word file is damaged: it has no text part. Save it again.")
_PAGE_NUMBER = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b")
_ITEM = re.compile(rf"{ITEM}([1-9])")


def parse_docx(path: Path) -> ParsedDocument:
    """Raises DocumentUnreadableError."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(PARTS)]
        parts = {name: archive.read(name) for name in names}
    if DOCUMENT not in parts:
        raise DocumentUnreadableError(NO_DOCUMENT)
    missing = _prepare(parts)
    pictures = 0

    def count_picture(image: Any) -> list[Any]:
        nonlocal pictures
        pictures += 1
        return []

    result = mammoth.convert_to_html(
        _packed(parts),
        style_map="\n".join(
            line for style, line in STYLE_MAP.items() if style.encode() in parts[DOCUMENT]
        ),
        include_default_style_map=False,
        include_embedded_style_map=False,
        convert_image=count_picture,
    )
    if pictures:
        missing = [unread.pictures(pictures), *missing]
    root = tree_of(f"<body>{result.value}</body>")
    blocks, _ = read_html(root, marks=_marks(root), has_layout_tables=False)
    return ParsedDocument(
        blocks=tuple(blocks), title=_title(parts) or first_title(blocks), unread=tuple(missing)
    )


def _packed(parts: dict[str, bytes]) -> io.BytesIO:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in parts.items():
            if GIVEN.fullmatch(name):
                archive.writestr(name, data)
    packed.seek(0)
    return packed


def _title(parts: dict[str, bytes]) -> str:
    if "docProps/core.xml" not in parts:
        return ""
    title = etree.fromstring(parts["docProps/core.xml"], PARSER).findtext(f".//{CORE_TITLE}")
    return (title or "").strip()


# ------------------------------------------------------------------------------------------------ before mammoth
def _prepare(parts: dict[str, bytes]) -> list[Sentence]:
    """Changes the parts; gives what of them can't be read."""
    styles = Styles(_part(parts, "word/styles.xml"))
    document = _part(parts, DOCUMENT)
    if document is None or (body := document.find(tag("body"))) is None:
        raise DocumentUnreadableError(NO_DOCUMENT)
    above, below = _running_texts(parts, document)
    body[:0] = above
    end = len(body) - 1 if len(body) and body[-1].tag == tag("sectPr") else len(body)
    body[end:end] = below
    labels = Labels(_part(parts, "word/numbering.xml"), styles)
    _make_plain(document, styles)
    for paragraph in list(body.iter(tag("p"))):
        _mark_paragraph(paragraph, styles, labels)
    _leave_needed(document)
    parts[DOCUMENT] = etree.tostring(document)
    for name in ("word/footnotes.xml", "word/endnotes.xml"):
        if (notes := _part(parts, name)) is not None:
            _make_plain(notes, styles)
            _leave_needed(notes)
            parts[name] = etree.tostring(notes)
    counts = [(unread.charts, CHARTS), (unread.drawings, DRAWINGS)]
    found = [(words, sum(1 for _ in document.iter(*tags))) for words, tags in counts]
    return [words(count) for words, count in found if count]


def _part(parts: dict[str, bytes], name: str) -> etree._Element | None:
    return etree.fromstring(parts[name], PARSER) if name in parts else None


def _make_plain(root: etree._Element, styles: Styles) -> None:
    """Only what mammoth reads, and Word shows."""
    for element in list(root.iter(tag("del"), tag("moveFrom"))):
        parent = element.getparent()
        if parent is not None and parent.tag not in (tag("rPr"), tag("trPr")):
            _remove(element)
    for choice in list(root.iter(f"{COMPATIBLE}AlternateContent")):
        _choose(choice)
    for element in list(root.iter(f"{MATH}oMath")):
        _replace(element, [_run(math_text(element))])
    for ruby in list(root.iter(tag("ruby"))):
        base, above = (
            "".join(ruby.find(tag(name)).itertext(tag("t"))) for name in ("rubyBase", "rt")
        )
        _replace(ruby, [_text(f"{base}({above})")])
    for run in list(root.iter(tag("r"))):
        if styles.hides(run):
            _remove(run)
    for element in list(root.iter(tag("fldSimple"), tag("bdo"), tag("dir"), f"{MATH}oMathPara")):
        _replace(element, list(element))
    for content in list(root.iter(tag("txbxContent"))):
        _lift(content)
    for element in root.iter(tag("cr"), tag("ptab")):
        element.tag = tag("br") if element.tag == tag("cr") else tag("tab")


def _leave_needed(root: etree._Element) -> None:
    """Takes out the properties that mammoth, or its HTML, does without."""
    properties = ("pPr", "rPr", "tcPr", "trPr", "tblPr", "tblGrid", "sectPr")
    for element in list(root.iter(*map(tag, properties))):
        for child in list(element):
            if child.tag not in NEEDED:
                element.remove(child)


def _choose(alternatives: etree._Element) -> None:
    """What newer programs show where it holds text, else what older ones do."""
    choice = alternatives.find(f"{COMPATIBLE}Choice")
    fallback = alternatives.find(f"{COMPATIBLE}Fallback")
    has_text = (
        choice is not None and next(choice.iter(tag("t"), *CHARTS, *DRAWINGS), None) is not None
    )
    chosen = choice if has_text or fallback is None else fallback
    _replace(alternatives, [] if chosen is None else list(chosen))


def _lift(content: etree._Element) -> None:
    """A text box's paragraphs, behind the paragraph that it is fixed to."""
    anchor = next(content.iterancestors(tag("p")), None)
    if anchor is None:
        return
    for element in reversed(content):
        anchor.addnext(element)
    _remove(content)


# ------------------------------------------------------------------------------------------------ headers, footers
def _running_texts(
    parts: dict[str, bytes], document: etree._Element
) -> tuple[list[etree._Element], ...]:
    """What stands in headers and in footers, once, without page numbers."""
    relations = _part(parts, "word/_rels/document.xml.rels")
    targets = (
        {} if relations is None else {one.get("Id"): one.get("Target") or "" for one in relations}
    )
    settings = _part(parts, "word/settings.xml")
    has_even = settings is not None and is_on(settings.find(tag("evenAndOddHeaders")))
    texts: tuple[list[etree._Element], ...] = ([], [])
    seen: set[str] = set()
    for section in document.iter(tag("sectPr")):
        shown = {"default": True, "even": has_even, "first": is_on(section.find(tag("titlePg")))}
        for side, kind in zip(texts, ("headerReference", "footerReference"), strict=True):
            for reference in section.findall(tag(kind)):
                target = targets.get(reference.get(f"{RELATION}id"), "")
                part = (
                    _part(parts, f"word/{target}")
                    if shown.get(reference.get(tag("type")) or "default")
                    else None
                )
                side += [] if part is None else _new_texts(part, seen)
    return texts


def _new_texts(part: etree._Element, seen: set[str]) -> Iterator[etree._Element]:
    _without_page_numbers(part)
    for blip in list(part.iter("{*}blip", "{*}imagedata")):  # of the part's own relations
        _remove(blip)
    for element in list(part):
        text = " ".join("".join(element.itertext(tag("t"))).split())
        if any(map(str.isalnum, text)) and text not in seen:
            seen.add(text)
            yield element


def _without_page_numbers(part: etree._Element) -> None:
    for field in list(part.iter(tag("fldSimple"))):
        if _PAGE_NUMBER.match(field.get(tag("instr")) or ""):
            _remove(field)
    for paragraph in part.iter(tag("p")):
        inside: list[etree._Element] = []
        is_number = is_open = False
        for run in list(paragraph.iter(tag("r"))):
            character = run.find(tag("fldChar"))
            state = None if character is None else character.get(tag("fldCharType"))
            is_open = is_open or state == "begin"
            instruction = run.findtext(tag("instrText")) or ""
            is_number = is_number or (is_open and bool(_PAGE_NUMBER.match(instruction)))
            if is_open:
                inside.append(run)
            if state == "end":
                for other in inside if is_number else ():
                    _remove(other)
                inside = []
                is_number = False
                is_open = False


# ------------------------------------------------------------------------------------------------ paragraphs
def _mark_paragraph(paragraph: etree._Element, styles: Styles, labels: Labels) -> None:
    """A heading and a list item get a style of ours, and their label as their first run."""
    properties = paragraph.find(tag("pPr"))
    label, depth = labels.next(properties)
    text = "".join(paragraph.itertext(tag("t"))).strip()
    is_in_table = next(paragraph.iterancestors(tag("tc")), None) is not None
    level = 0 if is_in_table else styles.heading_level(properties) or heading_level(text)
    if not text or (not depth and not level):
        return
    if level and len(text) <= 2 * MAX_HEADING_CHARS:
        style = f"{HEADING}{level}"
    elif depth:
        style = f"{ITEM}{depth}"
    else:
        return
    if properties is None:
        properties = etree.Element(tag("pPr"))
        paragraph.insert(0, properties)
    for element in properties.findall(tag("pStyle")):
        properties.remove(element)
    properties.insert(0, etree.Element(tag("pStyle"), {tag("val"): style}))
    if label:
        run = _run(f"{label} ")
        run.insert(0, etree.Element(tag("rPr")))
        etree.SubElement(run[0], tag("rStyle"), {tag("val"): LABEL})
        paragraph.insert(paragraph.index(properties) + 1, run)


def _run(text: str) -> etree._Element:
    run = etree.Element(tag("r"))
    run.append(_text(text))
    return run


def _text(text: str) -> etree._Element:
    element = etree.Element(tag("t"))
    element.text = text
    return element


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def _replace(element: etree._Element, by: Sequence[etree._Element]) -> None:
    for other in by:
        element.addprevious(other)
    _remove(element)


# ------------------------------------------------------------------------------------------------ after mammoth
def _marks(root: etree._Element) -> dict[etree._Element, Mark]:
    """List items by the class that their style became; notes, brought behind the paragraph that refers to them."""
    marks: dict[etree._Element, Mark] = {}
    for paragraph in root.iter("p"):
        if match := _ITEM.fullmatch(paragraph.get("class") or ""):
            label = next(paragraph.iter("span"), None)
            text = "" if label is None else label.text_content().strip()
            if label is not None:
                label.text = None
            marks[paragraph] = Mark("list_item", int(match[1]), text)
    notes = {
        note.get("id"): note
        for note in root.iter("li")
        if (note.get("id") or "").startswith(("footnote-", "endnote-"))
    }
    last: dict[etree._Element, etree._Element] = {}  # paragraph → the note behind it
    for reference in list(root.iter("sup")):
        link = reference.find("a")
        note = None if link is None else notes.get((link.get("href") or "").removeprefix("#"))
        paragraph = next(reference.iterancestors("p", *HEADINGS), None)
        if note is None or paragraph is None:
            continue
        reference.drop_tree()
        for back in list(note.iter("a")):
            if (back.get("href") or "").startswith(("#footnote-ref", "#endnote-ref")):
                back.drop_tree()
        note.tag = "div"
        last.get(paragraph, paragraph).addnext(note)
        last[paragraph] = note
        for inner in note.iter("p"):
            marks.setdefault(inner, Mark("note"))
    return marks
