"""Some 300 documents of which is known what they hold: contracts, policies, tables of suppliers, letters."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

DEPARTMENTS = ("HR", "IT", "Legal", "Facilities")
COUNTRIES = ("Germany", "France", "Japan", "Brazil", "Kenya")
TOWNS = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Iris", "Juniper")
TRADES = ("Cleaning", "Catering", "Software", "Logistics", "Printing", "Security", "Energy")
MENTIONS = (
    "Employees may take parental leave of up to six months.",
    "PARENTAL LEAVE\nis granted to each parent.",
    "The rules on parental leave apply in full.",
)
TRAPS = (
    "Parental consent is needed for visitors under age. Leave of absence is dealt with elsewhere.",
    "Sick leave is reported on the first day.",
    "Parents of pupils may park in row B.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """facts: what it says, by name; rows: of a table, each by column."""

    name: str
    data: bytes
    metadata: dict[str, object] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)
    rows: Sequence[dict[str, object]] = ()


def countable_files(seed: int = 1) -> list[File]:
    chance = random.Random(seed)
    return [*_contracts(chance), *_policies(chance), *_chinese(), *_suppliers(chance), *_letters()]


def _contracts(chance: random.Random) -> Iterator[File]:
    for number in range(120):
        ends = date(2025, 7, 1) + timedelta(days=chance.randrange(600))
        is_open = number % 17 == 0
        value = 500 * chance.randrange(4, 400)
        supplier = f"{chance.choice(TOWNS)} {chance.choice(TRADES)} {number}"
        country = chance.choice(COUNTRIES)
        written = "open-ended" if is_open else _written(ends, number)
        pairs = [
            ("Supplier", supplier),
            ("Contract no.", f"C-{1000 + number}"),
            ("Country", country),
            ("End date", written),
            ("Annual value", f"EUR {value:,}"),
        ]
        indemnity = chance.random() < 0.3
        clauses = ["Payment is due within thirty days of the invoice."]
        if indemnity:
            clauses.append("The supplier shall indemnify the customer against claims.")
        kind = ("md", "html", "docx", "txt")[number % 4]
        title = f"Contract with {supplier}"
        yield File(
            name=f"contract-{number}.{kind}",
            data=_form(kind, title, pairs, clauses),
            metadata={"doc_type": "contract", "policy_year": ends.year, "tags": ["supplier"]},
            facts={
                "supplier": supplier,
                "ends": None if is_open else ends,
                "value": value,
                "country": country,
                "indemnity": indemnity,
            },
        )


def _written(day: date, number: int) -> str:
    return (f"{day:%Y-%m-%d}", f"{day.day} {day:%B %Y}", f"{day:%d.%m.%Y}")[number % 3]


def _form(kind: str, title: str, pairs: Sequence[tuple[str, str]], clauses: Sequence[str]) -> bytes:
    text = "\n\n".join(clauses)
    if kind == "html":
        rows = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in pairs)
        paragraphs = "".join(f"<p>{clause}</p>" for clause in clauses)
        return f"<h1>{title}</h1><table>{rows}</table>{paragraphs}".encode()
    if kind == "txt":
        lines = "\n".join(f"{name}: {value}" for name, value in pairs)
        return f"{title}\n\n{lines}\n\n{text}\n".encode()
    if kind == "md":
        lines = "\n".join(f"- **{name}:** {value}" for name, value in pairs)
        return f"# {title}\n\n{lines}\n\n## Terms\n\n{text}\n".encode()
    import docx

    document = docx.Document()
    document.add_heading(title, 1)
    table = document.add_table(rows=len(pairs), cols=2)
    for row, pair in zip(table.rows, pairs, strict=True):
        for cell, value in zip(row.cells, pair, strict=True):
            cell.text = value
    for clause in clauses:
        document.add_paragraph(clause)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def _policies(chance: random.Random) -> Iterator[File]:
    for number in range(110):
        department = DEPARTMENTS[number % 4]
        year = 2020 + number % 7
        mentions = number % 7 in (0, 3, 5)
        remote = chance.random() < 0.4
        sentences = [
            f"This policy of {department} is binding from January {year}.",
            MENTIONS[number % 3] if mentions else TRAPS[number % 3],
            "Remote work is possible on two days a week." if remote else "Work is done on site.",
            *(f"Paragraph {part} regulates matter {part * number}." for part in range(1, 25)),
        ]
        yield File(
            name=f"policy-{number}.md",
            data=f"# Policy {number} of {department}\n\n{chr(10).join(sentences)}\n".encode(),
            metadata={"doc_type": "policy", "department": department, "policy_year": year},
            facts={"parental": mentions, "remote": remote, "year": year, "department": department},
        )


def _chinese() -> Iterator[File]:
    for number in range(20):
        mentions = number % 4 == 1
        text = "本办法适用于全体员工。"
        if mentions:
            text += "員工可申請育嬰假六個月。" if number % 8 == 1 else "员工可申请育婴假六个月。"
        yield File(
            name=f"办法-{number}.txt",
            data=f"员工管理办法{number}\n\n{text}\n".encode(),
            metadata={"doc_type": "办法"},
            facts={"leave_zh": mentions},
        )


def _suppliers(chance: random.Random) -> Iterator[File]:
    for number in range(25):
        rows: list[dict[str, object]] = []
        for entry in range(40):
            audit = date(2026, 1, 1) + timedelta(days=chance.randrange(365))
            row = {
                "Supplier": f"{chance.choice(TOWNS)} {chance.choice(TRADES)} {number}-{entry}",
                "Region": chance.choice(COUNTRIES),
                "Score": chance.randrange(1, 101),
                "Next audit": audit,
            }
            rows.append(row)
        kind = "csv" if number % 2 else "md"
        lines = [list(rows[0]), *(list(map(str, row.values())) for row in rows)]
        if kind == "csv":
            file = io.StringIO()
            csv.writer(file).writerows(lines)
            data = file.getvalue().encode()
        else:
            lines.insert(1, ["---"] * len(lines[0]))
            table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
            data = f"# Suppliers {number}\n\n{table}\n".encode()
        yield File(name=f"suppliers-{number}.{kind}", data=data, rows=rows)


def _letters() -> Iterator[File]:
    for number in range(30):
        code = f"REF-{7000 + number // 3}"
        yield File(
            name=f"letter-{number}.txt",
            data=f"Letter {number}\n\nWe refer to {code} and thank you.\n".encode(),
            metadata={"doc_type": "letter"},
            facts={"code": code},
        )
