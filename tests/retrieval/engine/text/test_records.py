"""Rows and forms out of a document's chunks."""

from __future__ import annotations

from retrieval.engine.text.records import records_of
from retrieval.engine.values import StoredChunk


def chunks(*texts: str, table_rows: tuple[tuple[int, int, int], ...] = ()) -> list[StoredChunk]:
    found = []
    start = 0
    for seq, text in enumerate(texts):
        chunk = StoredChunk(
            chunk_id=str(seq),
            document_id="d",
            collection_id="c",
            seq=seq,
            title="Document",
            text=text,
            char_start=start,
            char_end=start + len(text),
            table_rows=table_rows[seq] if table_rows else None,
        )
        found.append(chunk)
        start += len(text) + 1
    return found


def cells(*texts: str, table_rows: tuple[tuple[int, int, int], ...] = ()) -> list[dict[str, str]]:
    records = records_of(chunks(*texts, table_rows=table_rows))
    return [
        {cell.name: cell.value for cell in record.cells}
        for record in records
        if not record.is_second
    ]


def test_a_row_knows_its_columns_some_chunks_after_their_head() -> None:
    found = cells("Name | Ends | Place\nName: A; Ends: 1", "Name: B; Place: Bonn", "Name: C")
    assert found == [{"Name": "A", "Ends": "1"}, {"Name": "B", "Place": "Bonn"}, {"Name": "C"}]


def test_a_row_that_is_cut_is_one() -> None:
    found = cells(
        "Name | Note\nName: A; Note: long",
        "and longer",
        "Name: B; Note: x",
        table_rows=((1, 1, 2), (1, 1, 2), (2, 2, 2)),
    )
    assert found == [{"Name": "A", "Note": "long and longer"}, {"Name": "B", "Note": "x"}]


def test_rows_of_markdown_have_the_names_above_them() -> None:
    found = cells("| Name | Ends |\n|---|---|\n| A | 1 |\n| B | |", "Text.")
    assert found == [{"Name": "A", "Ends": "1"}, {"Name": "B"}]


def test_lines_of_a_form_are_one_record_until_a_name_comes_again() -> None:
    found = cells("- **Name:** A\n- **Ends:** 1\n\nName: B", "Ends: 2\n\nThis is a sentence.")
    assert found == [{"Name": "A", "Ends": "1"}, {"Name": "B", "Ends": "2"}]


def test_a_table_of_two_columns_is_read_as_a_form_as_well() -> None:
    records = records_of(chunks("Name | A\nName: Ends; A: 2026-01-31\nName: Value; A: 7"))
    second = [record for record in records if record.is_second]
    assert [(cell.name, cell.value) for cell in second[0].cells] == [
        ("Name", "A"),
        ("Ends", "2026-01-31"),
        ("Value", "7"),
    ]


def test_what_a_chunk_repeats_is_read_once() -> None:
    one, two = chunks("Name: A\nEnds: 1", "Ends: 1\nPlace: Bonn")
    repeating = StoredChunk(
        chunk_id="1",
        document_id="d",
        collection_id="c",
        seq=1,
        title="Document",
        text=two.text,
        char_start=one.char_end - len("Ends: 1"),
        char_end=one.char_end + len("\nPlace: Bonn"),
    )
    records = records_of([one, repeating])
    assert [[cell.value for cell in record.cells] for record in records] == [["A", "1", "Bonn"]]
