"""What is shown where no model writes: passages as they stand in their documents."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings

from chat.messages.rendering import render_answer
from retrieval.engine.steps.answer.quote import (
    SHOWN_CHARS,
    best_sources,
    best_statements,
    show_passages,
)
from retrieval.engine.values import AnswerSource, Scores, StoredChunk
from tests.retrieval.engine.steps.document_reader import MemoryReader
from tests.retrieval.engine.steps.fakes import ask, cut, make_tools

HOUSING = """## Rent and deposit

| Hall | Room | Rent, EUR a week |
|---|---|---:|
| Lakeside | single room | 118 |
| Willow Court | single room | 146 |

Rent is paid for each term in advance. A deposit of EUR 300 is paid before moving in.

## Moving out

Keys are handed in by noon.
"""


def source(marker: int, text: str, *, score: float = 0.0, **facts: object) -> AnswerSource:
    fields = {
        "title": "Housing Policy",
        "file_name": "housing.md",
        "document_id": "d",
        "seq": marker,
        **facts,
    }
    chunk = StoredChunk(chunk_id=str(marker), collection_id="c1", text=text, **fields)
    return AnswerSource(
        marker=marker, chunk=chunk, scores=Scores(final=score or 1.0 / (1 + marker))
    )


async def shown(
    question: str, *sources: AnswerSource, chars: int = SHOWN_CHARS, **parts: object
) -> str:
    deps = make_tools(settings.RAG, **parts)
    return (await show_passages(deps, ask(question), sources, among=sources, chars=chars)).text


async def test_a_passage_stands_under_its_title_and_headings_with_its_marker() -> None:
    text = await shown("When are keys handed in?", source(1, HOUSING, heading="Rules"))
    assert text.startswith("**Housing Policy › Rules › Moving out** [1]\n\n> ")
    assert "> **Keys are handed in by noon.**" in text


async def test_a_table_stays_a_table_with_its_head_and_the_best_row_marked() -> None:
    text = await shown("What is the rent in Willow Court?", source(1, HOUSING))
    assert (
        "> | Hall | Room | Rent, EUR a week |\n> |---|---|---:|\n"
        "> | Lakeside | single room | 118 |\n> | **Willow Court** | **single room** | **146** |\n"
    ) in text
    assert "A deposit of EUR 300 is paid before moving in." in text


async def test_a_sheet_is_shown_as_the_table_that_it_is() -> None:
    rows = "\n".join(f"Name: Person{number}; Desk: D{number}" for number in range(90))
    text = await shown(
        "Which desk has Person57?", source(1, f"Name | Desk\n{rows}", file_name="desks.xlsx")
    )
    assert "> | Name | Desk |\n> |---|---|\n" in text
    assert "> | **Person57** | **D57** |" in text
    assert "> …" in text and len(text) < 2 * SHOWN_CHARS


async def test_rows_without_their_head_get_it_from_the_chunk_before() -> None:
    rows = "| Mill Lane | double room | 84 |\n| North Tower | studio | 189 |"
    first = replace(
        source(0, HOUSING.split("\n\nRent")[0]).chunk,
        document_id="00000000-0000-0000-0000-000000000001",
    )
    cut_off = source(1, rows, document_id=first.document_id)
    text = await shown("What is the rent in North Tower?", cut_off, documents=MemoryReader([first]))
    assert "> | Hall | Room | Rent, EUR a week |\n> |---|---|---:|\n> | Mill Lane |" in text


async def test_what_stands_beside_a_passage_in_its_document_is_shown_around_its_sentence() -> None:
    first, second = cut(
        "## Rent\n\nA room in Lakeside costs 118 a week.",
        "A deposit of EUR 300 is paid first.",
        gap=2,
    )
    found = AnswerSource(marker=1, chunk=first, scores=Scores(final=1.0))
    text = await shown(
        "What does a room in Lakeside cost?", found, documents=MemoryReader([first, second])
    )
    assert "> **A room in Lakeside costs 118 a week.**" in text
    assert "> A deposit of EUR 300 is paid first." in text


async def test_a_long_passage_is_shown_around_its_best_sentence() -> None:
    filler = "\n\n".join(
        f"Paragraph {number} tells of other things entirely, at some length."
        for number in range(60)
    )
    long = f"{filler}\n\nThe lost property office is in B2."
    text = await shown("Where is the lost property office?", source(1, long))
    assert "> **The lost property office is in B2.**" in text
    assert "\n> …\n" in text and len(text) < SHOWN_CHARS + 100


async def test_a_sentence_of_any_length_is_cut() -> None:
    text = await shown("What about penguins?", source(1, "penguins " * 5000))
    assert len(text) < SHOWN_CHARS + 100 and "…" in text


async def test_a_plain_text_is_shown_letter_by_letter() -> None:
    line = "Set *all* fees[1] to <none> & keep snake_case, $5 and `row[1]`."
    text = await shown("Which fees?", source(1, line, file_name="notes.txt"))
    html = render_answer(text, markers={1})
    assert "Set *all* fees[1] to &lt;none&gt; &amp; keep snake_case, $5 and `row[1]`." in html
    assert html.count('class="citation"') == 1


async def test_a_question_of_an_faq_is_not_taken_for_its_answer() -> None:
    faq = "问：逾期怎么罚款？\n答：每本每天两角，最高不超过书价的一半。\n\n问：丢了借书证怎么办？\n答：补办费十二元。"
    text = await shown("借书逾期罚款多少？", source(1, faq, file_name="faq.txt"))
    assert "**答：每本每天两角，最高不超过书价的一半。**" in text


def test_others_are_shown_where_they_come_near_from_other_places() -> None:
    best = source(1, "a", score=1.0, heading="Rent")
    near = source(2, "b", score=0.9, document_id="e")
    same_place = source(3, "c", score=0.9, heading="Rent")
    far = source(4, "d", score=0.3, document_id="f")
    last = source(5, "e", score=0.2, document_id="g")
    assert best_sources([best, near, same_place, far, last]) == [best, near]
    assert best_sources([]) == []


def test_the_best_statement_of_each_passage_is_found() -> None:
    chunks = [source(1, HOUSING).chunk, source(2, "Keys cost EUR 45 each. Visitors sign in.").chunk]
    assert best_statements("What do keys cost?", chunks)[1] == "Keys cost EUR 45 each."
