"""What is new, gone and changed between two versions of a document: by their sentences, without a model.

Sentences that are the same, wherever they stand, are no change. Of the others those that are alike are one sentence
that was changed, rather where both stand under the same heading. The rest is gone or new. What is quoted of it, of an
outline or of a list is composed here, too: every line ends with the marker of its passage.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from retrieval.engine.steps.documents.excerpts import Excerpt, label_of
from retrieval.engine.steps.documents.parts import MOST_SOURCES
from retrieval.engine.steps.documents.read import WholeDocument
from retrieval.engine.text.analysis import analyze
from retrieval.engine.text.phrases import Language, in_script_of, phrase
from retrieval.engine.text.quoting import one_line
from retrieval.engine.values import AnswerSource, Scores, StoredChunk

ALIKE = 0.4  # share of both sentences' terms (Dice), under the same heading, from which one became the other
ALIKE_ELSEWHERE = 0.6
BESIDE = 0.2  # what the same heading adds where sentences compete for each other
VERSIONS = 0.1  # share of the smaller document's sentences that two versions of one have in common at least
COMMON = 40  # sentences that hold a term; one in more of them tells nothing apart
LOOKED_AT = 8  # sentences that one is compared with

_NUMBERING = re.compile(r"^\W*第[\d一二三四五六七八九十百]{1,5}[章节節条條编編]|^[\W\d]+")

Kind = Literal["changed", "new", "gone"]
RowKind = Literal["deadline", "amount", "contact"]
MOST_LINES = 120
OUTLINE_LINES = 10  # that an outline has at least, where its documents have so many paragraphs
ROW_KINDS: tuple[RowKind, ...] = ("deadline", "amount", "contact")


@dataclass(frozen=True, slots=True)
class ExcerptChange:
    """`heading`: that of the newer document, of the older one where the sentence is gone."""

    kind: Kind
    heading: str
    old: Excerpt | None = None
    new: Excerpt | None = None

    @property
    def statements(self) -> list[Excerpt]:
        return [one for one in (self.old, self.new) if one is not None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """In the order of the newer document; what is gone stands where its section would. same: sentences in both."""

    changes: tuple[ExcerptChange, ...]
    same: int

    @property
    def of_versions(self) -> bool:
        """Whether the two have enough in common for their differences to be listed one by one."""
        common = self.same + self.count("changed")
        return common > 0 and common >= VERSIONS * (
            common + min(self.count("new"), self.count("gone"))
        )

    def count(self, kind: Kind) -> int:
        return sum(change.kind == kind for change in self.changes)


@dataclass(slots=True)
class _Line:
    statement: Excerpt
    label: str
    key: str
    terms: frozenset[str]


def compare(older: Sequence[Excerpt], newer: Sequence[Excerpt]) -> Comparison:
    """In time that grows with the number of sentences."""
    old = _lines(older)
    new = _lines(newer)
    both = Counter(line.key for line in old) & Counter(line.key for line in new)
    left_old = _without(old, both)
    left_new = _without(new, both)
    pairs = _pairs(left_old, left_new)
    became = dict(pairs)
    headings = {line.label: line.statement for line in reversed(new) if line.label}
    shift = newer[0].section - older[0].section if older and newer else 0
    placed: list[tuple[float, int, ExcerptChange]] = []
    for at, line in enumerate(left_old):
        if at in became:
            now = left_new[became[at]]
            change = ExcerptChange("changed", now.statement.heading, line.statement, now.statement)
            placed.append((now.statement.section, became[at], change))
        else:
            known = headings.get(line.label)
            # A section that is gone as a whole comes after the one of the same place.
            place = known.section if known else line.statement.section + shift + 0.5
            heading = (known or line.statement).heading
            placed.append(
                (
                    place,
                    len(left_new) + at,
                    ExcerptChange("gone", heading, old=line.statement),
                )
            )
    paired = set(became.values())
    for at, line in enumerate(left_new):
        if at not in paired:
            place = line.statement.section
            placed.append(
                (
                    place,
                    at,
                    ExcerptChange("new", line.statement.heading, new=line.statement),
                )
            )
    return Comparison(
        tuple(change for _, _, change in sorted(placed, key=lambda each: each[:2])),
        both.total(),
    )


def _lines(excerpts: Sequence[Excerpt]) -> list[_Line]:
    return [
        _Line(
            one,
            _label(one.heading),
            label_of(one.text),
            frozenset(analyze(one.text)),
        )
        for excerpt in excerpts
        for one in excerpt.statements
    ]


def _label(heading: str) -> str:
    return label_of(_NUMBERING.sub("", heading))


def _without(lines: Sequence[_Line], both: Counter[str]) -> list[_Line]:
    left = both.copy()
    rest = []
    for line in lines:
        if left[line.key] > 0:
            left[line.key] -= 1
        else:
            rest.append(line)
    return rest


def _pairs(old: Sequence[_Line], new: Sequence[_Line]) -> list[tuple[int, int]]:
    """Indexes of what became what; the likest first, each sentence once."""
    holding: dict[str, list[int]] = defaultdict(list)
    by_label: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(new):
        by_label[line.label].append(at)
        for term in line.terms:
            holding[term].append(at)
    scored: list[tuple[float, int, int]] = []
    for at, line in enumerate(old):
        shared = Counter(
            other for term in line.terms if len(holding[term]) <= COMMON for other in holding[term]
        )
        likely = [other for other, _ in shared.most_common(LOOKED_AT)]
        beside = by_label[line.label][:COMMON] if line.label else []
        for other in dict.fromkeys((*likely, *beside)):
            is_beside = new[other].label == line.label
            alike = _alike(line.terms, new[other].terms)
            if alike >= (ALIKE if is_beside else ALIKE_ELSEWHERE):
                scored.append((alike + BESIDE * is_beside, at, other))
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, at, other in sorted(scored, key=lambda each: (-each[0], each[1], each[2])):
        if at not in pairs and other not in taken:
            pairs[at] = other
            taken.add(other)
    return list(pairs.items())


def _alike(left: frozenset[str], right: frozenset[str]) -> float:
    return 2 * len(left & right) / ((len(left) + len(right)) or 1)


# ------------------------------------------------------------------------------------------------ compose


@dataclass(frozen=True, slots=True)
class Quoted:
    """`text`: with markers. `sources`: cited, in the order of their markers. lines: how many."""

    text: str
    sources: tuple[AnswerSource, ...]
    lines: int


@dataclass(frozen=True, slots=True)
class QuotedLine:
    """What is quoted under a heading. lead: the site's own words before it."""

    heading: str
    lead: str
    statements: Sequence[Excerpt]


@dataclass(frozen=True, slots=True)
class ListEntry:
    """One entry of a list. words: the date, sum or address, as it stands in the statement."""

    kind: RowKind
    words: str
    statement: Excerpt


def outline(documents: Sequence[WholeDocument], language: Language) -> Quoted:
    """Each section with its first sentence; of a document of few sections with some more."""
    lines = []
    for document in documents:
        title = f"{titles([document], language)}: " if len(documents) > 1 else ""
        for _, section in groupby(document.excerpts, key=lambda excerpt: excerpt.section):
            leads = [lead for excerpt in section for lead in excerpt.statements][
                : max(1, OUTLINE_LINES // document.sections)
            ]
            lines += [QuotedLine(title + _heading(lead, language), "", [lead]) for lead in leads]
    return quoted(
        phrase("outline", language, names=titles(documents, language)),
        lines,
        language,
    )


def listing(
    rows: Iterable[ListEntry], documents: Sequence[WholeDocument], language: Language
) -> Quoted:
    """By document and kind; what one sentence says of a kind is one line."""
    words: dict[tuple[int, int, Excerpt], list[str]] = {}
    places = {document.ref.id: at for at, document in enumerate(documents)}
    for row in rows:
        key = (
            places[row.statement.chunk.document_id],
            ROW_KINDS.index(row.kind),
            row.statement,
        )
        words.setdefault(key, []).append(row.words)
    lines = []
    for place, kind, statement in sorted(words, key=lambda key: key[:2]):
        title = f"{titles([documents[place]], language)}: " if len(documents) > 1 else ""
        named = _plain(", ".join(dict.fromkeys(words[place, kind, statement])), language)
        lines.append(
            QuotedLine(
                title + phrase(ROW_KINDS[kind], language),
                f"**{named}**:",
                [statement],
            )
        )
    return quoted("", lines, language)


def differences(
    comparison: Comparison,
    older: WholeDocument,
    newer: WholeDocument,
    language: Language,
) -> Quoted:
    """Under each heading the older and the newer wording."""
    head = phrase(
        "differences",
        language,
        old=titles([older], language),
        new=titles([newer], language),
        changed=comparison.count("changed"),
        added=comparison.count("new"),
        gone=comparison.count("gone"),
    )
    lines = [
        QuotedLine(
            _plain(change.heading, language) or phrase("beginning", language),
            phrase(change.kind, language),
            change.statements,
        )
        for change in comparison.changes
    ]
    return quoted(head, lines, language, marks="「」" if language == "zh-hant" else "“”")


def quoted(
    head: str,
    lines: Sequence[QuotedLine],
    language: Language,
    *,
    marks: Sequence[str] = ("", ""),
) -> Quoted:
    """marks: quotation marks. Up to the first line without room for its sources."""
    chunks: dict[str, StoredChunk] = {}
    text = [head]
    shown = 0
    heading = ""
    for line in lines[:MOST_LINES]:
        cited = chunks | {one.chunk.chunk_id: one.chunk for one in line.statements}
        if len(cited) > MOST_SOURCES:
            break
        chunks = cited
        numbers = {key: number for number, key in enumerate(cited, start=1)}
        text += ["", f"**{line.heading}**", ""] if line.heading != heading else []
        quotes = [
            f"{marks[0]}{in_script_of(one.text, language)}{marks[1]} [{numbers[one.chunk.chunk_id]}]"
            for one in line.statements
        ]
        blank = "" if not line.lead or line.lead.endswith("：") else " "
        text.append(f"- {line.lead}{blank}{' → '.join(quotes)}")
        heading = line.heading
        shown = shown + 1
    if shown < len(lines):
        text += ["", phrase("shown", language, shown=shown, count=len(lines))]
    sources = [
        AnswerSource(marker=number, chunk=chunk, scores=Scores(), cited=True)
        for number, chunk in enumerate(chunks.values(), start=1)
    ]
    return Quoted("\n".join(text).strip(), tuple(sources), shown)


def _heading(excerpt: Excerpt, language: Language) -> str:
    if excerpt.heading or excerpt.chunk.page is None:
        return _plain(excerpt.heading, language) or phrase("beginning", language)
    return phrase("page", language, page=excerpt.chunk.page)


def titles(documents: Sequence[WholeDocument], language: Language) -> str:
    return ", ".join(_plain(document.ref.title, language) for document in documents)


def _plain(text: str, language: Language) -> str:
    return in_script_of(one_line(text).replace("*", ""), language)
