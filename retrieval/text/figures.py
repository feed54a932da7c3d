"""Figures in a text as values with units, so that one can be looked up however the other text writes it.

"50 %", "fifty percent" and 百分之五十 are one figure, and so are "1,000" and 1000, "two weeks" and "14 days", 380 cm
and 3.8 m, 民國一百年 and 2011, 2025-03-01, "1 March 2025" and 二〇二五年三月一日 (a date is its parts: year, month,
day). "9:00" may be in the evening, "9 am" is not. What belongs to a code, as in NLU-E107 or B2, is none.

A figure is read generously in a text that is searched, and only where it clearly is one in a statement that is
checked: "one", 一般 and "second" state no amount. There a bare number has a role: the 7 of "§7" names a place in a text
and is no amount, the 7 of "7 books" counts something and is neither a date nor a time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from retrieval.text.language import to_simplified

TOLERANCE = 0.05  # share by which a figure may be off that the statement itself calls rounded
MAX_CHARS = 20_000  # of a text that are read
_LONG_RUN = 12  # characters of a number; a longer one is a code

# Units: those of one kind can be compared; `_KINDS` turns them into one another.
_UNIT_WORDS = {
    "%": "% percent percentage 个百分点 percents",
    "eur": "€ eur euro euros 欧元",
    "usd": "$ usd us$ dollar dollars 美元",
    "gbp": "£ gbp pound pounds 英镑",
    "cny": "¥ cny rmb yuan 人民币",
    "money": "元 块",
    "second": "second seconds sec secs 秒 秒钟",
    "minute": "minute minutes min mins 分钟",
    "hour": "hour hours hr hrs h 小时 个小时 钟头",
    "day": "day days 天",
    "week": "week weeks 周 星期 个星期 礼拜",
    "months": "month months 个月",
    "years": "year years yrs 岁",
    "km": "km kilometre kilometres kilometer kilometers 公里 千米",
    "m": "m metre metres meter meters 米 公尺",
    "cm": "cm centimetre centimetres centimeter centimeters 厘米 公分",
    "mm": "mm millimetre millimetres millimeter millimeters 毫米 公厘",
    "mile": "mile miles 英里",
    "t": "tonne tonnes 吨 公吨",
    "kg": "kg kilogram kilograms kilo kilos 公斤 千克",
    "g": "g gram grams gramme grammes 克 公克",
    "mg": "mg milligram milligrams 毫克",
    "l": "l litre litres liter liters 升 公升",
    "ml": "ml millilitre millilitres milliliter milliliters 毫升",
    "celsius": "°c centigrade 摄氏度",
    "fahrenheit": "°f 华氏度",
    "degree": "° degree degrees 度",
    "credit": "credit credits ects 学分",
}  # fmt: skip
_UNITS = (
    {word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()}
    | {
        f"{kind} {word}": unit
        for unit, kinds, words in (
            ("workday", "working business", "day days"),  # ten of these are no ten days
            ("day", "calendar consecutive full whole clear", "day days"),
            ("week", "full whole consecutive teaching", "week weeks"),
        )
        for kind in kinds.split()
        for word in words.split()
    }
    | dict.fromkeys(("工作日", "个工作日", "weekdays"), "workday")
)
MONEY = frozenset(("eur", "usd", "gbp", "cny", "money"))
_PLACE, _COUNT = "place", "count"  # roles of bare numbers in a searched text
_CLOCK = "clock"  # a time before 13:00 that may be of the morning or of the evening
_DATED = frozenset(("month", "date", "time", _CLOCK))
_DEGREES = frozenset(("celsius", "fahrenheit", "degree"))
_KINDS = (
    {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800},
    {"months": 1, "years": 12},
    {"mm": 1, "cm": 10, "m": 1000, "km": 10**6},
    {"mg": 1, "g": 1000, "kg": 10**6, "t": 10**9},
    {"ml": 1, "l": 1000},
)
DURATIONS = frozenset((*_KINDS[0], *_KINDS[1], "workday"))
_SCALES = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "millions": 10**6, "billion": 10**9, "trillion": 10**12,
    "bn": 10**9, "百": 100, "千": 1000, "万": 10**4, "十万": 10**5, "百万": 10**6, "千万": 10**7, "亿": 10**8,
}  # fmt: skip
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_WORDS = {word: value for value, word in enumerate(_SMALL.split())} | {
    "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90,
}  # fmt: skip
# What is read in a searched text alone: in a statement these are seldom amounts.
_LOOSE = {
    "once": 1, "twice": 2, "single": 1, "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6,
    "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "dozen": 12, "both": 2, "pair": 2, "double": 2, "triple": 3,
    "decade": 10, "century": 100, "a": 1, "an": 1,
}  # fmt: skip
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(name.capitalize() for name in _MONTHS)
_HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_HAN = "零〇一二两三四五六七八九十百千万亿"
# What follows a single Chinese digit that is an amount; 一 alone is as often an article or a part of a word.
_COUNTED = "年月日号天周个名位本次元欧岁条种倍门小时学人件台座层公米亩吨项家所场届级期页字千百万亿"

_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_SCALE = "|".join(sorted(map(re.escape, _SCALES), key=len, reverse=True))
_NUMBER = r"\d{1,3}(?:,\d{3}){1,4}(?!\d)(?:\.\d{1,6})?|\d{1,12}(?:\.\d{1,6})?"
_DATES = (
    re.compile(r"(?<!\d)(?<!\d\.)(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?!\d)"),
    re.compile(r"(?<!\d)(?<!\d\.)(?P<day>\d{1,2})([/.])(?P<month>\d{1,2})\2(?P<year>\d{4})(?!\d)"),
    re.compile(
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_MONTH})\b\.?(?:,? (?P<year>\d{{4}})(?!\d))?"
    ),
    re.compile(
        rf"\b(?P<name>{_MONTH})\b\.? (?P<day>\d{{1,2}})(?!\d)(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}})(?!\d))?"
    ),
    re.compile(rf"\b(?P<name>{_MONTH})\b\.?,? (?:of )?(?P<year>\d{{4}})(?!\d)"),
    re.compile(r"\b(?P<name>January|February|April|June|July|August|September|October|November|December)\b"),
    re.compile(
        rf"(?:(?P<year>\d{{4}}|[{_HAN}]{{4}})年)?(?P<month>\d{{1,2}}|[一二三四五六七八九十]{{1,2}})月"
        rf"(?:(?P<day>\d{{1,2}}|[{_HAN}]{{1,3}})[日号])?"
    ),
)  # fmt: skip
# "March" and "may" are words of other kinds as well.
_MONTH_IN = re.compile(r"\b(?:in|of|by|until|till|since|during|from|to|every|each|before|after) (?P<name>March|May)\b")
_MONTH_ALONE = re.compile(r"\b(?P<name>March|May)\b")
_TIME = re.compile(
    r"(?<![\d:])(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?!\d)|(?= ?(?:[ap]\.?m\b|o'clock|点)))"
    r"(?: ?(?P<half>[ap])\.?m\b)?",
    re.IGNORECASE,
)
# 上午九点, 晚上8点半, 九点十五分; 三点五 is a number, and 晚一点 is later. 点 counts points as well.
_HAN_MINUTE = rf"零?(?:\d{{1,2}}|[{_HAN}]{{1,3}})分|[{_HAN}]?十[{_HAN}]?(?![{_HAN}])|零[{_HAN}]|\d\d(?![\d.])"
_HAN_TIME = re.compile(
    r"(?P<part>上午|中午|下午|早上|早晨|清晨|凌晨|傍晚|晚上|夜间|夜里|[早晚](?!一点))? ?"
    rf"(?<![\d{_HAN}.:第])(?P<hour>\d{{1,2}}|[{_HAN}]{{1,3}}) ?"
    rf"(?:点(?:(?P<half>半)|(?P<quarter>[一三]刻)|(?P<minute>{_HAN_MINUTE})|(?P<whole>[钟整]))?|时(?P<past>\d{{1,2}})分)"
)
# 三点五公里, 百分之三点五, 三点一四
_HAN_DECIMAL = re.compile(
    rf"(?P<share>百分之)?(?P<whole>[{_HAN}]{{1,6}})点(?P<part>[零〇一二三四五六七八九]{{1,4}})(?![分刻{_HAN}])(?P<unit>{_UNIT})?"
)
_AFTERNOON = frozenset(("下午", "傍晚", "晚上", "夜间", "夜里", "晚"))
_MORNING = frozenset(("上午", "早上", "早晨", "清晨", "凌晨", "早"))
# 两角, 1元5角, 八角五分; no angle: 三角形, 四角
_JIAO = re.compile(
    r"(?:(?P<yuan>\d{1,6}|[一二两三四五六七八九十百]{1,5})[元块])?(?<![\d.])(?P<jiao>\d|[一二两三四五六七八九])角"
    r"(?![形色度落洲尺钢铁膜])(?:(?P<fen>\d|[一二两三四五六七八九])分)?"
)
# 民國一百年, 民國114年: counted from 1912 on
_MINGUO = re.compile(rf"民国 ?(?P<year>\d{{1,3}}|[{_HAN}]{{1,4}}|元)年")
_BELOW_ZERO = re.compile(r"(?:(?<![^\s(（，、在为至到达于是低约过])[-−–]|\bminus ?|零下 ?)\Z", re.IGNORECASE)
_FROST = re.compile(r" ?(?:C(?:elsius)? )?below (?:zero|freezing)")
_FIGURE = re.compile(
    rf"(?P<before>[€$£¥] ?|(?<![A-Za-z])(?:EUR|USD|GBP|CNY|RMB) ?)?(?<![A-Za-z\d_])(?<!\d[.,])(?<![A-Za-z][-_/])"
    rf"(?P<number>{_NUMBER})(?:(?:st|nd|rd|th|s)(?![A-Za-z]))?(?: ?-?(?P<scale>{_SCALE})(?![A-Za-z]))?"
    rf"(?:[ -]?(?P<unit>{_UNIT})(?![A-Za-z]))?(?![A-Za-z_])",
    re.IGNORECASE,
)
_WORD_RUN = re.compile(r"[A-Za-z]+")
_AFTER = re.compile(rf"[ -]?(?P<unit>{_UNIT})(?![A-Za-z])", re.IGNORECASE)
_HAN_FIGURE = re.compile(
    rf"(?P<share>百分之)?(?P<number>[{_HAN}]{{1,12}})(?P<tenths>成)?(?P<unit>{_UNIT})?(?P<next>[\u4e00-\u9fff]?)"
)
# A number that names a part of a text: §7, sections 7 and 8, 第七章, and the one that begins an item of a list.
_PARTS_OF_TEXT = (
    r"§{1,2}|№|#|(?<![A-Za-z])(?:sections?|sect\.|chapters?|chap\.|ch\.|articles?|art\.|paragraphs?|para\.|clauses?|pages?|pp?\."
    r"|parts?|steps?|items?|rules?|tables?|figures?|fig\.|appendix|annex|footnotes?|notes?|volumes?|vol\.|no\.|nos\.)"
)
_PLACE_NUMBER = r"\d{1,3}(?:\.\d{1,3}){0,3}"
_NOT_ALONE = rf"(?!\d|[.,]\d| ?-?(?:{_SCALE}|{_UNIT})(?![A-Za-z])| ?(?-i:{_MONTH})\b)"
_REFERENCE = re.compile(
    rf"(?:{_PARTS_OF_TEXT}) ?(?P<first>{_PLACE_NUMBER})(?:(?: ?[,–-] ?| and | to | or )(?P<second>{_PLACE_NUMBER}))?"
    rf"{_NOT_ALONE}",
    re.IGNORECASE,
)
_HAN_REFERENCE = re.compile(
    rf"(?:第 ?(?P<first>\d{{1,3}}|[{_HAN}]{{1,4}})(?:[至到、和–-]第?(?P<second>\d{{1,3}}|[{_HAN}]{{1,4}}))?"
    r" ?(?:章|节|条|款|页|项|编|卷|册|段|部分|步)"
    rf"|附[录表件] ?(?P<third>\d{{1,3}}|[{_HAN}]{{1,2}}))"
)
_ITEM = re.compile(r"^[ \t>#*-]{0,9}(?P<first>\d{1,3})[.)、．](?=[ \t]|[\u4e00-\u9fff])", re.MULTILINE)
# What may stand behind a number that counts nothing: "from 9 to 17 on Mondays", "the 7th of July".
_NO_UNIT = (
    "a after an and are as at before between but by daily during each every for from if in is of on or per since the"
    " then through thru till to until was were when while with"
)
_COUNTS_NOTHING = frozenset(_NO_UNIT.split())
_COUNTED_WORD = re.compile(r"[ -](?P<word>[a-z]+)")
_HAN_JOINTS = "日号至到和及与或"
_COUNTED_HAN = re.compile(rf" ?(?![{_HAN_JOINTS}])[\u4e00-\u9fff]")
_ROUNDED = re.compile(
    r"\b(?:about|around|nearly|almost|roughly|approximately|over|more than|some|circa|ca)\b|约|近|将近|左右|超过|多",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """value: in `unit`, or without one. text: as written, for people."""

    value: float
    unit: str
    text: str


def stated_figures(text: str) -> list[Figure]:
    """What a statement says, in order, each once."""
    return list(_figures(_plain(text), loose=False))


def known_figures(text: str) -> frozenset[tuple[float, str]]:
    """(value, unit) of all that a text may be taken to say."""
    return _known(text[:MAX_CHARS])


@lru_cache(maxsize=2048)
def _known(text: str) -> frozenset[tuple[float, str]]:
    items = (float(match["first"]) for match in _ITEM.finditer(text))
    rest = _plain(_ITEM.sub(" , ", text))
    return frozenset(
        (*((value, _PLACE) for value in items), *((figure.value, figure.unit) for figure in _figures(rest, loose=True)))
    )


def missing_figures(
    stated: Iterable[Figure], known: Iterable[tuple[float, str]], *, rounded: bool = False
) -> list[Figure]:
    """Those of `stated` that are not in `known`, whatever unit stands there if one side names none.

    rounded: the statement says "about": a figure within TOLERANCE will do.
    """
    there: dict[float, set[str]] = {}
    for value, unit in known:
        there.setdefault(value, set()).add(unit)
    return [figure for figure in stated if not _is_there(figure, there, rounded=rounded)]


def says_rounded(statement: str) -> bool:
    """Whether it calls its figures rounded: about, nearly, 约."""
    return bool(_ROUNDED.search(statement))


def _is_there(figure: Figure, there: dict[float, set[str]], *, rounded: bool) -> bool:
    if any(_agree(figure.unit, unit) for unit in there.get(figure.value, ())):
        return True
    for kinds in _KINDS:
        if figure.unit in kinds:
            size = figure.value * kinds[figure.unit]
            if any(
                unit in kinds and abs(value * kinds[unit] - size) <= 1e-9 * size
                for value, units in there.items()
                for unit in units
            ):
                return True
    if figure.unit in ("time", _CLOCK) and any(
        _is_that_time(figure, value, unit) for value, units in there.items() for unit in units
    ):
        return True
    if rounded and figure.value:
        return any(
            abs(value - figure.value) <= TOLERANCE * figure.value and any(_agree(figure.unit, unit) for unit in units)
            for value, units in there.items()
        )
    return False


def _is_that_time(figure: Figure, value: float, unit: str) -> bool:
    """Whether both may be the same hour of the day: "9:00" and "from 9" may be 21:00, "9 am" may not."""
    open_hour = unit == _CLOCK or (not unit and value <= 12)
    if unit not in ("time", _CLOCK, "") or abs(value - figure.value) not in (0.0, 12.0):
        return False
    return value == figure.value or open_hour or figure.unit == _CLOCK


def _agree(left: str, right: str) -> bool:
    if left == right or not left or not right:
        return True
    if right == _COUNT:
        return left not in _DATED
    if left in MONEY and right in MONEY:
        return "money" in (left, right)
    return left in _DEGREES and right in _DEGREES and "degree" in (left, right)


# ------------------------------------------------------------------------------------------------ reading
def _plain(text: str) -> str:
    return " ".join(to_simplified(unicodedata.normalize("NFKC", text)).split())


def _figures(text: str, *, loose: bool) -> Iterator[Figure]:
    seen: set[tuple[float, str]] = set()
    for figure in _all(text, loose=loose):
        if (figure.value, figure.unit) not in seen:
            seen.add((figure.value, figure.unit))
            yield figure


def _all(text: str, *, loose: bool) -> Iterator[Figure]:
    if loose:
        text = yield from _references(text)
    text = yield from _years_of_the_republic(text, loose=loose)
    text = yield from _dates(text, loose=loose)
    text = yield from _chinese_decimals(text)
    text = yield from _chinese_times(text, loose=loose)
    text = yield from _times(text)
    text = yield from _small_money(text)
    yield from _digits(text, loose=loose)
    yield from _spelt(text, loose=loose)
    yield from _chinese(text, loose=loose)


def _references(text: str) -> Generator[Figure, None, str]:
    """Returns the text without them."""
    for pattern in (_REFERENCE, _HAN_REFERENCE):
        rest, end = [], 0
        for match in pattern.finditer(text):
            for number in filter(None, match.groups()):
                whole, _, part = number.partition(".")
                if (value := _value(whole)) is not None:
                    yield Figure(float(value), _PLACE, match.group())
                if part.isdigit():
                    yield Figure(float(number), _PLACE, match.group())
            rest += [text[end : match.start()], " , "]
            end = match.end()
        text = "".join((*rest, text[end:])) if end else text
    return text


def _role(text: str, end: int) -> str:
    """Of a bare number of a searched text that ends there."""
    if word := _COUNTED_WORD.match(text, end):
        return "" if word["word"] in _COUNTS_NOTHING else _COUNT
    return _COUNT if _COUNTED_HAN.match(text, end) else ""


def _dates(text: str, *, loose: bool) -> Generator[Figure, None, str]:
    """Returns the text without them: their parts are figures of their own."""
    for pattern in (*_DATES, _MONTH_ALONE if loose else _MONTH_IN):
        rest, end = [], 0
        for match in pattern.finditer(text):
            parts = {name: part for name, part in match.groupdict().items() if part}
            year, day = _value(parts.get("year", "")), _value(parts.get("day", ""))
            month = _MONTHS[parts["name"].lower()] if "name" in parts else _value(parts["month"])
            if month is None or not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
                continue
            yield Figure(float(month), "month", match.group())
            if day is not None:
                yield Figure(float(day), "date", match.group())
            if year is not None:
                yield Figure(float(year), "", match.group())
            rest += [text[end : match.start()], " , "]
            end = match.end()
        text = "".join((*rest, text[end:])) if end else text
    return text


def _years_of_the_republic(text: str, *, loose: bool) -> Generator[Figure, None, str]:
    """Returns the text with them as years of the common era, so that a date goes on behind them."""
    rest, end = [], 0
    for match in _MINGUO.finditer(text):
        year = 1 if match["year"] == "元" else _value(match["year"])
        if year is None:
            continue
        if loose:
            yield Figure(float(year), "", match.group())
        rest += [text[end : match.start()], f"{1911 + year}年"]
        end = match.end()
    return "".join((*rest, text[end:])) if end else text


def _times(text: str) -> Generator[Figure, None, str]:
    rest, end = [], 0
    for match in _TIME.finditer(text):
        hour, minute = int(match["hour"]), int(match["minute"] or 0)
        if hour > 24 or minute > 59:
            continue
        half = (match["half"] or "").lower()
        if half and hour <= 12:
            hour = hour % 12 + 12 * (half == "p")
        yield Figure(hour + minute / 60, "time" if half or not 0 < hour <= 12 else _CLOCK, match.group())
        rest += [text[end : match.start()], " , "]
        end = match.end()
    return "".join((*rest, text[end:])) if end else text


def _chinese_decimals(text: str) -> Generator[Figure, None, str]:
    """Returns the text without them. Neither a share nor with a unit, 三点一 may begin a list of three points."""
    rest, end = [], 0
    for match in _HAN_DECIMAL.finditer(text):
        whole, unit = _value(match["whole"]), "%" if match["share"] else unit_of(match["unit"])
        if whole is None or not (unit or len(match["part"]) > 1):
            continue
        part = "".join(str(_HAN_DIGITS[digit]) for digit in match["part"])
        yield Figure(float(f"{whole}.{part}"), unit, match.group())
        rest += [text[end : match.start()], " , "]
        end = match.end()
    return "".join((*rest, text[end:])) if end else text


def _chinese_times(text: str, *, loose: bool) -> Generator[Figure, None, str]:
    """Returns the text without those that are clearly times."""
    rest, end = [], 0
    for match in _HAN_TIME.finditer(text):
        hour = _value(match["hour"])
        minute = _value((match["minute"] or match["past"] or "").strip("零分")) or 0
        minute += 30 if match["half"] else {"一刻": 15, "三刻": 45}.get(match["quarter"], 0)
        if hour is None or hour > 24 or minute > 59:
            continue
        clear = match["part"] or match["half"] or match["quarter"] or match["whole"] or minute
        if not clear and not (loose and match["hour"][0] in _HAN):
            continue  # `_times` reads 9点
        if match["part"] in _AFTERNOON and hour < 12:
            hour += 12
        told = not 0 < hour <= 12 or (match["part"] in _MORNING and hour < 12)
        yield Figure(hour + minute / 60, "time" if told else _CLOCK, match.group().strip())
        if clear:
            rest += [text[end : match.start()], " , "]
            end = match.end()
    return "".join((*rest, text[end:])) if end else text


def _small_money(text: str) -> Generator[Figure, None, str]:
    """Returns the text without it."""
    rest, end = [], 0
    for match in _JIAO.finditer(text):
        yuan, jiao, fen = (_value(match[name] or "") or 0 for name in ("yuan", "jiao", "fen"))
        yield Figure((yuan * 100 + jiao * 10 + fen) / 100, "money", match.group())
        rest += [text[end : match.start()], " , "]
        end = match.end()
    return "".join((*rest, text[end:])) if end else text


def _digits(text: str, *, loose: bool) -> Iterator[Figure]:
    for match in _FIGURE.finditer(text):
        written = match["number"].replace(",", "")
        if len(written) > _LONG_RUN:
            continue
        value = float(written) * _SCALES.get((match["scale"] or "").lower(), 1)
        unit = unit_of(match["unit"]) or unit_of((match["before"] or "").strip())
        text_of = match.group().strip()
        if loose and not unit:
            unit = _role(text, match.end())
        if unit in _DEGREES and _is_below_zero(text, match.start(), match.end()):
            value = -value
        yield Figure(value, unit, text_of)
        if loose and match["scale"]:
            yield Figure(float(written), "", text_of)
    if loose:  # 1,50 as people write it elsewhere, 1 000 with a blank
        for whole, part in re.findall(r"(?<![\d,.])(\d{1,6}),(\d{1,2})(?![\d,])", text):
            yield Figure(float(f"{whole}.{part}"), "", f"{whole},{part}")
        for run in re.findall(r"(?<![\d,.])\d{1,3}(?: \d{3}){1,3}(?!\d)", text):
            yield Figure(float(run.replace(" ", "")), "", run)
        for low in re.findall(r"(?<=\d)[-–—~/](\d{1,6}(?:\.\d{1,3})?)(?![\d.])", text):
            yield Figure(float(low), "", low)


def _is_below_zero(text: str, start: int, end: int) -> bool:
    """Of degrees at text[start:end]: −5 °C, minus five degrees, 零下五度, "5 degrees below zero"."""
    return bool(_BELOW_ZERO.search(text[max(0, start - 8) : start]) or _FROST.match(text, end))


def unit_of(word: str | None) -> str:
    """The unit that a word names, as in `Figure.unit`; empty where it names none."""
    return _UNITS.get((word or "").lower(), "")


def _spelt(text: str, *, loose: bool) -> Iterator[Figure]:
    """twenty-five, one hundred and twenty, three million; as a run of words between which only blanks stand."""
    words = [(match.group().lower(), match.start(), match.end()) for match in _WORD_RUN.finditer(text)]
    at = 0
    while at < len(words):
        word = words[at][0]
        if word not in _WORDS and not (
            loose and (word in _LOOSE or word in ("half", "quarter", "hundred", "thousand", "million"))
        ):
            at += 1
            continue
        last, total, part = at, 0.0, 0.0
        if word in _LOOSE or word in ("half", "quarter"):
            following = words[at + 1][0] if at + 1 < len(words) else ""
            if word in ("a", "an") and following not in _SCALES and following not in _UNITS and following != "dozen":
                at += 1
                continue
            if word in ("half", "quarter"):
                share = 0.5 if word == "half" else 0.25
                yield Figure(share * 100, "%", word)
                yield Figure(share, "", word)
                at += 1
                continue
            part = float(_LOOSE[word])
        else:
            part = float(_WORDS.get(word, 1))
            if word in _SCALES:
                part = float(_SCALES[word])
        while last + 1 < len(words) and text[words[last][2] : words[last + 1][1]] in (" ", "-"):
            following = words[last + 1][0]
            if following in _SCALES:
                if _SCALES[following] >= 1000:
                    total, part = total + (part or 1) * _SCALES[following], 0.0
                else:
                    part = (part or 1) * _SCALES[following]
            elif (
                following == "and" and last + 2 < len(words) and words[last + 2][0] in _WORDS and (part >= 100 or total)
            ):
                pass
            elif following in _WORDS and ((part % 100 >= 20 and _WORDS[following] < 10) or part % 100 == 0):
                part += _WORDS[following]
            else:
                break
            last += 1
        value = total + part
        unit_match = _AFTER.match(text, words[last][2])
        written = text[words[at][1] : words[last][2]]
        unit = unit_of(unit_match["unit"]) if unit_match else _role(text, words[last][2]) if loose else ""
        if unit in _DEGREES and unit_match and _is_below_zero(text, words[at][1], unit_match.end()):
            value = -value
        if loose or value != 1:
            yield Figure(value, unit, written)
        at = last + 1


def _chinese(text: str, *, loose: bool) -> Iterator[Figure]:
    for match in _HAN_FIGURE.finditer(text):
        run, unit, following = match["number"], unit_of(match["unit"]), match["next"]
        clear = match["share"] or match["tenths"] or unit or len(run) > 1 or (following and following in _COUNTED)
        if not loose and (not clear or run in ("一", "万一", "千万", "百万", "一一", "十万")):
            continue
        value = _value(run)
        if value is None:
            continue
        before = text[max(0, match.start() - 4) : match.start()]
        scaled = re.search(r"\d$", before)
        if scaled:  # 5万: read with its digits
            continue
        if match["share"]:
            yield Figure(float(value), "%", match.group().removesuffix(following))
        elif match["tenths"]:
            yield Figure(float(value) * 10, "%", match.group().removesuffix(following))
        else:
            if loose and not unit and following and following not in _HAN_JOINTS:
                unit = _COUNT
            below = unit in _DEGREES and _is_below_zero(text, match.start(), match.end())
            yield Figure(-float(value) if below else float(value), unit, run)
    if loose and "半" in text:
        yield Figure(0.5, "", "半")
        yield Figure(50.0, "%", "半")


def _value(written: str) -> int | None:
    """五千 → 5000, 二〇二五 → 2025, "12" → 12."""
    if not written:
        return None
    if written.isdigit() and written.isascii():
        return int(written)
    if all(char in _HAN_DIGITS for char in written):
        return int("".join(str(_HAN_DIGITS[char]) for char in written))
    total = section = digit = 0
    for char in written:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        elif char in "万亿":
            total, section, digit = (total + section + digit or 1) * _HAN_UNITS[char], 0, 0
        elif char in _HAN_UNITS:
            section, digit = section + (digit or 1) * _HAN_UNITS[char], 0
        else:
            return None
    return total + section + digit
