"""What a viewer shows on a PDF's page besides its content: the values of form fields, and annotations."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium_c

from retrieval.knowledge.ingest.pdf.geometry import Rect
from retrieval.knowledge.ingest.pdf.runs import TextLine, joined
from retrieval.knowledge.ingest.pdf.text import PageText

MAX_ANNOTATIONS = 5_000  # of a page
MAX_TEXT_BYTES = 2_000_000  # of one of them
MAX_LEADING = 1.5  # of a line's height
ON_ONE_LINE = 0.5  # of the lower one's height that both have in common
BESIDE = 3.0  # points that a value may overlap its label
NEAR = 40.0  # points between a box to tick and its label behind it
CHECKED = "☑"
NOT_CHECKED = "☐"
TICKS = (CHECKED, NOT_CHECKED)
HIDDEN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
PASSWORD_FIELD = 1 << 13
# Their text stands on the page; that of others is a note on it, which a viewer shows beside it.
ON_PAGE = (pdfium_c.FPDF_ANNOT_FREETEXT, pdfium_c.FPDF_ANNOT_STAMP)
NOT_READ = (pdfium_c.FPDF_ANNOT_LINK, pdfium_c.FPDF_ANNOT_POPUP)
_BOXES = (pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON)
_LISTS = (pdfium_c.FPDF_FORMFIELD_COMBOBOX, pdfium_c.FPDF_FORMFIELD_LISTBOX)
_Getter = Callable[..., int]


class Annotation(NamedTuple):
    """box: in points of the page. is_note: shown beside the page, not on it."""

    text: str
    box: pdfium_c.FS_RECTF
    is_note: bool = False


class PageAnnotations(NamedTuple):
    """read: those that hold text. files: how many are attached files. has_stamps: some show more than their text
    (`with_stamps`)."""

    read: tuple[Annotation, ...]
    files: int
    has_stamps: bool


def page_annotations(page: pypdfium2.PdfPage) -> PageAnnotations:
    """In their order. The document's form was initialised before the page was loaded."""
    read: list[Annotation] = []
    files = 0
    has_stamps = False
    for at in range(min(MAX_ANNOTATIONS, pdfium_c.FPDFPage_GetAnnotCount(page))):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, at)
        if not annotation:
            continue
        try:
            if pdfium_c.FPDFAnnot_GetFlags(annotation) & HIDDEN:
                continue
            kind = pdfium_c.FPDFAnnot_GetSubtype(annotation)
            files += kind == pdfium_c.FPDF_ANNOT_FILEATTACHMENT
            box = pdfium_c.FS_RECTF()
            pdfium_c.FPDFAnnot_GetRect(annotation, box)
            if kind == pdfium_c.FPDF_ANNOT_WIDGET:
                text = _field_value(page, annotation)
            elif kind == pdfium_c.FPDF_ANNOT_STAMP and pdfium_c.FPDFAnnot_HasKey(annotation, b"AP"):
                has_stamps = True
                text = ""
            elif kind in NOT_READ:
                text = ""
            else:
                text = _annotation_text(annotation, kind)
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)
        if text:
            read.append(
                Annotation(text, box, kind != pdfium_c.FPDF_ANNOT_WIDGET and kind not in ON_PAGE)
            )
    return PageAnnotations(tuple(read), files, has_stamps)


def place_on_page(lines: list[TextLine], annotation: Annotation, page: PageText) -> None:
    """Puts a value into the page's lines: into that of its label, which stands on its left or behind a box to tick,
    else below the line above it."""
    box = annotation.box
    texts = annotation.text.split("\n")
    usual = (
        sorted(line.height for line in lines)[len(lines) // 2] if lines else box.top - box.bottom
    )
    step = min((box.top - box.bottom) / len(texts), MAX_LEADING * usual)
    for number, text in enumerate(texts):
        top = box.top - number * step
        place = pdfium_c.FS_RECTF(left=box.left, top=top, right=box.right, bottom=top - step)
        added = page.line(page.add(text, place))
        rect = page.rect(added.run.places[0]).around(page.rect(added.run.places[-1]))
        near = _neighbours(rect, lines, page)
        is_tick = annotation.text in TICKS
        if is_tick and near.after >= 0 and _left(lines[near.after], page) - rect.right <= NEAR:
            lines[near.after] = _merged(added, lines[near.after], lines[near.after])
        elif near.before >= 0 and not number:
            lines[near.before] = _merged(lines[near.before], added, lines[near.before])
        else:
            lines.insert(near.above + 1, replace(added, height=min(added.height, usual)))


class _Neighbours(NamedTuple):
    """Numbers of the lines nearest on the left, nearest on the right, and last above; -1: there is none."""

    before: int
    after: int
    above: int


def _neighbours(rect: Rect, lines: Sequence[TextLine], page: PageText) -> _Neighbours:
    before = -1
    after = -1
    above = -1
    for at, line in enumerate(lines):
        if line.turn:
            continue
        first = page.rect(line.run.places[0])
        if first.bottom >= rect.top - BESIDE:
            above = at
        shared = min(rect.top, first.top) - max(rect.bottom, first.bottom)
        if shared <= ON_ONE_LINE * min(rect.height, first.height):
            continue
        right = _right(line, page)
        is_left = right <= rect.left + BESIDE
        is_right = rect.right <= first.left + BESIDE
        if is_left and (before < 0 or _right(lines[before], page) < right):
            before = at
        elif is_right and (after < 0 or first.left < _left(lines[after], page)):
            after = at
    return _Neighbours(before, after, above)


def _merged(first: TextLine, second: TextLine, known: TextLine) -> TextLine:
    return replace(known, run=joined([first.run, " ", second.run]))


def _left(line: TextLine, page: PageText) -> float:
    return page.rect(line.run.places[0]).left


def _right(line: TextLine, page: PageText) -> float:
    return page.rect(line.run.places[-1]).right


def _field_value(page: pypdfium2.PdfPage, annotation: object) -> str:
    """As it is shown; "" for a field that is empty, and for a button or a signature."""
    if page.formenv is None:
        return ""
    kind = pdfium_c.FPDFAnnot_GetFormFieldType(page.formenv, annotation)
    if kind in _BOXES:
        return CHECKED if pdfium_c.FPDFAnnot_IsChecked(page.formenv, annotation) else NOT_CHECKED
    if kind == pdfium_c.FPDF_FORMFIELD_TEXTFIELD:
        if pdfium_c.FPDFAnnot_GetFormFieldFlags(page.formenv, annotation) & PASSWORD_FIELD:
            return ""
        return _string(pdfium_c.FPDFAnnot_GetFormFieldValue, page.formenv, annotation)
    if kind not in _LISTS:
        return ""
    count = max(
        0, min(MAX_ANNOTATIONS, pdfium_c.FPDFAnnot_GetOptionCount(page.formenv, annotation))
    )
    chosen = [
        _string(pdfium_c.FPDFAnnot_GetOptionLabel, page.formenv, annotation, at)
        for at in range(count)
        if pdfium_c.FPDFAnnot_IsOptionSelected(page.formenv, annotation, at)
    ]
    # An editable list may hold a value that is none of its options.
    return ", ".join(chosen) or _string(
        pdfium_c.FPDFAnnot_GetFormFieldValue, page.formenv, annotation
    )


def _annotation_text(annotation: object, kind: int) -> str:
    contents = _string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents")
    if kind == pdfium_c.FPDF_ANNOT_STAMP:  # without a picture of it
        return contents or _string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Name")
    if kind == pdfium_c.FPDF_ANNOT_FREETEXT or not contents:
        return contents
    author = _string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"T")
    return f"{author}: {contents}" if author else contents


def with_stamps(page: pypdfium2.PdfPage, number: int) -> pypdfium2.PdfPage:
    """The page, what its stamps show being part of its content, without its other annotations. number: from 0.

    Raises pypdfium2.PdfiumError.
    """
    document = page.pdf
    for at in reversed(range(pdfium_c.FPDFPage_GetAnnotCount(page))):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, at)
        is_stamp = pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_STAMP
        pdfium_c.FPDFPage_CloseAnnot(annotation)
        if not is_stamp:
            pdfium_c.FPDFPage_RemoveAnnot(page, at)
    pdfium_c.FPDFPage_Flatten(page, pdfium_c.FLAT_NORMALDISPLAY)
    page.close()
    return document[number]


def _string(get: _Getter, *arguments: object) -> str:
    """What one of pdfium's functions gives as UTF-16, with lines ended by a newline."""
    length = min(get(*arguments, None, 0), MAX_TEXT_BYTES)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    get(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), length)
    text = buffer.raw[:length].decode("utf-16-le", "replace").split("\0")[0]
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())
