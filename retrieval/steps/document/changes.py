"""What is new, gone and changed between two versions of a document: by their sentences, without a model.

Sentences that are the same, wherever they stand, are no change. Of the others those that are alike are one sentence
that was changed, rather where both stand under the same heading. The rest is gone or new.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from retrieval.steps.document.sections import Section, Statement
from retrieval.steps.query.route import fold
from retrieval.text.analysis import analyze

ALIKE = 0.4  # share of both sentences' terms (Dice), under the same heading, from which one became the other
ALIKE_ELSEWHERE = 0.6
VERSIONS = 0.1  # share of the smaller document's sentences that two versions of one have in common at least
COMMON = 40  # sentences that hold a term; one in more of them tells nothing apart
LOOKED_AT = 8  # sentences that one is compared with

_NUMBERING = re.compile(r"^\W*第[\d一二三四五六七八九十百]{1,5}[章节条编]|^[\W\d]+")


@dataclass(frozen=True, slots=True)
class Change:
    """`heading`: that of the newer document, of the older one where the sentence is gone."""

    kind: Literal["changed", "new", "gone"]
    heading: str
    old: Statement | None = None
    new: Statement | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """In the order of the newer document; what is gone stands where its section would. same: sentences in both."""

    changes: tuple[Change, ...]
    same: int

    @property
    def of_versions(self) -> bool:
        """Whether the two have enough in common for their differences to be told one by one."""
        kept = self.same + self.count("changed")
        return kept > 0 and kept >= VERSIONS * (kept + min(self.count("new"), self.count("gone")))

    def count(self, kind: Literal["changed", "new", "gone"]) -> int:
        return sum(change.kind == kind for change in self.changes)


@dataclass(slots=True)
class _Line:
    statement: Statement
    section: int
    heading: str
    label: str
    key: str
    terms: frozenset[str]


def compare(older: Sequence[Section], newer: Sequence[Section]) -> Comparison:
    """Pure; in time that grows with the number of sentences."""
    old, new = _lines(older, _same_headings(older, newer)), _lines(newer, {})
    left_old, left_new, same = _without_the_same(old, new)
    pairs = _pairs(left_old, left_new)
    paired_old, paired_new = {at for at, _ in pairs}, {at for _, at in pairs}
    sections = {label: at for at, section in reversed(list(enumerate(newer))) if (label := _label(section.heading))}
    placed: list[tuple[float, int, Change]] = []
    for one, other in pairs:
        was, now = left_old[one], left_new[other]
        placed.append((now.section, other, Change("changed", now.heading, was.statement, now.statement)))
    for at, line in enumerate(left_new):
        if at not in paired_new:
            placed.append((line.section, at, Change("new", line.heading, new=line.statement)))
    for at, line in enumerate(left_old):
        if at not in paired_old:
            known = sections.get(line.label)
            # A section that is gone as a whole comes after the one of the same number.
            place = line.section + 0.5 if known is None else float(known)
            heading = line.heading if known is None else newer[known].heading
            placed.append((place, len(left_new) + at, Change("gone", heading, old=line.statement)))
    return Comparison(tuple(change for _, _, change in sorted(placed, key=lambda each: each[:2])), same)


def _same_headings(older: Sequence[Section], newer: Sequence[Section]) -> dict[str, str]:
    """Old headings that were reworded under the same number → the new ones, by their labels."""
    labels = {_label(section.heading) for section in newer}
    numbered: dict[str, Section] = {}
    for section in newer:
        if number := _number(section.heading):
            numbered.setdefault(number, section)
    same: dict[str, str] = {}
    for section in older:
        other = numbered.get(_number(section.heading))
        if other is None or _label(section.heading) in labels:
            continue
        if set(analyze(_NUMBERING.sub("", section.heading))) & set(analyze(_NUMBERING.sub("", other.heading))):
            same[_label(section.heading)] = _label(other.heading)
    return same


def _number(heading: str) -> str:
    match = _NUMBERING.match(fold(heading))
    return "".join(char for char in match.group() if char.isalnum()) if match else ""


def _lines(sections: Sequence[Section], renamed: Mapping[str, str]) -> list[_Line]:
    return [
        _Line(
            statement=statement,
            section=at,
            heading=section.heading,
            label=renamed.get(_label(section.heading), _label(section.heading)),
            key="".join(char for char in fold(statement.text) if char.isalnum()),
            terms=frozenset(analyze(statement.text)),
        )
        for at, section in enumerate(sections)
        for statement in section.statements()
    ]


def _label(heading: str) -> str:
    return "".join(char for char in _NUMBERING.sub("", fold(heading)) if char.isalnum())


def _without_the_same(old: Sequence[_Line], new: Sequence[_Line]) -> tuple[list[_Line], list[_Line], int]:
    counts: dict[str, int] = defaultdict(int)
    for line in new:
        counts[line.key] += 1
    gone: list[_Line] = []
    same: dict[str, int] = defaultdict(int)
    for line in old:
        if counts[line.key] > same[line.key]:
            same[line.key] += 1
        else:
            gone.append(line)
    total = sum(same.values())
    fresh: list[_Line] = []
    for line in new:
        if same[line.key]:
            same[line.key] -= 1
        else:
            fresh.append(line)
    return gone, fresh, total


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
        shared: dict[int, int] = defaultdict(int)
        for term in line.terms:
            if len(holding[term]) <= COMMON:
                for other in holding[term]:
                    shared[other] += 1
        likely = sorted(shared, key=lambda other: -shared[other])[:LOOKED_AT]
        beside = by_label[line.label][:COMMON] if line.label else []
        for other in dict.fromkeys((*likely, *beside)):
            is_beside = new[other].label == line.label
            alike = _alike(line.terms, new[other].terms)
            if alike >= (ALIKE if is_beside else ALIKE_ELSEWHERE):
                scored.append((alike + (0.2 if is_beside else 0.0), at, other))
    pairs: list[tuple[int, int]] = []
    used_old, used_new = set[int](), set[int]()
    for _, at, other in sorted(scored, key=lambda each: (-each[0], each[1], each[2])):
        if at not in used_old and other not in used_new:
            used_old.add(at)
            used_new.add(other)
            pairs.append((at, other))
    return pairs


def _alike(left: frozenset[str], right: frozenset[str]) -> float:
    return 2 * len(left & right) / ((len(left) + len(right)) or 1)
