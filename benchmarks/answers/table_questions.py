"""Thirty questions that one row of a table answers: does the passage found say the value with what names it?

    python -m benchmarks.table_questions [--misses] [--json]

The tables have merged cells, heads of two rows, tables beside and below them, sections, 120 rows, long cells, tables
within cells, and numbers with formats. They are written as Word, Excel, PowerPoint, HTML, CSV and PDF files; what
LibreOffice can save, it saves again, where it is installed. A line of the passage has to name the row, the column and
the value. Counted for the first passage and for the first three of the whole search, without a model.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.answers.sample_answers import then_close
from benchmarks.support.own_site import set_up
from benchmarks.support.table_files import Cell, Question, Table, write_files
from benchmarks.support.tables import show

FIRST = 3

BOATS = Table(
    "boats",
    "Hire of boats, in euros",
    [
        [Cell("Boat", rows=2), Cell("Summer", columns=2), Cell("Winter", columns=2)],
        ["Day", "Week", "Day", "Week"],
        ["Canoe", "12", "58", "7", "33"],
        ["Punt", "15", "71", "9", "41"],
        ["Sailing dinghy", "34", "160", "22", "97"],
        ["Rowing boat", "14", "66", "8", "38"],
    ],
    [
        Question(
            "docx", "What does a canoe cost for a week in winter?", "Canoe", "Winter · Week: 33"
        ),
        Question(
            "html",
            "How much is the sailing dinghy per day in summer?",
            "Sailing dinghy",
            "Summer · Day: 34",
        ),
        Question("pdf", "What does a punt cost for a week in summer?", "Punt", "Summer · Week: 71"),
        Question(
            "pptx",
            "Price of the rowing boat for a day in winter?",
            "Rowing boat",
            "Winter · Day: 8",
        ),
    ],
    head=2,
)
ZONES = Table(
    "zones",
    "Ferry tickets by zone",
    [
        ["Zone", "Ticket", "Price"],
        [Cell("North", rows=2), "Single", Cell(4.5, number_format='0.00" CHF"')],
        ["Season", Cell(280, number_format='#,##0.00" CHF"')],
        [Cell("South", rows=2), "Single", Cell(6, number_format='0.00" CHF"')],
        ["Season", Cell(1310.25, number_format='#,##0.00" CHF"')],
    ],
    [
        Question(
            "xlsx",
            "What is a season ticket of the ferry in zone South?",
            "South",
            "Price: 1,310.25 CHF",
        ),
        Question("docx", "Ferry: price of a single ticket in zone North", "North", "Price: 4.5"),
        Question(
            "html",
            "How much does a ferry season ticket cost in the South zone?",
            "South",
            "Price: 1310.25",
        ),
        Question("pdf", "Price of a single ferry ticket in zone South?", "South", "Price: 6"),
        Question(
            "pptx", "What does the season ticket for the North zone cost?", "North", "Price: 280"
        ),
    ],
)
LOCKERS = Table(
    "lockers",
    "Lockers of the sports centre",
    [
        ["Locker", "Corridor", "Holder", "Deposit"],
        *(
            [
                f"L-{number:03}",
                f"{'ABC'[number % 3]}{number % 7}",
                f"Club {number * 7 % 121}",
                f"{20 + number % 9} euros",
            ]
            for number in range(1, 121)
        ),
    ],
    [
        Question("xlsx", "In which corridor is locker L-077?", "L-077", "Corridor: C0"),
        Question("csv", "Which deposit is paid for locker L-104?", "L-104", "Deposit: 25 euros"),
        Question("pdf", "Who is the holder of locker L-093?", "L-093", "Holder: Club 46"),
    ],
)
ROOMS = Table(
    "rooms",
    "Rooms and people of the parish hall",
    [["Room", "Seats", "Rent"], ["Lime", "40", "85 euros"], ["Maple", "120", "210 euros"]],
    [
        Question(
            "xlsx", "What is the phone number of the caretaker Oduya?", "Oduya", "Phone: 5512"
        ),
        Question("csv", "Which shift does the cleaner Brandt have?", "Brandt", "Shift: early"),
    ],
    below=[
        ["Person", "Phone", "Shift"],
        ["Caretaker Oduya", "5512", "late"],
        ["Cleaner Brandt", "5530", "early"],
    ],
)
CREW = Table(
    "crew",
    "Crew and cabins of the Albatross",
    [
        ["Name", "Watch", "Duty"],
        ["Yusuf", "2", "helm"],
        ["Marit", "3", "galley"],
        ["Chen", "1", "sails"],
    ],
    [
        Question(
            "xlsx", "How many berths has the fore cabin of the Albatross?", "Fore", "Berths: 6"
        ),
        Question("xlsx", "Which watch does Marit keep on the Albatross?", "Marit", "Watch: 3"),
    ],
    beside=[["Cabin", "Berths"], ["Fore", "6"], ["Aft", "4"]],
)
PARTS = Table(
    "parts",
    "Spare parts of the mill",
    [
        ["Part no.", "Name", "Share", "Stock value"],
        [
            Cell(42, number_format="0000"),
            "Gear",
            Cell(0.125, number_format="0.0%"),
            Cell(1200.5, number_format="#,##0.00 [$€-407]"),
        ],
        [
            Cell(107, number_format="0000"),
            "Belt",
            Cell(0.5, number_format="0.0%"),
            Cell(88, number_format="#,##0.00 [$€-407]"),
        ],
    ],
    [
        Question("xlsx", "Which part number has the gear of the mill?", "Gear", "Part no.: 0042"),
        Question(
            "xlsx",
            "What is the stock value of the belt of the mill?",
            "Belt",
            "Stock value: 88.00 €",
        ),
    ],
)
MENU = Table(
    "menu",
    "Canteen allergens",
    [
        ["Dish", "Contains", "Price"],
        [Cell("Soups", columns=3)],
        ["Leek cream", "milk, celery", "3.20"],
        ["Fish broth", "fish", "3.90"],
        [Cell("Mains", columns=3)],
        ["Lentil curry", "mustard", "6.40"],
        ["Schnitzel", "wheat, egg", "7.80"],
    ],
    [
        Question(
            "docx",
            "Which allergens does the lentil curry contain?",
            "Lentil curry",
            "Contains: mustard",
        ),
        Question(
            "html", "What does the fish broth in the canteen cost?", "Fish broth", "Price: 3.90"
        ),
        Question(
            "pdf", "Which allergens are in the schnitzel?", "Schnitzel", "Contains: wheat, egg"
        ),
    ],
)
OFFICES = Table(
    "offices",
    "Where the offices are",
    [
        ["Office", "Address", "Opening hours"],
        ["Registry", "12 Mill Lane, second floor", "Monday to Friday 9:00–12:30"],
        ["Cash desk", "3 Tower Square, entrance B", "Tuesday and Thursday 13:00–16:00"],
        ["Lost property", "3 Tower Square, basement", "Wednesday 8:00–10:00"],
    ],
    [
        Question(
            "csv",
            "When is lost property open?",
            "Lost property",
            "Opening hours: Wednesday 8:00–10:00",
        ),
        Question(
            "docx",
            "What is the address of the cash desk?",
            "Cash desk",
            "Address: 3 Tower Square, entrance B",
        ),
        Question(
            "pdf",
            "When does the registry open?",
            "Registry",
            "Opening hours: Monday to Friday 9:00–12:30",
        ),
        Question(
            "pptx",
            "Where is the lost property office?",
            "Lost property",
            "Address: 3 Tower Square, basement",
        ),
    ],
)
YEARS = Table(
    "years",
    "Visitors of the museums",
    [
        ["Museum", "2024", "2025", "2026"],
        ["Glass house", "1840", "5230", "6112"],
        ["Old mint", "920", "875", "1003"],
    ],
    [
        Question("csv", "How many visitors had the Old mint in 2025?", "Old mint", "2025: 875"),
        Question("html", "Visitors of the Glass house museum in 2026", "Glass house", "2026: 6112"),
        Question(
            "pptx",
            "How many visitors came to the Glass house in 2024?",
            "Glass house",
            "2024: 1840",
        ),
    ],
)
KENNELS = Table(
    "kennels",
    "Kennels of the animal shelter",
    [
        ["Animal", "Fee"],
        ["Rabbit", "6 euros"],
        ["Dog", Cell("by size:", inner=[["small", "14 euros"], ["large", "19 euros"]])],
    ],
    [
        Question("docx", "What does the shelter charge for a large dog?", "Dog", "large, 19 euros"),
        Question("html", "Fee of the animal shelter for a small dog", "Dog", "small, 14 euros"),
    ],
)
TABLES = (BOATS, ZONES, LOCKERS, ROOMS, CREW, PARTS, MENU, OFFICES, YEARS, KENNELS)


def is_told(question: Question, passage: str) -> bool:
    lines = passage.split("\n")
    return any(question.row in line and question.named_value in line for line in lines)


@contextmanager
def table_site(folder: str) -> Iterator[list[Question]]:
    """A site without a model that holds the files, and what can be asked; Django is set up for it."""
    set_up(folder, "")
    from django.core.management import call_command

    from ragsite.runtime.milvus_lite import ensure_server

    files = Path(folder) / "files"
    files.mkdir()
    questions = write_files(TABLES, files)
    with ensure_server(folder):
        call_command("ingest", str(files), collection="tables", verbosity=0)
        yield questions


async def passages_found(questions: Sequence[Question]) -> list[list[str]]:
    from django.contrib.auth.models import User

    from retrieval.knowledge.api.search import search_answered

    user = await User.objects.acreate(username="reader")
    found = [
        await search_answered(user=user, body={"query": question.text, "top_k": FIRST})
        for question in questions
    ]
    return [[candidate.chunk.text for candidate in result.candidates] for result in found]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--misses",
        action="store_true",
        help="print the passages of questions that are not answered",
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ragsite-benchmark-") as folder,
        table_site(folder) as questions,
    ):
        found = asyncio.run(then_close(passages_found(questions)))
    told = [
        [is_told(question, text) for text in texts]
        for question, texts in zip(questions, found, strict=True)
    ]
    rows = []
    for kind in (*sorted({question.kind for question in questions}), "all"):
        ours = [
            each
            for each, question in zip(told, questions, strict=True)
            if kind in (question.kind, "all")
        ]
        rows.append(
            {
                "kind": kind,
                "questions": len(ours),
                "first passage": sum(each[:1] == [True] for each in ours) / len(ours),
                f"first {FIRST}": sum(map(any, ours)) / len(ours),
            }
        )
    show(rows, as_json=options.json)
    if options.misses:
        for question, texts, each in zip(questions, found, told, strict=True):
            if each[:1] != [True]:
                print(
                    f"\n{question.kind}: {question.text} ({question.named_value})",
                    *texts,
                    sep="\n--\n",
                )


if __name__ == "__main__":
    main()
