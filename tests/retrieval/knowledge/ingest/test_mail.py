"""E-mails: who wrote what to whom, and what is attached."""

from __future__ import annotations

from email.message import EmailMessage
from email.mime.application import MIMEApplication
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest

from retrieval.knowledge.ingest.blocks import ParsedDocument
from retrieval.knowledge.ingest.mail import MAX_DEPTH
from retrieval.knowledge.ingest.reading import parse_file
from retrieval.knowledge.ingest.sniff import kind_by_name
from tests.retrieval.knowledge.ingest.files import docx_bytes
from tests.retrieval.knowledge.ingest.outlook import message_tree, msg_bytes
from tests.retrieval.read_documents import read as read_file


def read(tmp_path: Path, name: str, data: bytes) -> ParsedDocument:
    path = tmp_path / name
    path.write_bytes(data)
    return parse_file(path, kind=kind_by_name(name))


def texts(document: ParsedDocument) -> list[str]:
    return [block.text for block in document.blocks]


def mail(subject: str = "Boat kéys", text: str = "The keys are at pier 6.") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ada Oduya <ada@example.org>"
    message["To"] = "desk@example.org"
    message["Subject"] = subject
    message["Date"] = "Fri, 14 Nov 2025 10:00:00 +0100"
    message.set_content(text)
    return message


HEAD = (
    "From: Ada Oduya <ada@example.org>\nTo: desk@example.org\nDate: Fri, 14 Nov 2025 10:00:00 +0100"
)


def test_an_email_has_its_subject_people_date_and_text(tmp_path: Path) -> None:
    document = read(tmp_path, "a.eml", mail().as_bytes())
    assert document.title == "Boat kéys"
    assert texts(document) == ["Boat kéys", HEAD, "The keys are at pier 6."]


def test_what_the_page_of_an_email_shows_is_read(tmp_path: Path) -> None:
    message = mail()
    message.add_alternative(
        "<p>The keys are at pier 7.</p><p style='display:none'>free</p>", subtype="html"
    )
    assert texts(read(tmp_path, "a.eml", message.as_bytes()))[2:] == ["The keys are at pier 7."]


def test_attachments_are_read_under_their_names(tmp_path: Path) -> None:
    message = mail()
    message.add_attachment(
        b"Boat,Fee\nCanoe,11\n", maintype="text", subtype="csv", filename="rates.csv"
    )
    message.add_attachment(
        docx_bytes(), maintype="application", subtype="octet-stream", filename="rules.docx"
    )
    message.add_attachment(mail("Inner", "Locked at nine."))
    document = read(tmp_path, "a.eml", message.as_bytes())
    assert [(block.level, block.text) for block in document.blocks if block.kind == "heading"] == [
        (1, "Boat kéys"), (1, "rates.csv"), (1, "rules.docx"), (2, "Loans"), (3, "Fines"), (1, "Inner.eml"),
        (2, "Inner"),
    ]  # fmt: skip
    assert "Boat: Canoe; Fee: 11" in document.text
    assert "Locked at nine." in document.text


def test_a_passage_of_an_attachment_names_it_alone() -> None:
    message = mail("Slipway", "It is closed in March.")
    message.add_attachment(
        b"Keys hang in locker 88.\n", maintype="text", subtype="plain", filename="keys.txt"
    )
    found = [
        (chunk.heading, "locker 88" in chunk.text)
        for chunk in read_file(message.as_bytes(), "a.eml").chunks
    ]
    assert found == [("Slipway", False), ("keys.txt", True)]


def test_attachments_that_are_not_read_are_told_with_the_reason(tmp_path: Path) -> None:
    message = mail()
    message.add_attachment(
        b"\0" * 20, maintype="application", subtype="x-unknown", filename="plan.dwg"
    )
    message.add_attachment(
        docx_bytes()[:900], maintype="application", subtype="octet-stream", filename="cut.docx"
    )
    document = read(tmp_path, "a.eml", message.as_bytes())
    assert [str(one) for one in document.unread] == [
        "attachment plan.dwg: files of its kind are not read",
        "attachment cut.docx: This DOCX file is damaged or incomplete; upload it again.",
    ]


def multipart(kind: str, *parts: MIMEBase) -> MIMEMultipart:
    whole = MIMEMultipart(kind)
    for part in parts:
        whole.attach(part)
    return whole


def rates(name: str = "rates.csv", disposition: str = "attachment") -> MIMEBase:
    part = MIMEText("Boat,Fee\nCanoe,11\n", "csv")
    part.add_header("Content-Disposition", disposition, **({"filename": name} if name else {}))
    return part


BODY, PAGE, FOOTER = (
    MIMEText("Pier 6."),
    MIMEText("<p>Pier 6.</p>", "html"),
    MIMEText("Sent by the desk."),
)
SIGNATURE = MIMEApplication(b"x", "pgp-signature", name="signature.asc")


@pytest.mark.parametrize(
    "message",
    [
        multipart("mixed", BODY, FOOTER, rates()),
        multipart("mixed", BODY, rates(), FOOTER),
        multipart("mixed", PAGE, FOOTER, rates()),
        multipart("mixed", BODY, multipart("mixed", FOOTER, rates())),
        multipart(
            "mixed", multipart("related", multipart("alternative", BODY, PAGE), rates()), FOOTER
        ),
        multipart(
            "mixed", multipart("alternative", BODY, multipart("mixed", PAGE, rates())), FOOTER
        ),
        multipart("signed", multipart("mixed", BODY, FOOTER, rates()), SIGNATURE),
        multipart("mixed", MIMEText("<!-- -->", "html"), BODY, FOOTER, rates("")),
        multipart("mixed", BODY, FOOTER, rates("", "inline")),
    ],
)
def test_every_part_of_an_email_is_read_whatever_it_lies_in(
    tmp_path: Path, message: MIMEMultipart
) -> None:
    document = read(tmp_path, "a.eml", message.as_bytes())
    seen = [text for text in texts(document) if text not in ("rates.csv", "Attachment.csv")]
    assert seen == ["Pier 6.", "Sent by the desk.", "Boat | Fee\nBoat: Canoe; Fee: 11"]


def test_a_part_that_cannot_be_read_is_told_of_an_email_without_others(tmp_path: Path) -> None:
    message = mail()
    message.set_content(b"x", maintype="application", subtype="pkcs7-mime", filename="smime.p7m")
    document = read(tmp_path, "a.eml", message.as_bytes())
    assert [str(one) for one in document.unread] == [
        "attachment smime.p7m: files of its kind are not read"
    ]


def test_a_long_list_of_people_is_read_whole(tmp_path: Path) -> None:
    message = mail()
    del message["To"]
    message["To"] = ", ".join(f"member{number}@example.org" for number in range(300))
    assert "member299@example.org" in read(tmp_path, "a.eml", message.as_bytes()).text


def test_emails_in_emails_are_bounded(tmp_path: Path) -> None:
    message = mail("Innermost", "Too deep.")
    for number in range(50):
        outer = mail(f"Around {number}", "Around.")
        outer.add_attachment(message)
        message = outer
    document = read(tmp_path, "a.eml", message.as_bytes())
    assert document.text.count("\n\nAround.") == MAX_DEPTH + 1
    assert "Too deep." not in document.text
    assert "it lies in too many e-mails" in document.unread[0]


def test_a_page_saved_as_mhtml_is_read(tmp_path: Path) -> None:
    page = EmailMessage()
    page["Subject"] = "Opening hours"
    page.set_content("<h1>Hours</h1><p>Nine to five.</p>", subtype="html")
    page.add_related(b"\x89PNG", maintype="image", subtype="png", cid="<a>")
    document = read(tmp_path, "a.mhtml", page.as_bytes())
    assert (document.title, texts(document)) == ("Opening hours", ["Hours", "Nine to five."])


def test_what_the_style_sheets_of_a_saved_page_hide_is_left_out(tmp_path: Path) -> None:
    page = EmailMessage()
    head = '<link rel="stylesheet" href="cid:css-1@mhtml.example">'
    page.set_content(
        f'{head}<p class="a">The gate closes at nine.</p><p class="b">Never.</p>', subtype="html"
    )
    page.add_related(b".b { display: none }", maintype="text", subtype="css")
    page.get_payload()[1]["Content-Location"] = "cid:css-1@mhtml.example"
    assert read(tmp_path, "a.mhtml", page.as_bytes()).text == "The gate closes at nine."


def test_an_outlook_message_is_read(tmp_path: Path) -> None:
    data = msg_bytes(
        subject="Boat kéys",
        sender="Ada",
        body="Pier 6.",
        files={"rates.csv": b"Boat,Fee\nCanoe,11\n"},
    )
    document = read(tmp_path, "a.msg", data)
    assert document.title == "Boat kéys"
    assert texts(document) == [
        "Boat kéys",
        "From: Ada",
        "Pier 6.",
        "rates.csv",
        "Boat | Fee\nBoat: Canoe; Fee: 11",
    ]


def test_the_page_of_an_outlook_message_is_read(tmp_path: Path) -> None:
    data = msg_bytes(
        subject="Keys", sender="Ada", body="plain", html="<p>Pier 6.</p><p hidden>free</p>"
    )
    assert texts(read(tmp_path, "a.msg", data)) == ["Keys", "From: Ada", "Pier 6."]


def test_the_rich_text_of_an_outlook_message_is_read(tmp_path: Path) -> None:
    data = msg_bytes(
        subject="Keys",
        sender="Ada",
        rich=r"{\rtf1\ansi Pier 6.\par Locked at {\b nine}.\par{\v free}}",
    )
    assert texts(read(tmp_path, "a.msg", data)) == [
        "Keys",
        "From: Ada",
        "Pier 6.",
        "Locked at nine.",
    ]


def test_an_email_attached_to_an_outlook_message_is_read(tmp_path: Path) -> None:
    inner = message_tree(
        subject="Inner",
        sender="Bo",
        body="Pier 7.",
        is_attached=True,
        files={"rates.csv": b"Boat,Fee\nCanoe,11\n"},
    )
    data = msg_bytes(subject="Keys", sender="Ada", body="Pier 6.", files={"Inner": inner})
    document = read(tmp_path, "a.msg", data)
    assert texts(document) == [
        "Keys", "From: Ada", "Pier 6.", "Inner", "Inner", "From: Bo", "Pier 7.", "rates.csv",
        "Boat | Fee\nBoat: Canoe; Fee: 11",
    ]  # fmt: skip
