"""The number that a cell of a table says, by the convention of its document: 1.234 is a thousand and more in German, and
little more than one in English.

Where the figure itself settles it (1.234,50), nothing else is asked. Where it does not, the document decides: by its
language, as Unicode's CLDR has it, and by its other numbers. Where these do not settle it either, or contradict each
other, the cell has two readings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from retrieval.engine.text.languages import HAN_CHARACTER, to_simplified
from retrieval.engine.text.numbers import stated_numbers
from retrieval.engine.text.spelling import folded
from retrieval.engine.text.words import known_word_terms

MAX_CELL_CHARS = 60  # a longer one is a text
GROUP_DIGITS = 3  # between the signs that part thousands
_FIGURE = re.compile(
    r"\d{1,3}(?:\s\d{3})+(?!\d)(?:[.,]\d+)?"  # 12 000,5
    r"|\d+(?:[.,'’]\d+)*"
    r"|(?<![\w.,])[.,]\d+"  # .5
)
_SIGN_BEFORE = re.compile(
    r"(?<!\w)[-−–(]\s*[^\w\s]{0,2}\s*\Z|(?<!\w)[-−–(]\s*[A-Z]{1,3}\s?\Z|负\s*\Z"
)
_TURNED_AROUND = re.compile(
    r"\s?[-−–](?![\w-])"
)  # 1,200-: a minus to some, the end of a range to others
_SCALE_APART = re.compile(r"(?<=\d)\s+(?=[百千万亿])")
_NOT_OVER = re.compile(
    r"\s*[百千万亿]|\^|[^\W\d_]\d"
)  # 1,2万, 10², 1e6: the figure is not all of the number
_BESIDE = re.compile(r"[^\W\d_]+|\d+|[^\w\s.,:;()'\"+−–-]")


class Convention(NamedTuple):
    """How numbers are written: the sign before decimals, and the one that parts thousands."""

    decimal: str
    group: str


DOT = Convention(".", ",")
COMMA = Convention(",", ".")


@dataclass(frozen=True, slots=True)
class CellNumber:
    """values: one, or two where it may be read in two ways. unit: what stands beside it, the same for "month" and
    "months"; empty: nothing."""

    values: tuple[float, ...]
    unit: str = ""


@lru_cache(maxsize=64)
def conventions_of(language: str) -> frozenset[Convention]:
    """As Unicode's CLDR has it for the language (ISO 639, "zh-hant"); empty where that is not known."""
    from babel.core import Locale, UnknownLocaleError
    from babel.numbers import get_decimal_symbol, get_group_symbol

    spoken = language.partition("-")[0]
    if not spoken or spoken == "und":
        return frozenset()
    try:
        locale = Locale.parse(spoken)
    except (UnknownLocaleError, ValueError):
        return frozenset()
    decimal = get_decimal_symbol(locale, numbering_system="latn")
    group = get_group_symbol(locale, numbering_system="latn")
    return frozenset((Convention(decimal, group),))


def conventions_of_workbook(language: str) -> frozenset[Convention]:
    """Of a workbook in this language: numbers are written as in English by its reader, and texts as their authors do,
    who may part thousands by a dot."""
    if any(convention.decimal == "," for convention in conventions_of(language)):
        return frozenset((DOT, Convention("", ".")))
    return frozenset((DOT,))


def conventions_shown(cells: Iterable[str]) -> frozenset[Convention]:
    """Those by which the figures of these cells are written that have one reading alone: 1.234,50 and 12,5."""
    shown = set()
    for cell in cells:
        text = unicodedata.normalize("NFKC", cell).strip()
        if len(text) > MAX_CELL_CHARS or HAN_CHARACTER.search(text):
            continue
        figures = _FIGURE.findall(text)
        if len(figures) == 1 and (convention := _convention_of(figures[0])):
            shown.add(convention)
    return frozenset(shown)


def number_in(cell: str, conventions: frozenset[Convention] = frozenset()) -> CellNumber | None:
    """The only number in it. conventions: of its document. None: it holds no number, several, or something else that
    is made of figures (28.02.2026)."""
    if len(cell) > 4 * MAX_CELL_CHARS:
        return None
    return _number_in(cell, conventions)


@lru_cache(maxsize=20_000)
def _number_in(cell: str, conventions: frozenset[Convention]) -> CellNumber | None:
    text = unicodedata.normalize("NFKC", _without_small_figures(cell)).strip()
    if not text or len(text) > MAX_CELL_CHARS:
        return None
    if HAN_CHARACTER.search(text) and (stated := _stated(text)):
        return stated
    figures = list(_FIGURE.finditer(text))
    if (
        len(figures) > 1
    ):  # "120 m2": what follows a letter is a part of a word, where something else is a number
        figures = [one for one in figures if not text[one.start() - 1 : one.start()].isalpha()]
    if len(figures) != 1:
        return None
    figure = figures[0]
    before = text[: figure.start()]
    after = text[figure.end() :]
    values = _values(figure.group(), conventions)
    if not values or _TURNED_AROUND.match(after) or _NOT_OVER.match(after):
        return None
    return CellNumber(_signed(values, before), _unit(before, after))


def _without_small_figures(cell: str) -> str:
    """m² is no word with a 2 in it, and 10² no 102: NFKC would make these of them."""
    if cell.isascii():
        return cell
    return "".join("^" if unicodedata.category(char) == "No" else char for char in cell)


def _stated(text: str) -> CellNumber | None:
    """In digits or Chinese numerals: 5 万 is 50,000."""
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", _SCALE_APART.sub("", to_simplified(text)))
    stated = stated_numbers(plain)
    if len(stated) != 1 or len(_FIGURE.findall(plain)) > 1:  # zero is not stated: 0至5
        return None
    value, written = next(iter(stated.items()))
    before, _found, after = plain.partition(written)
    if _TURNED_AROUND.match(after):
        return None
    return CellNumber(_signed((value,), before), _unit(before.replace("负", ""), after))


def _signed(values: tuple[float, ...], before: str) -> tuple[float, ...]:
    if not _SIGN_BEFORE.search(before):
        return values
    return tuple(-value for value in values)


def _unit(before: str, after: str) -> str:
    """Words by their stems, and signs, in one order: "EUR 300" and "300 EUR" are in one unit."""
    words = []
    for word in _BESIDE.findall(folded(f"{before} {after}")):
        stems = known_word_terms(word, "en", False) if word.isascii() else ()
        words.append(stems[0] if stems else word)
    return " ".join(sorted(words))


# ------------------------------------------------------------------------------------------------ figures
def _values(figure: str, conventions: frozenset[Convention]) -> tuple[float, ...]:
    """One, or both; none where it is no number: 3.1.4, 5'11."""
    if not _is_parted_well(figure):
        return ()
    digits = re.sub(r"[\s'’]", "", figure)
    signs = [char for char in digits if char in ".,"]
    if not signs:
        return (float(digits),)
    convention = _convention_of(figure)
    if convention:
        return (_read(digits, convention),)
    if len(signs) > 1:
        return (_read(digits, Convention("", signs[0])),)
    ways = {_way(signs[0], convention) for convention in conventions} - {None}
    if len(ways) == 1:
        return (_read(digits, DOT if ways == {"."} else COMMA),)
    return tuple(sorted({_read(digits, DOT), _read(digits, COMMA)}))


def _way(sign: str, convention: Convention) -> str | None:
    """Which sign is before decimals, where this one is used so; None: the convention has no such sign."""
    if sign == convention.decimal:
        return sign
    if sign == convention.group:
        return "," if sign == "." else "."
    return None


def _read(digits: str, convention: Convention) -> float:
    for sign in ".,":
        if sign != convention.decimal:
            digits = digits.replace(sign, "")
    return float(digits.replace(",", "."))


def _convention_of(figure: str) -> Convention | None:
    """By which it is written, where its signs leave one reading alone; None: it has two, or no decimals."""
    if not _is_parted_well(figure):
        return None
    digits = re.sub(r"[\s'’]", "", figure)
    signs = [char for char in digits if char in ".,"]
    if not signs:
        return None
    if len(set(signs)) == 2:
        return DOT if signs[-1] == "." else COMMA
    if len(signs) > 1:
        return COMMA if signs[0] == "." else DOT  # 1.234.567
    whole, _sign, decimals = digits.partition(signs[0])
    parts_thousands = len(decimals) == GROUP_DIGITS and 0 < len(whole) <= GROUP_DIGITS
    if parts_thousands and whole[0] != "0" and len(digits) == len(figure):
        return None
    return DOT if signs[0] == "." else COMMA


def _is_parted_well(figure: str) -> bool:
    """Whether thousands are parted as thousands are: groups of three, by one sign, before the decimals; in India by
    commas of two as well, but for the last."""
    pieces = re.split(r"([\s'’.,])", figure)
    groups = pieces[0::2]
    signs = pieces[1::2]
    if signs and signs[-1] in ".," and signs.count(signs[-1]) == 1:
        signs = signs[:-1]  # before decimals, or a group: what remains is to be right
        if not signs:
            return True
        groups = groups[:-1]
    if not signs:
        return True
    if len(set(signs)) > 1 or not 0 < len(groups[0]) <= GROUP_DIGITS:
        return False
    inner = groups[1:-1]
    if len(groups[-1]) != GROUP_DIGITS:
        return False
    shortest = 2 if signs[0] == "," else GROUP_DIGITS
    return all(shortest <= len(group) <= GROUP_DIGITS for group in inner)
