"""Checked answers and test questions as CSV: what a curator takes out, and how a file comes in."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.models import DeskEvent
from feedback.curation.curated import CuratedPassage, curated_save
from feedback.curation.golden import golden_save
from feedback.curation.transfer import exports, imports
from feedback.curation.transfer.golden import GoldenResource
from feedback.models import CuratedAnswer, CurationImport, GoldenQuestion
from ragsite.operations.retention import retention_work
from retrieval.models import Chunk, Collection, Document
from tests.clients import api_of, client_of, person
from tests.factories import CollectionFactory, DocumentFactory, UserFactory, answered
from tests.feedback.rated import passage

pytestmark = pytest.mark.django_db
HEAD = "question,collection,expects,documents"
QUESTION = "How many books may I borrow?"


@pytest.fixture
def library() -> Collection:
    collection: Collection = CollectionFactory(owner=None, name="library")
    DocumentFactory(collection=collection, title="Loans")
    DocumentFactory(collection=collection, title="Hours")
    return collection


@pytest.fixture
def loans(library: Collection) -> Chunk:
    text = "Students may borrow ten books. Staff may borrow forty."
    return passage(text, collection=library, title="Rules", status="ready")


def sent(client: Client, kind: str, content: str | bytes, name: str = "rows.csv") -> CurationImport:
    """The import that an upload at the desk has made."""
    data = content.encode() if isinstance(content, str) else content
    file = SimpleUploadedFile(name, data, content_type="text/csv")
    response = client.post(f"{reverse('review_import_new')}?kind={kind}", {"file": file})
    assert response.status_code == 302, response.content.decode()
    key = response["Location"].rstrip("/").rpartition("/")[2]
    return CurationImport.objects.get(pk=key)


def acted(client: Client, row: CurationImport, action: str) -> CurationImport:
    response = client.post(reverse("review_import", args=[row.pk]), {"action": action})
    assert response.status_code == 302
    row.refresh_from_db()
    return row


def exported(client: Client, kind: str) -> str:
    response = client.get(f"{reverse('review_curation_export')}?kind={kind}")
    assert response["Content-Type"].startswith("text/csv")
    return str(response.content.decode("utf-8-sig"))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


def wrong_of(row: CurationImport) -> list[dict[str, Any]]:
    return [one for part in row.parts.all() for one in part.wrong]


# ------------------------------------------------------------------------------------------------ test questions
def test_a_file_is_checked_first_and_written_once_somebody_says_so(library: Collection) -> None:
    client = client_of(person("Curators", username="mei"))
    row = sent(
        client,
        "golden",
        f"{HEAD}\n{QUESTION},site:library,,Loans\nWhen is it open?,library,answer,Hours\n"
        "Is it?,library,CLARIFY,\nWho?,nowhere,,Loans\nWhat?,library,,Nothing\n",
    )
    assert row.state == "ready" and not GoldenQuestion.objects.exists()
    assert row.counts == {"new": 3, "changed": 0, "unchanged": 0, "wrong": 2}
    page = client.get(reverse("review_import", args=[row.pk])).content.decode()
    assert "There is no collection nowhere." in page and QUESTION in page
    assert "library has no document called “Nothing”." in page and "Import 3 rows" in page
    row = acted(client, row, "confirm")
    assert row.state == "done" and row.text == ""
    made = GoldenQuestion.objects.get(text=QUESTION)
    assert [document.title for document in made.documents.all()] == ["Loans"]
    assert made.created_by is not None and made.created_by.username == "mei"
    assert set(GoldenQuestion.objects.values_list("expects", flat=True)) == {"ANSWER", "CLARIFY"}
    event = DeskEvent.objects.get(kind="import")
    assert event.detail == {"what": "golden", "counts": row.counts}
    log = client_of(person("Administrators")).get(reverse("review_log")).content.decode()
    assert "Test questions · New: 3" in log and "Not imported: 2" in log


def test_the_rows_with_errors_come_back_as_a_file_that_can_be_mended(library: Collection) -> None:
    client = client_of(person("Curators"))
    row = sent(client, "golden", f"{HEAD}\n=1+1?,library,,Lones\nOpen?,library,,Hours\n")
    acted(client, row, "confirm")
    errors = client.get(reverse("review_import_errors", args=[row.pk])).content.decode()
    [wrong] = rows_of(errors)
    assert wrong["question"] == "'=1+1?" and "no document called “Lones”" in wrong["error"]
    again = sent(client, "golden", errors.replace("Lones", "Loans"))
    assert again.counts["new"] == 1 and not again.unread
    acted(client, again, "confirm")
    assert GoldenQuestion.objects.filter(text="=1+1?").exists()


def test_what_was_taken_out_changes_nothing_when_it_comes_in_again(library: Collection) -> None:
    curator = person("Curators")
    client = client_of(curator)
    twins = [DocumentFactory(collection=library, title="Twin") for _ in range(2)]
    golden_save(by=curator, text="-5 degrees?", collection=library, documents=[twins[0]])
    text = exported(client, "golden")
    [cells] = rows_of(text)
    assert (cells["question"], cells["collection"]) == ("'-5 degrees?", "site:library")
    assert cells["documents"] == str(twins[0].pk)  # two have its title
    row = sent(client, "golden", text)
    assert row.counts == {"new": 0, "changed": 0, "unchanged": 1, "wrong": 0}
    listed = client.get(f"{reverse('review_import_new')}?kind=golden").content.decode()
    assert "Nothing to import" in listed and "To be confirmed" not in listed
    refused = client.post(
        reverse("review_import", args=[row.pk]), {"action": "confirm"}, follow=True
    )
    assert "Nothing in this file is new or changed." in refused.content.decode()
    row = sent(client, "golden", text.replace("-5 degrees?", "-6 degrees?"))
    assert row.counts["changed"] == 1
    acted(client, row, "confirm")
    assert GoldenQuestion.objects.get().text == "-6 degrees?"


def test_what_was_made_from_an_answer_is_known_as_such_in_the_file_and_from_it(
    library: Collection,
) -> None:
    curator = person("Curators")
    client = client_of(curator)
    golden_save(
        by=curator,
        text="Asked?",
        collection=library,
        expects="CLARIFY",
        message=answered("Asked?"),
    )
    text = exported(client, "golden")
    GoldenQuestion.objects.all().delete()
    acted(client, sent(client, "golden", text), "confirm")
    assert GoldenQuestion.objects.get(text="Asked?").from_answer is True
    row = sent(
        client,
        "golden",
        "question,collection,expects,from_answer\nAsked?,library,CLARIFY,no\n"
        "Written?,library,CLARIFY,\nOdd?,library,CLARIFY,perhaps\n",
    )
    assert row.counts == {"new": 1, "changed": 0, "unchanged": 1, "wrong": 1}
    acted(client, row, "confirm")
    assert GoldenQuestion.objects.get(text="Asked?").from_answer is True
    assert GoldenQuestion.objects.get(text="Written?").from_answer is False


def test_an_import_is_taken_back_but_what_was_changed_since_stays(library: Collection) -> None:
    curator = person("Curators")
    client = client_of(curator)
    old = golden_save(by=curator, text="Old?", collection=library, expects="CLARIFY")
    row = sent(
        client,
        "golden",
        f"{HEAD}\nOld?,library,NO_ANSWER,\nA?,library,,Loans\nB?,library,,Loans\nC?,nowhere,,\n",
    )
    assert row.counts == {"new": 2, "changed": 1, "unchanged": 0, "wrong": 1}
    acted(client, row, "confirm")
    GoldenQuestion.objects.filter(text="B?").update(text="B, please?")
    row = acted(client, row, "take_back")
    assert row.state == "undone" and row.stayed == 1
    old.refresh_from_db()
    assert old.expects == "CLARIFY"
    assert set(GoldenQuestion.objects.values_list("text", flat=True)) == {"Old?", "B, please?"}
    page = client.get(reverse("review_import", args=[row.pk])).content.decode()
    assert "1 was changed since" in page and "Show the list" in page
    assert "Not imported" in page and "Cannot be imported" not in page
    assert ">A?<" not in page
    assert DeskEvent.objects.get(kind="take_back").detail["counts"] == {"taken_back": 2, "kept": 1}


def test_an_import_goes_after_seven_days_and_what_came_in_stays(library: Collection) -> None:
    client = client_of(person("Curators"))
    row = acted(client, sent(client, "golden", f"{HEAD}\nA?,library,,Loans\n"), "confirm")
    CurationImport.objects.update(created_at=timezone.now() - timedelta(days=7, minutes=1))
    assert acted(client, row, "take_back").state == "done"
    list(retention_work())
    assert not CurationImport.objects.exists() and GoldenQuestion.objects.count() == 1


def test_a_document_that_was_moved_elsewhere_is_taken_out_without_its_title(
    library: Collection,
) -> None:
    document = Document.objects.get(title="Loans")
    golden_save(by=person("Administrators"), text="A?", collection=library, documents=[document])
    secret = CollectionFactory(owner=UserFactory(), visibility="private")
    Document.objects.filter(pk=document.pk).update(collection=secret, title="Secret loans")
    client = client_of(person("Curators"))
    text = exported(client, "golden")
    assert rows_of(text)[0]["documents"] == str(document.pk) and "Secret" not in text
    row = sent(client, "golden", text)
    assert f"library has no document called “{document.pk}”." in wrong_of(row)[0]["text"]


@pytest.mark.parametrize(
    ("content", "counts"),
    [
        (f"{HEAD};note\nA?;library;;Loans;x\n".replace(",", ";").encode("utf-8-sig"), 1),
        (f"sep=;\r\n{HEAD}\r\nA?;library;;Loans\r\n".replace(",", ";").encode(), 1),
        (f"{HEAD}\nÄrger wann?,library,,Loans\n".replace(",", "\t").encode("utf-16"), 1),
        (
            f'{HEAD}\n"图书馆，几点？",library,,Loans\n\n\n"借书几天？",library,,Loans\n'.encode(
                "gb18030"
            ),
            2,
        ),
        (f'{HEAD}\n"A?",library,,"Loans\r\nHours"\r\n'.encode(), 1),
    ],
)
def test_what_spreadsheet_programs_make_of_a_csv_is_read(
    library: Collection, content: bytes, counts: int
) -> None:
    row = sent(client_of(person("Curators")), "golden", content)
    assert row.counts == {"new": counts, "changed": 0, "unchanged": 0, "wrong": 0}


def test_columns_that_nobody_knows_are_named(library: Collection) -> None:
    client = client_of(person("Curators"))
    row = sent(client, "golden", f"{HEAD},Remark\nA?,library,,Loans,x\n")
    page = client.get(reverse("review_import", args=[row.pk])).content.decode()
    assert row.unread == ["remark"] and "These columns were not read:" in page


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "these are missing: question, collection"),
        (b"question,collection\n", "no rows below its head"),
        (b"question,collection,question\nA,b,c\n", "this column twice: question"),
        (b"\x00\x01\x02\x03\x04" * 50, "it holds binary data"),
        (b"question,collection\n" + b"A?,library\n" * 10_001, "more than 10,000 rows"),
        (b"x" * (10 * 1024 * 1024 + 1), "more than 10 MiB"),
        (b'question,collection\n"' + b"x" * 1_100_000, "cannot be told apart"),
    ],
    ids=["empty", "head alone", "twice", "binary", "rows", "bytes", "cell"],
)
def test_a_file_that_cannot_be_read_is_refused_with_why(content: bytes, problem: str) -> None:
    client = client_of(person("Curators"))
    file = SimpleUploadedFile("rows.csv", content)
    response = client.post(f"{reverse('review_import_new')}?kind=golden", {"file": file})
    assert response.status_code == 400 and problem in response.content.decode()
    assert not CurationImport.objects.exists()


def test_rows_that_contradict_each_other_are_named(library: Collection) -> None:
    row = sent(
        client_of(person("Curators")),
        "golden",
        f"{HEAD}\nA?,library,,Loans\n A? ,library,,Hours\nB?,library,,Loans,more\nC?,library,MAYBE,\n"
        f"{'x' * 4001},library,,Loans\nD?,,,Loans\n",
    )
    reasons = {one["row"]: one["text"] for one in wrong_of(row)}
    assert row.counts["new"] == 1 and reasons[3] == "Row 2 is about the same question."
    assert "more cells" in reasons[4] and "One of" in reasons[5]
    assert "4000" in reasons[6] and reasons[7] == "Name a collection."


def test_nobody_learns_of_collections_or_imports_that_are_not_theirs(library: Collection) -> None:
    secret = CollectionFactory(
        owner=UserFactory(username="eve"), name="plans", visibility="private"
    )
    DocumentFactory(collection=secret, title="Plan")
    hidden = golden_save(
        by=person("Administrators"), text="Hidden?", collection=secret, expects="CLARIFY"
    )
    client = client_of(person("Curators"))
    assert "Hidden?" not in exported(client, "golden")
    row = sent(
        client, "golden", f"id,{HEAD}\n{hidden.pk},Mine?,library,,Loans\n,Plan?,eve/plans,,Plan\n"
    )
    assert row.counts == {"new": 1, "changed": 0, "unchanged": 0, "wrong": 1}
    acted(client, row, "confirm")
    hidden.refresh_from_db()
    assert hidden.text == "Hidden?" and GoldenQuestion.objects.filter(text="Mine?").exists()
    other = client_of(person("Curators"))
    address = reverse("review_import", args=[row.pk])
    assert other.get(address).status_code == 404
    assert other.post(address, {"action": "take_back"}).status_code == 404
    assert other.get(reverse("review_import_errors", args=[row.pk])).status_code == 404


def test_the_files_are_for_curators(library: Collection) -> None:
    new = f"{reverse('review_import_new')}?kind=golden"
    export = f"{reverse('review_curation_export')}?kind=golden"
    for client, status in (
        (client_of(None), 302),
        (client_of(UserFactory()), 404),
        (client_of(person("Reviewers")), 403),
    ):
        assert client.get(new).status_code == client.get(export).status_code == status
    curator = client_of(person("Curators"))
    assert curator.get(new).status_code == 200
    assert curator.get(f"{reverse('review_import_new')}?kind=boosts").status_code == 404


def test_a_role_that_was_taken_away_ends_what_waits_for_a_worker(
    library: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "AT_ONCE_ROWS", 0)
    curator = person("Curators")
    row = sent(client_of(curator), "golden", f"{HEAD}\nA?,library,,Loans\n")
    assert row.state == "checking"
    curator.groups.clear()
    imports.imports_work()
    row.refresh_from_db()
    assert row.state == "failed" and "needs a role" in row.error["text"]


def test_many_rows_with_three_bad_ones_are_written_by_a_worker_once_though_one_was_killed(
    library: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 100)
    client = client_of(person("Curators"))
    lines = [f"Question {number}?,library,,Loans" for number in range(250)]
    lines[7] = "Question 7?,library,,Lones"
    lines[123] = "Question 3?,library,,Loans"
    lines[249] = "Question 249?,,,"
    row = sent(client, "golden", "\n".join([HEAD, *lines]))
    assert row.state == "checking"
    assert imports.imports_work() == 1
    row.refresh_from_db()
    assert row.counts == {"new": 247, "changed": 0, "unchanged": 0, "wrong": 3}
    assert acted(client, row, "confirm").state == "writing"
    _one_batch_then_killed(row)
    assert GoldenQuestion.objects.count() == imports.BATCH - 1
    imports.imports_work()
    row.refresh_from_db()
    assert row.state == "done" and GoldenQuestion.objects.count() == 247
    assert row.counts == {"new": 247, "changed": 0, "unchanged": 0, "wrong": 3}
    assert [one["row"] for one in wrong_of(row)] == [9, 125, 251] and row.written == 247


def _one_batch_then_killed(row: CurationImport) -> None:
    class Killed(BaseException):
        pass

    counted = imports._count

    def count(*args: Any) -> None:
        if args[0].done:
            raise Killed
        counted(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(imports, "_count", count)
        with pytest.raises(Killed):
            imports.imports_work()
    CurationImport.objects.filter(pk=row.pk).update(lease_expires_at=timezone.now())


# ------------------------------------------------------------------------------------------------ checked answers
CHECKED = "question,wordings,answer,valid_until,collection_1,document_1,passage_1"


def test_a_checked_answer_comes_in_with_its_passage_and_goes_out_the_same(loans: Chunk) -> None:
    client = client_of(person("Curators"))
    row = sent(
        client,
        "curated",
        f'{CHECKED}\n{QUESTION},"book limit\nloans","Ten [1].",2099-12-31,library,Rules,may borrow ten books\n',
    )
    assert row.counts["new"] == 1, wrong_of(row)
    acted(client, row, "confirm")
    made = CuratedAnswer.objects.get()
    assert (made.question, made.wordings, made.text) == (
        QUESTION,
        ["book limit", "loans"],
        "Ten [1].",
    )
    assert made.expires_at is not None and timezone.localdate(made.expires_at).year == 2099
    source = made.sources.get()
    assert (source.document_id, source.text) == (loans.document_id, loans.text)
    text = exported(client, "curated")
    assert rows_of(text)[0]["passage_1"] == loans.text
    assert sent(client, "curated", text).counts["unchanged"] == 1
    Chunk.objects.all().delete()  # the document changes: the answer pauses, and its row stays as it is
    assert sent(client, "curated", text).counts["unchanged"] == 1
    acted(client, row, "take_back")
    made.refresh_from_db()
    assert made.ended_at is not None


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ("Why?,,No number.,,library,Rules,ten books", "Cite at least one passage"),
        ("Why?,,So [2].,,library,Rules,ten books", "Use only numbers from the list"),
        ("Why?,,So [1].,,library,Rules,eleven books", "No passage of “Rules”"),
        ("Why?,,So [1].,,library,,", "Source 1 needs a document"),
        ("Why?,,So [1].,01/02/2099,library,Rules,ten books", "Write the day as in 2026-12-31."),
        ("Why?,,So [1].,2001-01-01,library,Rules,ten books", "in the past"),
        ("Why?,,So [1].,9999-12-31,library,Rules,ten books", "too far off"),
        ("W,,So [1].,,library,Rules,ten books", "A question has 3 to 600 characters."),
        ("How many books may I borrow,,So [1].,,library,Rules,ten books", ""),
        (
            "Limit?,how many BOOKS may I borrow?,So [1].,,library,Rules,ten books",
            "already has another",
        ),
    ],
)
def test_a_checked_answer_that_cannot_be_given_is_a_bad_row(
    loans: Chunk, cells: str, reason: str
) -> None:
    """The same question in the same words, whatever its case and marks, is the one that is stored: it is changed."""
    curator = person("Curators")
    shown = CuratedPassage(loans.document_id, "Rules", loans.text)
    curated_save(by=curator, question=QUESTION, text="Ten [1].", passages=[shown])
    row = sent(client_of(curator), "curated", f"{CHECKED}\n{cells}\n")
    if reason:
        assert reason in wrong_of(row)[0]["text"]
    else:
        assert row.counts["changed"] == 1


def test_what_an_export_leaves_out_is_said_beside_it(
    library: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = CollectionFactory(owner=UserFactory(), visibility="private")
    admin = person("Administrators")
    golden_save(by=admin, text="Hidden?", collection=secret, expects="CLARIFY")
    for number in range(3):
        golden_save(by=admin, text=f"Open {number}?", collection=library, expects="CLARIFY")
    client = client_of(person("Curators"))
    places = [reverse("review_golden"), f"{reverse('review_import_new')}?kind=golden"]
    for place in places:
        page = client.get(place).content.decode()
        assert "The CSV file leaves out 1 row, of a collection that you cannot see." in page
        assert "newest" not in page
    monkeypatch.setattr(exports, "MAX_ROWS", 2)
    assert len(rows_of(exported(client, "golden"))) == 2
    for place in places:
        assert "2 rows; 1 older one is left out." in client.get(place).content.decode()
    assert "leaves out" not in client.get(reverse("review_curated")).content.decode()


def test_a_checked_answer_of_a_hidden_collection_is_neither_taken_out_nor_replaced() -> None:
    secret = CollectionFactory(owner=UserFactory(), visibility="private")
    chunk = passage("The plan is secret.", collection=secret, status="ready")
    shown = CuratedPassage(chunk.document_id, "Plan", chunk.text)
    curated_save(by=person("Curators"), question=QUESTION, text="So [1].", passages=[shown])
    client = client_of(person("Curators"))
    assert rows_of(exported(client, "curated")) == []
    api = api_of(person("Curators")).get("/api/review/curated")
    assert api["X-Left-Out"] == "1" and "secret" not in api.content.decode()
    mine = passage(
        "Ten books.",
        collection=CollectionFactory(owner=None, name="mine"),
        title="M",
        status="ready",
    )
    row = sent(client, "curated", f"{CHECKED}\n{QUESTION},,So [1].,,mine,M,{mine.text}\n")
    assert "already has another" in wrong_of(row)[0]["text"]


# ------------------------------------------------------------------------------------------------ others meanwhile
def test_what_another_import_has_written_since_the_check_is_not_overwritten(
    library: Collection,
) -> None:
    golden_save(by=person("Curators"), text="Old?", collection=library, expects="CLARIFY")
    mine, other = client_of(person("Curators")), client_of(person("Curators"))
    row = sent(
        mine, "golden", f"{HEAD}\nOld?,library,NO_ANSWER,\nNew?,library,,Loans\nB?,library,,Loans\n"
    )
    theirs = sent(other, "golden", f"{HEAD}\nOld?,library,,Hours\nNew?,library,,Hours\n")
    assert row.counts["new"] == theirs.counts["new"] + 1 == 2
    acted(other, theirs, "confirm")
    row = acted(mine, row, "confirm")
    assert row.counts == {"new": 1, "changed": 0, "unchanged": 0, "wrong": 2}
    page = mine.get(reverse("review_import", args=[row.pk])).content.decode()
    assert page.count("Somebody else has changed or added this since the file was checked") == 2
    answered = GoldenQuestion.objects.filter(documents__title="Hours")
    assert set(answered.values_list("text", flat=True)) == {"Old?", "New?"}


def test_a_wording_that_another_curator_takes_in_the_middle_of_an_import_stays_theirs(
    loans: Chunk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 1)
    client = client_of(person("Curators"))
    cells = "So [1].,,library,Rules,ten books"
    row = sent(
        client, "curated", f"{CHECKED}\nFirst?,,{cells}\nSecond?,,{cells}\nThird?,,{cells}\n"
    )
    assert row.counts["new"] == 3
    counted = imports._count
    shown = CuratedPassage(loans.document_id, "Rules", loans.text)
    lam = person("Curators")

    def meanwhile(*args: Any) -> None:
        counted(*args)
        if args[0].done == 0:
            curated_save(
                by=lam, question="Else?", wordings=["second"], text="So [1].", passages=[shown]
            )

    monkeypatch.setattr(imports, "_count", meanwhile)
    row = acted(client, row, "confirm")
    assert row.counts == {"new": 2, "changed": 0, "unchanged": 0, "wrong": 1}
    assert "already has another" in wrong_of(row)[0]["text"]
    questions = CuratedAnswer.in_force().values_list("question", flat=True)
    assert set(questions) == {"First?", "Else?", "Third?"}


@pytest.mark.parametrize("kind", ["golden", "curated"])
def test_many_rows_are_taken_back_by_few_statements(
    kind: str, loans: Chunk, django_assert_max_num_queries: Any
) -> None:
    head, cells = {
        "golden": (HEAD, "library,,Loans"),
        "curated": (CHECKED, ",So [1].,,library,Rules,ten books"),
    }[kind]
    client = client_of(person("Curators"))
    lines = [f"Question {number}?,{cells}" for number in range(100)]
    row = acted(client, sent(client, kind, "\n".join([head, *lines])), "confirm")
    assert row.written == 100
    with django_assert_max_num_queries(60):
        row = acted(client, row, "take_back")
    assert (row.state, row.done, row.stayed) == ("undone", 100, 0)
    assert not GoldenQuestion.objects.exists() and not CuratedAnswer.in_force().exists()


def test_what_is_taken_back_is_whose_it_was_and_takes_no_words_from_another(loans: Chunk) -> None:
    mei, lam = person("Curators", username="mei"), person("Curators")
    library = loans.document.collection
    shown = CuratedPassage(loans.document_id, "Rules", loans.text)
    first = golden_save(by=mei, text="A?", collection=library, expects="CLARIFY")
    second = golden_save(by=mei, text="B?", collection=library, expects="CLARIFY")
    answer = curated_save(by=mei, question=QUESTION, text="Ten [1].", passages=[shown])
    client = client_of(lam)
    row = sent(
        client,
        "golden",
        f"id,{HEAD}\n{first.pk},A now?,library,NO_ANSWER,\n{second.pk},B?,library,NO_ANSWER,\n",
    )
    row = acted(client, row, "confirm")
    changed = sent(
        client, "curated", f"{CHECKED}\n{QUESTION},,Ten books [1].,,library,Rules,ten books\n"
    )
    changed = acted(client, changed, "confirm")
    golden_save(by=lam, text="A?", collection=library, expects="CLARIFY")
    row = acted(client, row, "take_back")
    assert (row.state, row.stayed) == ("undone", 1)
    acted(client, changed, "take_back")
    for one in (first, second, answer):
        one.refresh_from_db()
    assert (first.text, second.expects, second.created_by) == ("A now?", "CLARIFY", mei)
    assert (answer.text, answer.created_by) == ("Ten [1].", mei)
    assert answer.sources.get().text == loans.text


def test_a_taking_back_that_broke_off_goes_on_where_it_was(
    library: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 1)
    client = client_of(person("Curators"))
    row = sent(client, "golden", f"{HEAD}\nA?,library,,Loans\nB?,library,,Loans\n")
    row = acted(client, row, "confirm")
    take_back = GoldenResource.take_back

    def broken(self: GoldenResource, steps: Any) -> list[str]:
        if GoldenQuestion.objects.count() == 1:
            raise RuntimeError
        return take_back(self, steps)

    with monkeypatch.context() as patch:
        patch.setattr(GoldenResource, "take_back", broken)
        assert acted(client, row, "take_back").state == "failed"
    row = acted(client, row, "take_back")
    assert (row.state, row.done, row.stayed) == ("undone", 2, 0)
    assert not GoldenQuestion.objects.exists()


# ------------------------------------------------------------------------------------------------ API
def test_a_program_takes_the_same_steps(library: Collection) -> None:
    api = api_of(person("Curators"))
    started = api.post(
        "/api/review/golden",
        f"{HEAD}\nA?,library,,Loans\nB?,library,,No\n".encode(),
        content_type="text/csv",
    )
    assert started.status_code == 202, started.content
    data = started.json()
    assert (data["state"], data["counts"]["new"]) == ("ready", 1)
    assert data["wrong"] == [{"row": 3, "reason": "library has no document called “No”."}]
    address = f"/api/review/imports/{data['id']}"
    assert api.post(address, {"action": "take_back"}).status_code == 409
    assert api.post(address, {"action": "delete"}).status_code == 400
    done = api.post(address, {"action": "confirm"}).json()
    assert (done["state"], done["can_take_back"]) == ("done", True)
    assert rows_of(api.get("/api/review/golden").content.decode())[0]["question"] == "A?"
    assert rows_of(api.get(f"{address}/errors").content.decode())[0]["question"] == "B?"
    assert api.delete(address).status_code == 409
    assert api.post(address, {"action": "take_back"}).json()["state"] == "undone"
    assert api_of(person("Curators")).get(address).status_code == 404
    assert api_of(person("Reviewers")).get("/api/review/golden").status_code == 403
    assert api_of(UserFactory()).get("/api/review/golden").status_code == 404


def test_a_file_that_nobody_wants_is_discarded(library: Collection) -> None:
    api = api_of(person("Curators"))
    body = f"{HEAD}\nA?,library,,Loans\n".encode()
    for _ in range(imports.MOST_OPEN):
        last = api.post("/api/review/golden", body, content_type="text/csv").json()["id"]
    assert api.post("/api/review/golden", body, content_type="text/csv").status_code == 409
    assert api.delete(f"/api/review/imports/{last}").status_code == 204
    file = SimpleUploadedFile("a.csv", body)
    assert api.post("/api/review/golden", {"file": file}, format="multipart").status_code == 202
    assert api.post("/api/review/golden", {"file": "x"}, format="multipart").status_code in (
        400,
        409,
    )
    assert api.post("/api/review/golden", b"{}", content_type="application/json").status_code == 415
