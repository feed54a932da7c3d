"""E-mails, and pages saved as MHTML: who wrote to whom, about what and when; what it says; and what is attached.

An attachment is read by the reader of its kind, under a heading of its name. What is attached to an attached e-mail is
read as well, `MAX_DEPTH` deep.
"""

from __future__ import annotations

import email
import email.policy
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from email.message import EmailMessage, MIMEPart
from pathlib import Path, PurePath

from oxmsg import Message as OutlookMessage

from ragsite.core.errors import AppError, UnsupportedFileError
from ragsite.core.messages import Sentence, worded
from retrieval.engine.errors import DocumentUnreadableError
from retrieval.knowledge.ingest import unread
from retrieval.knowledge.ingest.blocks import Block, ParsedDocument
from retrieval.knowledge.ingest.markup.html import read_html, tree_of
from retrieval.knowledge.ingest.sniff import FileKind, damaged, kind_by_name
from retrieval.knowledge.ingest.text import declared_encoding, plain_blocks, readable_text

FIELDS = ("From", "To", "Cc", "Date")
MAX_DEPTH = 3  # of e-mails in e-mails
MAX_ATTACHMENTS = 50  # of one e-mail that are read
MAX_PARTS = 2000
MAX_FIELD_CHARS = 2000
UNTITLED = worded("Attachment")
TOO_DEEP = worded("it lies in too many e-mails")
NO_KIND = worded("files of its kind are not read")

Reader = Callable[[Path, FileKind], ParsedDocument]  # of a file of a kind
File = tuple[str, bytes | None]  # its name, and what is in it


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
        blocks = [*_head(subject, {name: _field(message, name) for name in FIELDS}), *self._body(message)]
        blocks += self._attached(_attachments(message))
        return ParsedDocument(blocks=tuple(blocks), title=subject, unread=unread.bounded(unread.summed(self._told)))

    def parse_mhtml(self, data: bytes) -> ParsedDocument:
        message = email.message_from_bytes(data, policy=email.policy.default)
        page = next((part for part in _parts(message) if part.get_content_type() == "text/html"), None)
        blocks = [] if page is None else self._html(_text(page))
        return ParsedDocument(blocks=tuple(blocks), title=_field(message, "Subject"), unread=tuple(self._told))

    def parse_msg(self, path: Path) -> ParsedDocument:
        message = OutlookMessage.load(str(path))
        headers = {name.lower(): value for name, value in message.message_headers.items()}
        recipients = ", ".join(filter(None, (f"{one.name} <{one.email_address}>" for one in message.recipients)))
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
        files = [(one.file_name or "", one.file_bytes) for one in message.attachments]
        blocks += self._attached(files)
        return ParsedDocument(
            blocks=tuple(blocks), title=message.subject, unread=unread.bounded(unread.summed(self._told))
        )

    # -------------------------------------------------------------------------------------------- what it says
    def _body(self, message: EmailMessage) -> list[Block]:
        body = message.get_body(preferencelist=("html", "plain"))
        if body is None:
            return []
        if body.get_content_type() == "text/html":
            return self._html(_text(body))
        return list(plain_blocks(_text(body)))

    def _html(self, text: str) -> list[Block]:
        if not text.strip():
            return []
        blocks, missing = read_html(tree_of(text))
        self._told += missing
        return blocks

    # -------------------------------------------------------------------------------------------- attachments
    def _attached(self, files: Iterable[File]) -> Iterator[Block]:
        left_out = 0
        for number, (name, data) in enumerate(files):
            title = " ".join(name.split())[:200] or UNTITLED
            if data is None or number >= MAX_ATTACHMENTS:
                left_out += 1
                continue
            try:
                document = self._read_attachment(name, data)
            except AppError as error:
                reason = NO_KIND if isinstance(error, UnsupportedFileError) else error.message
                self._told.append(worded("attachment {name}: {reason}", name=title, reason=reason))
                continue
            yield Block(text=title, kind="heading", level=1, label=title)
            for block in document.blocks:  # below its name
                level = min(6, block.level + 1) if block.kind == "heading" else block.level
                yield replace(block, level=level, page=None)
            self._told += [unread.unread(what, title) for what in document.unread]
        if left_out:
            self._told.append(unread.attachments(left_out))

    def _read_attachment(self, name: str, data: bytes) -> ParsedDocument:
        """Raises DocumentUnreadableError, UnsupportedFileError."""
        kind = kind_by_name(name)
        if kind in ("eml", "msg") and self._depth >= MAX_DEPTH:
            raise DocumentUnreadableError(TOO_DEEP)
        inner = MailReader(self._read, depth=self._depth + 1)
        with tempfile.NamedTemporaryFile(suffix=PurePath(name).suffix) as file:
            file.write(data)
            file.flush()
            try:
                if kind == "eml":
                    return inner.parse_eml(data)
                return inner.parse_msg(Path(file.name)) if kind == "msg" else self._read(Path(file.name), kind)
            except AppError:
                raise
            except Exception as error:  # a damaged file makes its library raise anything
                raise damaged(kind) from error


# ------------------------------------------------------------------------------------------------ parts
def _head(subject: str, fields: dict[str, str]) -> list[Block]:
    lines = [f"{name}: {value[:MAX_FIELD_CHARS]}" for name, value in fields.items() if value]
    blocks = [Block(text=subject, kind="heading", level=1, label=subject)] if subject else []
    return [*blocks, Block(text="\n".join(lines))] if lines else blocks


def _field(message: EmailMessage, name: str) -> str:
    """On one line, decoded; "" where it is missing."""
    try:
        value = str(message[name] or "")
    except (ValueError, IndexError, LookupError):  # what the library makes of odd ones
        value = ""
    return " ".join(value.split())


def _parts(message: EmailMessage) -> Iterator[EmailMessage]:
    for number, part in enumerate(message.walk()):
        if number == MAX_PARTS:
            return
        yield part


def _text(part: MIMEPart) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    return readable_text(data, declared=part.get_content_charset() or declared_encoding(data))


def _attachments(message: EmailMessage) -> Iterator[File]:
    if not message.is_multipart() or message.get_content_type() == "multipart/alternative":
        return
    for part in message.iter_attachments():
        name = part.get_filename() or ""
        if part.get_content_type() == "message/rfc822":
            inner = part.get_payload(0)
            subject = _field(inner, "Subject") if isinstance(inner, EmailMessage) else ""
            data = inner.as_bytes() if isinstance(inner, EmailMessage) else b""
            yield f"{name.removesuffix('.eml') or subject or UNTITLED}.eml", data
        elif not part.is_multipart():
            payload = part.get_payload(decode=True)
            yield name, payload if isinstance(payload, bytes) else b""
