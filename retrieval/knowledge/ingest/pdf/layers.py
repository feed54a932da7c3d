"""Layers of a PDF (optional content groups) that are switched off: a viewer does not show what stands on them.

pdfium tells on which layer something stands, but not which ones are switched off: pypdf reads that.
"""

from __future__ import annotations

import ctypes
import logging
from functools import cached_property
from pathlib import Path

import pypdfium2.raw as pdfium_c
from pypdf import PdfReader
from pypdf.generic import DictionaryObject, IndirectObject

MAX_NAME_BYTES = 400
MARK = "OC"
logger = logging.getLogger(__name__)


class Layers:
    """Of a file, which is looked at when the first of its objects stands on a layer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_unreadable = False

    def hides(self, drawn: object) -> bool:
        """Whether one of pdfium's page objects stands on a layer that is switched off."""
        for at in range(pdfium_c.FPDFPageObj_CountMarks(drawn)):
            mark = pdfium_c.FPDFPageObj_GetMark(drawn, at)
            if _string(pdfium_c.FPDFPageObjMark_GetName, mark) == MARK:
                name = _string(pdfium_c.FPDFPageObjMark_GetParamStringValue, mark, b"Name")
                if name in self._off:
                    return True
        return False

    @cached_property
    def _off(self) -> frozenset[str]:
        """The names of those that are switched off; none of a file that pypdf can't read."""
        try:
            return _switched_off(self._path)
        except Exception:  # a damaged file makes it raise anything; pdfium has read the page
            logger.info("the layers of a PDF could not be read", exc_info=True)
            self.is_unreadable = True
            return frozenset()


def _switched_off(path: Path) -> frozenset[str]:
    with PdfReader(path) as reader:
        properties = reader.root_object.get("/OCProperties", {}).get_object()
        configuration = properties.get("/D", {}).get_object()
        layers = _references(properties.get("/OCGs"))
        if configuration.get("/BaseState") == "/OFF":
            on = _references(configuration.get("/ON"))
            off = [layer for layer in layers if layer not in on]
        else:
            off = _references(configuration.get("/OFF"))
        found = [layer.get_object() for layer in off]
        return frozenset(
            str(layer["/Name"]) for layer in found if isinstance(layer, DictionaryObject)
        )


def _references(listed: object) -> list[IndirectObject]:
    entries = listed.get_object() if isinstance(listed, IndirectObject) else listed
    return (
        [entry for entry in entries if isinstance(entry, IndirectObject)]
        if isinstance(entries, list)
        else []
    )


def _string(get: object, *arguments: object) -> str:
    """What one of pdfium's functions writes as UTF-16; "" for more than `MAX_NAME_BYTES`."""
    buffer = ctypes.create_string_buffer(MAX_NAME_BYTES)
    length = ctypes.c_ulong()
    target = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
    if not get(*arguments, target, MAX_NAME_BYTES, length) or length.value > MAX_NAME_BYTES:  # type: ignore[operator]
        return ""
    return buffer.raw[: length.value].decode("utf-16-le", "replace").split("\0")[0]
