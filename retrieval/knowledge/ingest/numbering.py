"""Numbers as lists and headings write them: letters, Roman and Chinese numerals."""

from __future__ import annotations

import re

import cn2an

ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
MAX_ROMAN = 4999
CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
STEMS = "甲乙丙丁戊己庚辛壬癸"
SLIDE_TYPES = {
    "alphaLc": "a",
    "alphaUc": "A",
    "romanLc": "i",
    "romanUc": "I",
    "ea1Chs": "一",
    "ea1Cht": "一",
}
SLIDE_MARKS = {
    "Period": ("", "."),
    "ParenR": ("", ")"),
    "ParenBoth": ("(", ")"),
    "Minus": ("- ", " -"),
}
_SCHEME = re.compile(
    r"(alphaLc|alphaUc|romanLc|romanUc|arabic|circleNum|ea1Chs|ea1Cht|[a-z0-9]+)(?:Db)?(\w*)"
)


def alphabetic(number: int) -> str:
    """1 → a, 26 → z, 27 → aa."""
    letters = ""
    while number > 0:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return letters or "0"


def word_letter(number: int) -> str:
    """As Word counts on: 27 → aa, 28 → bb."""
    if number < 1:
        return "0"
    repeats, letter = divmod(number - 1, 26)
    return chr(ord("a") + letter) * min(repeats + 1, 20)


def roman(number: int) -> str:
    if not 0 < number <= MAX_ROMAN:
        return str(number)
    numeral = ""
    for value, letters in ROMAN:
        count, number = divmod(number, value)
        numeral += letters * count
    return numeral


def list_number(number: int, label_type: str) -> str:
    """As HTML's `type` has it: 1, a, A, i, I; 一 for Chinese."""
    match label_type:
        case "a" | "A":
            text = alphabetic(number)
        case "i" | "I":
            text = roman(number)
        case "一":
            return chinese(number)
        case _:
            return str(number)
    return text.upper() if label_type.isupper() else text


def slide_label(number: int, scheme: str) -> str:
    """Of a list on a slide, by the name of its scheme (`ST_TextAutonumberScheme`): alphaLcParenBoth → (a)."""
    match = _SCHEME.match(scheme)
    kind, style = match.groups() if match else ("arabic", "Period")
    if kind == "circleNum" and 0 < number <= len(CIRCLED):
        return CIRCLED[number - 1]
    text = list_number(number, SLIDE_TYPES.get(kind, "1"))
    before, after = SLIDE_MARKS.get(style, ("", ""))
    return f"{before}{text}{after}"


def chinese(number: int) -> str:
    """12 → 十二."""
    numeral: str = cn2an.an2cn(number, "low")
    return numeral.removeprefix("一") if 10 <= number < 20 else numeral


def word_number(number: int, number_format: str) -> str:
    """A number in one of the formats of Word's lists (`w:numFmt`); in figures where the format is another one."""
    match number_format:
        case "none" | "bullet":
            return ""
        case "lowerLetter":
            return word_letter(number)
        case "upperLetter":
            return word_letter(number).upper()
        case "lowerRoman":
            return roman(number)
        case "upperRoman":
            return roman(number).upper()
        case "decimalZero":
            return f"{number:02}"
        case "decimalEnclosedCircle" | "decimalEnclosedCircleChinese" if 0 < number <= len(CIRCLED):
            return CIRCLED[number - 1]
        case "ideographTraditional" if 0 < number <= len(STEMS):
            return STEMS[number - 1]
        case (
            "chineseCounting"
            | "chineseCountingThousand"
            | "japaneseCounting"
            | "taiwaneseCountingThousand"
        ):
            return chinese(number)
        case (
            "taiwaneseCounting"
            | "ideographDigital"
            | "taiwaneseDigital"
            | "japaneseDigitalTenThousand"
        ):
            return chinese(number)
        case "ordinal":
            suffix = (
                "th"
                if number % 100 in (11, 12, 13)
                else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
            )
            return f"{number}{suffix}"
        case _:
            return str(number)
