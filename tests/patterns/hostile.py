"""Lines that make a backtracking pattern work: each repeat of it pumped up, behind what leads to it, with an end that
does not match; and the same few for all patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

FIXED = (
    "|--", "| :- ", "--", ":-", "<!--", "-->", "<a ", "</a", "[", "[[](", "![", "(", "{#", "] ", " ", "\t", "\n", " \n",
    "\n\n", "\u3000", "1", "1.", "1,", "a", "A", "Aa ", "a.", "a-", "a'", ", ", '"', "'", "`", "*", "_a", "#", "# ",
    "> ", "- ", "\\", "&", "中", "。", "《", "中a1 ", "第一", "é", "```",
)  # fmt: skip
LEAD = "z\x01"  # so that what is anchored at the beginning does not take the whole text
TAILS = ("", "\x01", "\nz!")
_ALPHABET = (*"a1 -A_z0.,:;|<>[](){}#*`'\"\n\t!?/\\&=~+@%$^", *"中。《é\u3000ÿ", "\x02")
_CATEGORIES = {
    sre.CATEGORY_SPACE: str.isspace, sre.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    sre.CATEGORY_DIGIT: str.isdigit, sre.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    sre.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    sre.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}  # fmt: skip
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
MANY = 8  # a repeat of at most so many can't be pumped up
MOST_VARIANTS = 3


def seeds(pattern: str | bytes, flags: int) -> Iterator[tuple[str, str]]:
    """(what stands once in front, what is repeated)."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    tree = sre_parser.parse(text, flags & ~re.UNICODE.value)
    found = dict.fromkeys(("", fixed) for fixed in FIXED)
    own = list(dict.fromkeys(_repeats(tree, "")))
    for prefix, pump in own:
        found |= dict.fromkeys([("", pump), (LEAD, pump), (prefix, pump), ("", prefix + pump), ("", prefix)])
    return (seed for seed in found if seed[1])


def _repeats(tree: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for operation, argument in tree:
        node = [(operation, argument)]
        if operation in _REPEATS:
            _, most, body = argument
            if most == sre.MAXREPEAT or most > MANY:
                yield from ((prefix, sample) for sample in _samples(body))
            yield from _repeats(body, prefix)
        else:
            for inner in _inner(operation, argument):
                yield from _repeats(inner, prefix)
        prefix += next(iter(_samples(node)), "")


def _inner(operation: Any, argument: Any) -> list[Any]:
    if operation is sre.SUBPATTERN:
        return [argument[3]]
    if operation is sre.BRANCH:
        return list(argument[1])
    if operation in (sre.ASSERT, sre.ASSERT_NOT):
        return [argument[1]]
    return [argument] if operation is sre.ATOMIC_GROUP else []


def _samples(tree: Any) -> list[str]:
    """Up to `MOST_VARIANTS` short strings that the tree matches; its other alternatives are seeds by themselves."""
    samples = [""]
    for operation, argument in tree:
        pieces = _pieces(operation, argument)
        samples = [
            samples[at % len(samples)] + pieces[at % len(pieces)] for at in range(max(len(samples), len(pieces)))
        ]
        samples = samples[:MOST_VARIANTS]
    return samples


def _pieces(operation: Any, argument: Any) -> list[str]:
    if operation is sre.LITERAL:
        return [chr(argument)]
    if operation in (sre.IN, sre.NOT_LITERAL, sre.ANY):
        items = argument if operation is sre.IN else [(operation, argument)]
        return _members(items)
    if operation in _REPEATS:
        return [sample * max(1, argument[0]) for sample in _samples(argument[2])]
    if operation is sre.BRANCH:
        return [sample for branch in argument[1] for sample in _samples(branch)[:1]]
    if operation in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
        return _samples(argument[3] if operation is sre.SUBPATTERN else argument)
    return [""]


def _members(items: Any) -> list[str]:
    """Of different kinds, as far as there are some: a letter, a blank, a sign."""
    negated = items[0][0] is sre.NEGATE
    lows = [chr(item[1][0]) for item in items if item[0] is sre.RANGE]
    literals = [chr(item[1]) for item in items if item[0] is sre.LITERAL]
    members = [char for char in (*_ALPHABET, *lows, *literals) if _holds(items, char) != negated]
    kinds = {(char.isalpha(), char.isdigit(), char.isspace()): char for char in reversed(members)}
    return list(kinds.values()) or [""]


def _holds(items: Any, char: str) -> bool:
    for kind, value in items:
        if (
            (kind is sre.ANY and char != "\n")
            or (kind is sre.LITERAL and chr(value) == char)
            or (kind is sre.NOT_LITERAL and chr(value) != char)
            or (kind is sre.RANGE and value[0] <= ord(char) <= value[1])
            or (kind is sre.CATEGORY and _CATEGORIES[value](char))
        ):
            return True
    return False
