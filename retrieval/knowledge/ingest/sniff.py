"""What a file really is: its name says one thing, its first bytes may say another."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePath
from typing import Literal

from ragsite.core.errors import UnsupportedFileError
from ragsite.core.messages import worded
from retrieval.engine.errors import DocumentUnreadableError

FileKind = Literal[
    "text",
    "markdown",
    "html",
    "csv",
    "pdf",
    "docx",
    "pptx",
    "xlsx",
    "odt",
    "ods",
    "rtf",
    "epub",
    "eml",
    "msg",
    "mhtml",
    "png",
    "jpeg",
    "tiff",
    "webp",
]

EXTENSIONS: dict[str, FileKind] = {
    ".txt": "text",
    ".text": "text",
    ".log": "text",
    ".srt": "text",
    ".rst": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".csv": "csv",
    ".tsv": "csv",
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".pptx": "pptx",
    ".xlsx": "xlsx",
    ".odt": "odt",
    ".ods": "ods",
    ".rtf": "rtf",
    ".epub": "epub",
    ".eml": "eml",
    ".msg": "msg",
    ".mhtml": "mhtml",
    ".mht": "mhtml",
    ".png": "png",
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".webp": "webp",
}
MEDIA_TYPES: dict[FileKind, str] = {
    "text": "text/plain",
    "markdown": "text/markdown",
    "html": "text/html",
    "csv": "text/csv",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "tiff": "image/tiff",
    "webp": "image/webp",
    "odt": "application/vnd.oasis.opendocument.text",
    "rtf": "application/rtf",
    "epub": "application/epub+zip",
    "eml": "message/rfc822",
    "msg": "application/vnd.ms-outlook",
    "mhtml": "multipart/related",
}
PICTURES: tuple[FileKind, ...] = ("png", "jpeg", "tiff", "webp")
OFFICE_PARTS: dict[str, FileKind] = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx"}
# By what their entry "mimetype" says
NAMED_ARCHIVES: dict[str, FileKind] = {MEDIA_TYPES[kind]: kind for kind in ("ods", "odt", "epub")}
LEGACY = {".doc": ".docx", ".ppt": ".pptx", ".xls": ".xlsx", ".wps": ".docx"}
PDF_HEADER_WITHIN = 1024  # bytes: readers accept junk before the header up to here
SNIFF_BYTES = 4096
MAX_MEDIA_TYPE = 100  # bytes
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # also of new formats with a password
DAMAGED = "damaged zip"
RIFF = b"RIFF"  # sound and films; pictures in WebP
PICTURE_HEADS: dict[bytes, FileKind] = {
    b"\x89PNG\r\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"II*\0": "tiff",
    b"MM\0*": "tiff",
}
# Nothing that is text begins like this: programs, images, sound, archives, databases
FOREIGN = (
    b"\x7fELF",
    b"MZ\x90",
    b"GIF8",
    b"ID3",
    b"\x1f\x8b",
    b"7z\xbc\xaf",
    b"Rar!",
    b"SQLite format 3\0",
)


def kind_by_name(file_name: str) -> FileKind:
    """By extension. Raises UnsupportedFileError with what to do instead."""
    suffix = PurePath(file_name).suffix.lower()
    if suffix in EXTENSIONS:
        return EXTENSIONS[suffix]
    if suffix in LEGACY:
        raise UnsupportedFileError(
            worded(
                "Files of type {suffix} cannot be read; save it as {legacy} or PDF.",
                suffix=suffix,
                legacy=LEGACY[suffix],
            )
        )
    raise UnsupportedFileError()


def refuse_foreign(head: bytes, file_name: str) -> None:
    """Refuse at the door what is certainly no document, and a picture that is named otherwise. Raises
    UnsupportedFileError."""
    is_picture = head.startswith(tuple(PICTURE_HEADS)) or _is_webp(head)
    if is_picture and EXTENSIONS.get(PurePath(file_name).suffix.lower()) in PICTURES:
        return
    if is_picture or head.startswith((*FOREIGN, RIFF)):
        raise UnsupportedFileError(
            worded("This is a program, picture, sound or archive, not a document.")
        )


def check_content(path: Path, kind: FileKind, *, is_text: bool) -> None:
    """Raises DocumentUnreadableError when the content is not what the name says. is_text: the kind is a kind of text,
    which its first bytes need not show."""
    with path.open("rb") as file:
        head = file.read(SNIFF_BYTES)
    if not head:
        raise DocumentUnreadableError(worded("The file is empty."))
    content = _kind_of(path, head)
    if content in PICTURES and kind in PICTURES:  # programs show them whatever their names say
        return
    if content == kind or (is_text and content in ("", "html")):  # text of any kind reads as text
        return
    if kind == "msg" and content == "old office":  # both are files of storages
        return
    if head.startswith(OLD_OFFICE):
        raise DocumentUnreadableError(
            worded(
                "The file is protected by a password or in an old Office format; save it again without."
            )
        )
    if content == DAMAGED and not is_text:
        raise damaged(kind)
    really = (
        worded("; its content is {content}: rename it", content=content.upper()) if content else ""
    )
    raise DocumentUnreadableError(
        worded("This is not really a {kind} file{really}.", kind=kind.upper(), really=really)
    )


def damaged(kind: FileKind) -> DocumentUnreadableError:
    return DocumentUnreadableError(
        worded("This {kind} file is damaged or incomplete; upload it again.", kind=kind.upper())
    )


def _kind_of(path: Path, head: bytes) -> str:
    """ "" where the first bytes do not tell."""
    if b"%PDF-" in head[:PDF_HEADER_WITHIN] and head.lstrip()[:1] != b"<":
        return "pdf"
    if head.startswith(OLD_OFFICE):
        return "old office"
    if _is_webp(head):
        return "webp"
    for beginning, kind in PICTURE_HEADS.items():
        if head.startswith(beginning):
            return kind
    if head.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
                says = b""
                if "mimetype" in names:
                    with archive.open("mimetype") as entry:
                        says = entry.read(MAX_MEDIA_TYPE)
        except (zipfile.BadZipFile, OSError, NotImplementedError):
            return DAMAGED
        if (media_type := says.decode("ascii", "replace").strip()) in NAMED_ARCHIVES:
            return NAMED_ARCHIVES[media_type]
        parts = OFFICE_PARTS.items()
        return next(
            (kind for folder, kind in parts if any(name.startswith(folder) for name in names)),
            "zip",
        )
    if head.lstrip().startswith(b"{\\rtf"):
        return "rtf"
    start = head.lstrip()[:200].lower()
    is_html = start.startswith((b"<!doctype html", b"<html")) or (
        start[:5] == b"<?xml" and b"<html" in head.lower()
    )
    return "html" if is_html else ""


def _is_webp(head: bytes) -> bool:
    return head.startswith(RIFF) and head[8:12] == b"WEBP"
