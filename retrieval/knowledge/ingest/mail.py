"""E-mails, and pages saved as MHTML: who wrote to whom, about what and when; what it says; and what is attached.

An attachment is read by the reader of its kind, under a heading of its name. What is attached to an attached e-mail is
read as well, `MAX_DEPTH` deep. Of alternatives the last one is read that people read: it is the fullest.
"""

from __future__ import annotations

import email
import email.policy
import mimetypes
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.message import EmailMessage, MIMEPart
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import cast

import compressed_rtf
from oxmsg import Message as OutlookMessage
from oxmsg.attachment import Attachment as OutlookAttachment
from oxmsg.domain import constants as outlook
from oxmsg.properties import Properties as OutlookProperties
from oxmsg.storage import Storage as OutlookStorage

from ragsite.core.errors import AppError, UnsupportedFileError
from ragsite.core.messages import Sentence, worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest import unread
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument
from retrieval.knowledge.ingest.markup.html import read_html
from retrieval.knowledge.ingest.markup.trees import embed_styles, tree_of
from retrieval.knowledge.ingest.sniff import FileKind, damaged, kind_by_name
from retrieval.knowledge.ingest.text import declared_encoding, plain_blocks, readable_text
from retrieval.knowledge.ingest.word_processing.rtf import parse_rtf

FIELDS = ("From", "To", "Cc", "Date")
MAX_DEPTH = 3  # of e-mails in e-mails
MAX_ATTACHMENTS = 50  # of one e-mail that are read
MAX_PARTS = 2000
BODIES = ("text/html", "text/plain")
CSS = "text/css"
NO_SHEETS: Mapping[str, MIMEPart] = MappingProxyType({})
EMBEDDED = f"__substg1.0_{outlook.PID_ATTACH_DATA_BINARY:04X}000D"  # the storage of an e-mail attached to another
EMBEDDED_HEAD_BYTES = 24  # of its properties
UNTITLED = worded("Attachment")
TOO_DEEP = worded("it lies in too many e-mails")
NO_KIND = worded("files of its kind are not read")

Reader = Callable[[Path, FileKind], ParsedDocument]  # of a file of a kind


@dataclass(frozen=True, slots=True)
class _File:
    """An attachment. data: None where it can't be had. is_shown: the page of the e-mail shows it, as a picture."""

    name: str
    data: bytes | OutlookMessage | None
    is_shown: bool = False


class MailReader:
    """read: how attachments are read."""

    def __init__(self, read: Reader, *, depth: int = 0) -> None:
        self._read = read
        self._depth = depth
        self._told: list[Sentence] = []

    # -------------------------------------------------------------------------------------------- the two kinds
    def parse_eml(self, data: bytes) -> ParsedDocument:
        message = email.message_from_bytes(data, policy=email.policy.default)
        subject = _field(message, "Subject")
        blocks = _head(subject, {name: _field(message, name) for name in FIELDS})
        files: list[_File] = []
        for part in self._parts(message):
            if (
                part.get_content_type() in BODIES
                and not part.is_attachment()
                and not part.get_filename()
            ):
                blocks += self._text(part)
            else:
                files.append(_file(part))
        blocks += self._attached(files)
        return ParsedDocument(
            blocks=tuple(blocks), title=subject, unread=unread.bounded(unread.summed(self._told))
        )

    def parse_mhtml(self, data: bytes) -> ParsedDocument:
        message = email.message_from_bytes(data, policy=email.policy.default)
        page = next(
            (part for part in message.walk() if part.get_content_type() == "text/html"), None
        )
        sheets = {
            _field(part, "Content-Location"): part
            for part in message.walk()
            if part.get_content_type() == CSS
        }
        blocks = [] if page is None else self._text(page, sheets)
        return ParsedDocument(
            blocks=tuple(blocks), title=_field(message, "Subject"), unread=tuple(self._told)
        )

    def parse_msg(self, path: Path) -> ParsedDocument:
        return self._parse_outlook(OutlookMessage.load(str(path)))

    def _parse_outlook(self, message: OutlookMessage) -> ParsedDocument:
        headers = {name.lower(): value for name, value in message.message_headers.items()}
        recipients = ", ".join(
            filter(None, (f"{one.name} <{one.email_address}>" for one in message.recipients))
        )
        sent = message.sent_date
        fields = {
            "From": message.sender or "",
            "To": headers.get("to") or recipients,
            "Cc": headers.get("cc") or "",
            "Date": headers.get("date") or (sent.isoformat(" ", "minutes") if sent else ""),
        }
        blocks = _head(message.subject, fields)
        if message.html_body:
            blocks += self._html(message.html_body)
        elif message.body:
            blocks += plain_blocks(message.body.replace("\r\n", "\n"))
        elif rich := message.properties.binary_prop_value(outlook.PID_RTF_COMPRESSED):
            blocks += self._rich_text(rich)
        blocks += self._attached(map(_outlook_file, message.attachments))
        return ParsedDocument(
            blocks=tuple(blocks),
            title=message.subject,
            unread=unread.bounded(unread.summed(self._told)),
        )

    # -------------------------------------------------------------------------------------------- what it says
    def _parts(self, message: EmailMessage) -> Iterator[MIMEPart]:
        """Those that hold something themselves, in order."""
        waiting: list[MIMEPart] = [message]
        for _ in range(MAX_PARTS):
            if not waiting:
                return
            part = waiting.pop()
            if part.get_content_type() == "multipart/alternative":
                waiting += _preferred(list(part.iter_parts()))
            elif part.get_content_maintype() == "multipart":
                waiting += reversed(list(part.iter_parts()))
            else:
                yield part
        self._told.append(unread.attachments(len(waiting)))

    def _text(self, part: MIMEPart, sheets: Mapping[str, MIMEPart] = NO_SHEETS) -> list[Block]:
        """sheets: the style sheets that were saved with it, by their addresses."""
        data = _content(part)
        text = readable_text(data, declared=part.get_content_charset() or declared_encoding(data))
        return (
            self._html(text, sheets)
            if part.get_content_type() == "text/html"
            else list(plain_blocks(text))
        )

    def _html(self, text: str, sheets: Mapping[str, MIMEPart] = NO_SHEETS) -> list[Block]:
        try:
            root = tree_of(text)
            embed_styles(root, lambda link: _content(sheets[link]) if link in sheets else None)
            blocks, missing = read_html(root)
        except DocumentUnreadableError as error:
            self._told.append(error.message)
            return []
        self._told += missing
        return blocks

    def _rich_text(self, data: bytes) -> tuple[Block, ...]:
        document = parse_rtf(compressed_rtf.decompress(data))
        self._told += document.unread
        return document.blocks

    # -------------------------------------------------------------------------------------------- attachments
    def _attached(self, files: Iterable[_File]) -> Iterator[Block]:
        left_out = 0
        for number, file in enumerate(files):
            title = " ".join(file.name.split())[:200] or UNTITLED
            if file.data is None or number >= MAX_ATTACHMENTS:
                left_out += 1
                continue
            try:
                document = self._read_attachment(file.name, file.data)
            except AppError as error:
                reason = NO_KIND if isinstance(error, UnsupportedFileError) else error.message
                if not file.is_shown:  # else it is one of the page's pictures without text
                    self._told.append(
                        worded("attachment {name}: {reason}", name=title, reason=reason)
                    )
                continue
            yield Block(text=title, kind="heading", level=1, label=title, begins_file=True)
            for block in document.blocks:  # below its name
                level = min(6, block.level + 1) if block.kind == "heading" else block.level
                yield replace(block, level=level, page=None)
            self._told += [unread.unread(what, title) for what in document.unread]
        if left_out:
            self._told.append(unread.attachments(left_out))

    def _read_attachment(self, name: str, data: bytes | OutlookMessage) -> ParsedDocument:
        """Raises DocumentUnreadableError, UnsupportedFileError."""
        kind = kind_by_name(name) if isinstance(data, bytes) else "msg"
        if kind in ("eml", "msg") and self._depth >= MAX_DEPTH:
            raise DocumentUnreadableError(TOO_DEEP)
        inner = MailReader(self._read, depth=self._depth + 1)
        try:
            if not isinstance(data, bytes):
                return inner._parse_outlook(data)
            if kind == "eml":
                return inner.parse_eml(data)
            with tempfile.NamedTemporaryFile(suffix=PurePath(name).suffix) as file:
                file.write(data)
                file.flush()
                return (
                    inner.parse_msg(Path(file.name))
                    if kind == "msg"
                    else self._read(Path(file.name), kind)
                )
        except AppError:
            raise
        except Exception as error:  # a damaged file makes its library raise anything
            raise damaged(kind) from error


# ------------------------------------------------------------------------------------------------ parts
def _head(subject: str, fields: dict[str, str]) -> list[Block]:
    lines = [f"{name}: {value}" for name, value in fields.items() if value]
    blocks = [Block(text=subject, kind="heading", level=1, label=subject)] if subject else []
    return [*blocks, Block(text="\n".join(lines))] if lines else blocks


def _content(part: MIMEPart) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _field(message: MIMEPart, name: str) -> str:
    """On one line, decoded; "" where it is missing."""
    try:
        value = str(message[name] or "")
    except (ValueError, IndexError, LookupError):  # what the library makes of odd ones
        value = ""
    return " ".join(value.split())


def _preferred(alternatives: Sequence[MIMEPart]) -> Sequence[MIMEPart]:
    """The last one that people read, else the last one; none of none."""
    read = [one for one in alternatives if one.get_content_type() in BODIES or one.is_multipart()]
    return (read or alternatives)[-1:]


def _file(part: MIMEPart) -> _File:
    """A name without an ending gets that of its media type."""
    name = part.get_filename() or ""
    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload(0)
        subject = _field(inner, "Subject") if isinstance(inner, EmailMessage) else ""
        data = inner.as_bytes() if isinstance(inner, EmailMessage) else b""
        return _File(f"{name.removesuffix('.eml') or subject or UNTITLED}.eml", data)
    is_shown = part.get_content_maintype() == "image" and "Content-ID" in part
    return _File(_with_ending(name, part.get_content_type()), _content(part), is_shown)


def _outlook_file(attachment: OutlookAttachment) -> _File:
    properties = attachment.properties
    name = attachment.file_name or properties.str_prop_value(outlook.PID_ATTACH_FILENAME) or ""
    storages = cast("OutlookStorage", attachment._storage).storages
    embedded = next((one for one in storages if one.name == EMBEDDED), None)
    if embedded is None:
        return _File(_with_ending(name, attachment.mime_type or ""), attachment.file_bytes)
    message = _EmbeddedMessage(embedded)
    return _File(name or message.subject, message)


def _with_ending(name: str, media_type: str) -> str:
    if PurePath(name).suffix:
        return name
    return f"{name or UNTITLED}{mimetypes.guess_extension(media_type) or ''}"


class _EmbeddedMessage(OutlookMessage):
    """An e-mail that is attached to another one as a storage within it."""

    @property
    def properties(self) -> OutlookProperties:
        return OutlookProperties(self._storage, properties_header_offset=EMBEDDED_HEAD_BYTES)
