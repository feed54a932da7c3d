"""Values of a workbook's cells as a spreadsheet program shows them: by the format code of the cell (ECMA-376, 18.8.31).

Numbers are written as in English; dates and times in ISO 8601, with the parts that their format shows.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

MAX_CODE_CHARS = 500
MAX_DECIMALS = 30
GENERAL = "general"
GENERAL_DIGITS = 10  # that a program shows of a fraction without a format
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?'
    r"|\\(?P<escaped>.)"
    r"|_(?P<blank>.)"
    r"|\*(?P<filler>.)"
    r"|\[\$(?P<currency>[^\[\]-]*)[^\[\]]*\]"
    r"|\[(?P<elapsed>[hH]+|[mM]+|[sS]+)\]"
    r"|\[(?P<condition>(?:<=|>=|<>|=|<|>)[^\]]*)\]"
    r"|\[(?P<colour>[^\[\]]*)\]"
    r"|(?P<general>[Gg]eneral|GENERAL)"
    r"|(?P<exponent>[Ee][+-])"
    r"|(?P<noon>[Aa][Mm]/[Pp][Mm]|[Aa]/[Pp])"
    r"|(?P<part>[yY]+|[mM]+|[dD]+|[hH]+|[sS]+)"
    r"|(?P<digit>[0#?])"
    r"|(?P<point>\.)"
    r"|(?P<comma>,)"
    r"|(?P<percent>%)"
    r"|(?P<slash>/)"
    r"|(?P<text>@)"
    r"|(?P<end>;)"
    r"|(?P<other>.)",
    re.S,
)
_LITERAL = ("quoted", "escaped", "currency", "other")
_DIGITS = ("digit", "comma")


class Token(NamedTuple):
    kind: str
    text: str


Section = tuple[Token, ...]


@lru_cache(maxsize=4096)
def sections(code: str) -> tuple[Section, ...]:
    """Those of a format code, of positive and negative numbers, zero and text, as many as there are."""
    parts: list[list[Token]] = [[]]
    for match in _TOKEN.finditer(code[:MAX_CODE_CHARS]):
        kind = match.lastgroup or "other"
        text = match[kind]
        if kind == "end":
            parts.append([])
        elif kind in _LITERAL:
            parts[-1].append(Token("literal", text))
        elif kind == "blank":
            parts[-1].append(Token("literal", " "))
        elif kind not in ("filler", "colour"):
            parts[-1].append(Token(kind, text))
    return tuple(tuple(part) for part in parts)


def shown_text(value: str, code: str) -> str:
    """A text; its format may put words around it, or hide it."""
    known = sections(code)
    named = [section for section in known if any(token.kind == "text" for token in section)]
    if len(known) < 4 and not named:
        return value
    section = known[3] if len(known) >= 4 else named[0]
    return _with_literals(section, value)


def _with_literals(section: Section, value: str) -> str:
    """The value where the section has a place for all of it, and the words around it."""
    parts = []
    for token in section:
        if token.kind in ("text", "general"):
            parts.append(value)
        elif token.kind == "literal":
            parts.append(token.text)
    return "".join(parts)


def shown_number(value: float, code: str) -> str:
    """A number that is no date."""
    known = sections(code)
    section, is_bare = _section_for(value, known)
    if not section and code.strip():
        return ""
    kinds = [token.kind for token in section]
    if not section or "general" in kinds or ("text" in kinds and "digit" not in kinds):
        number = _general(value if is_bare else abs(value))
        return _with_literals(section, number) if section else number
    if "digit" not in kinds:
        return "".join(token.text for token in section if token.kind == "literal").strip()
    number = Decimal(f"{value:.15g}") * 100 ** kinds.count("percent")
    sign = "-" if number < 0 and is_bare else ""
    number = abs(number)
    if "exponent" in kinds:
        text = _scientific(number, section)
    elif "slash" in kinds:
        text = _fraction(number, section)
    else:
        text = _decimal(number, section)
    is_zero = not re.search("[1-9]", text)
    return ("" if is_zero else sign) + text.strip()


def shown_duration(value: dt.timedelta, code: str) -> str:
    """A time that goes beyond a day, like `[h]:mm`."""
    section = sections(code)[0]
    is_negative = value < dt.timedelta()
    total = abs(value).total_seconds()
    largest = next((token.text[0].lower() for token in section if token.kind == "elapsed"), "h")
    left = Decimal(str(total))
    parts: list[str] = []
    decimals = 0
    for at, token in enumerate(section):
        unit = token.text[0].lower() if token.kind in ("elapsed", "part") else ""
        if unit:
            seconds = {"h": 3600, "m": 60, "s": 1}.get(unit, 86400)
            number = left // seconds
            if token.kind == "part" and unit != largest:
                number %= 24 if unit == "h" else 60
            parts.append(f"{int(number):0{len(token.text)}d}")
        elif token.kind == "point" and at + 1 < len(section) and section[at + 1].kind == "digit":
            decimals = sum(other.kind == "digit" for other in section[at + 1 :])
            parts.append(f"{left % 1:.{min(decimals, 3)}f}"[1:])
        elif token.kind == "literal":
            parts.append(token.text)
    return ("-" if is_negative else "") + "".join(parts).strip()


def shown_date(value: dt.datetime | dt.date | dt.time, code: str) -> str:
    """In ISO 8601; a year or a month alone where the format shows no more."""
    units = {
        token.text[0].lower() for token in sections(code)[0] if token.kind in ("part", "elapsed")
    }
    has_time = bool(units & {"h", "s"})
    has_date = bool(units & {"y", "d"}) or (not has_time and "m" in units) or not units
    parts: list[str] = []
    if has_date and isinstance(value, dt.date):
        if units == {"y"}:
            parts.append(value.strftime("%Y"))
        elif units == {"y", "m"}:
            parts.append(value.strftime("%Y-%m"))
        else:
            parts.append(value.strftime("%Y-%m-%d"))
    if isinstance(value, dt.time) or (has_time and isinstance(value, dt.datetime)):
        parts.append(value.strftime("%H:%M:%S" if "s" in units else "%H:%M"))
    if not parts:
        return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else value.isoformat()
    return " ".join(parts)


# ------------------------------------------------------------------------------------------------ numbers
def _section_for(value: float, known: Sequence[Section]) -> tuple[Section, bool]:
    """The section, and whether a minus sign has to be written."""
    conditions = [
        next((token.text for token in section if token.kind == "condition"), "")
        for section in known[:3]
    ]
    if any(conditions):
        for section, condition in zip(known, conditions, strict=False):
            if not condition or _holds(value, condition):
                return section, True
        return known[len(conditions) - 1], True
    if value < 0 and len(known) > 1:
        return known[1], False
    if value == 0 and len(known) > 2:
        return known[2], False
    return known[0], True


def _holds(value: float, condition: str) -> bool:
    match = re.fullmatch(r"(<=|>=|<>|=|<|>)\s*(-?\d{1,15}(?:\.\d{1,15})?)", condition)
    if match is None:
        return False
    bound = float(match[2])
    return {
        "<=": value <= bound,
        ">=": value >= bound,
        "<>": value != bound,
        "=": value == bound,
        "<": value < bound,
        ">": value > bound,
    }[match[1]]


def _general(value: float) -> str:
    if isinstance(value, int) or value == int(value):
        return f"{value:.15g}" if abs(value) < 1e15 else f"{value:.6g}"
    return f"{value:.{GENERAL_DIGITS}g}"


def _decimal(number: Decimal, section: Section) -> str:
    point = next((at for at, token in enumerate(section) if token.kind == "point"), len(section))
    whole = section[:point]
    fraction = section[point + 1 :]
    last = max((at for at, token in enumerate(whole) if token.kind == "digit"), default=-1)
    scale = _commas_behind(whole) + _commas_behind(fraction)
    places = min(sum(token.kind == "digit" for token in fraction), MAX_DECIMALS)
    rounded = _rounded(number / 1000**scale, places)
    digits, _, decimals = f"{rounded:f}".partition(".")
    first = next((at for at, token in enumerate(whole) if token.kind == "digit"), -1)
    grouped = any(token.kind == "comma" for token in whole[max(first, 0) : last + 1])
    text = _whole(digits.lstrip("0"), whole, grouped=grouped)
    if point < len(section):
        text += "." + _decimals(decimals, fraction)
    return text


def _commas_behind(tokens: Section) -> int:
    """Behind the last place for a digit: each divides by a thousand."""
    last = max(
        (at for at, token in enumerate(tokens) if token.kind == "digit"), default=len(tokens)
    )
    count = 0
    while last + 1 + count < len(tokens) and tokens[last + 1 + count].kind == "comma":
        count += 1
    return count


def _rounded(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


def _whole(digits: str, tokens: Section, *, grouped: bool) -> str:
    """From the right, a digit for each place; what is left stands before the first one."""
    parts: list[str] = []
    left = list(digits)
    placed = 0
    places = sum(token.kind == "digit" for token in tokens)

    def place(digit: str) -> None:
        nonlocal placed
        if grouped and placed and placed % 3 == 0:
            parts.append(",")
        parts.append(digit)
        placed += 1

    for token in reversed(tokens):
        if token.kind == "digit":
            places -= 1
            if left:
                place(left.pop())
            elif token.text == "0":
                place("0")
            elif token.text == "?":
                parts.append(" ")
            while left and not places:
                place(left.pop())
        elif token.kind in ("literal", "percent"):
            parts.append(token.text[::-1])
    if left and not placed:  # no place before the point
        while left:
            place(left.pop())
    return "".join(parts)[::-1]


def _decimals(digits: str, tokens: Section) -> str:
    parts: list[str] = []
    at = 0
    for token in tokens:
        if token.kind == "digit":
            rest = digits[at:]
            digit = rest[:1] or "0"
            at += 1
            if token.text == "0" or rest.strip("0"):
                parts.append(digit)
            elif token.text == "?":
                parts.append(" ")
        elif token.kind in ("literal", "percent"):
            parts.append(token.text)
    return "".join(parts)


def _scientific(number: Decimal, section: Section) -> str:
    at = next(at for at, token in enumerate(section) if token.kind == "exponent")
    mantissa = section[:at]
    point = next((at for at, token in enumerate(mantissa) if token.kind == "point"), len(mantissa))
    step = max(1, sum(token.kind == "digit" for token in mantissa[:point]))
    power = 0 if not number else number.adjusted() // step * step
    places = sum(token.kind == "digit" for token in mantissa[point:])
    scaled = number.scaleb(-power)
    if _rounded(scaled, places) >= 10**step:
        power += step
        scaled = scaled.scaleb(-step)
    width = sum(token.kind == "digit" for token in section[at:])
    sign = "-" if power < 0 else section[at].text[1].replace("-", "")
    rest = "".join(
        token.text for token in section[at + 1 :] if token.kind in ("literal", "percent")
    )
    return f"{_decimal(scaled, mantissa)}E{sign}{abs(power):0{width}d}{rest}"


def _fraction(number: Decimal, section: Section) -> str:
    slash = next(at for at, token in enumerate(section) if token.kind == "slash")
    below = section[slash + 1 :]
    fixed = "".join(token.text for token in below if token.kind in ("literal", "digit")).strip()
    places = sum(token.kind == "digit" for token in below)
    above = slash
    while above and section[above - 1].kind == "digit":
        above -= 1
    has_whole = any(token.kind == "digit" for token in section[:above])
    whole = int(number) if has_whole else 0
    part = Fraction(number) - whole
    if fixed.isdigit() and int(fixed):
        top = round(part * int(fixed))
        bottom = int(fixed)
    else:
        near = part.limit_denominator(10 ** min(max(places, 1), 5) - 1)
        top = near.numerator
        bottom = near.denominator
    if has_whole and top == bottom:
        whole = whole + 1
        top = 0
    parts = [str(whole)] if has_whole and (whole or not top) else []
    if top or not has_whole:
        parts.append(f"{top}/{bottom}")
    return " ".join(parts)
