"""Which encoding a text file is in.

Order: byte-order mark, UTF-8, a declared encoding, then the best-looking of the East Asian and Western candidates, then
chardet for everything else. General detectors are unsure of short Chinese and Japanese texts and of files with a broken
byte, so candidates are judged by how common their characters are: each East Asian standard keeps its common characters
in a block of its own, and a wrong guess lands outside of it. Measured by `benchmarks.encodings` (docs/evaluation.md).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass

import chardet

SAMPLE_BYTES = 65_536
MAX_BROKEN_SHARE = 0.02  # of the non-ASCII characters; real files have a few broken bytes
GOOD_SCORE = 0.6
MIN_CONFIDENCE = 0.02  # of chardet; a guess below it is not used

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its first half
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What a label means in practice: the superset that everybody writes under that name
WIDER = {
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs", "cp950": "big5hkscs",
    "shift_jis": "cp932", "iso8859-1": "cp1252", "latin-1": "cp1252", "ascii": "cp1252", "euc_kr": "cp949",
}  # fmt: skip
WEB_NAMES = {
    "utf-8-sig": "utf-8", "big5hkscs": "big5-hkscs", "cp932": "windows-31j", "cp949": "windows-949",
}  # fmt: skip
DECLARED = re.compile(
    rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)|<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]+)""", re.I
)
CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
NON_ASCII = re.compile("[^\x00-\x7f]")
_COMMON_LATIN = frozenset("àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿœßÀÁÂÄÅÇÈÉÊÍÎÑÓÔÖØÚÜŒŠšŽž‘’“”–—…•€£©®°§«»¡¿ºª´¨· \u00a0")
# The most frequent characters of simplified Chinese prose
_FREQUENT_HANZI = frozenset(
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得"
    "经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事"
    "平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系很情者最立代想已通并提直题程"
    "展五果员位入常文总次品式活设及管特件长求老头基资边流路级少图统接知较将组见计别手期根论运指几九区放决被做必先回则任取据处给"
)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """`encoding`: Python's name of it."""

    text: str
    encoding: str


def decode_text(data: bytes, *, declared: str = "") -> DecodedText:
    """The text of `data`; broken bytes become U+FFFD. `declared`: what the file says of itself, used when it fits."""
    encoding = detect_encoding(data, declared=declared)
    return DecodedText(data.decode(encoding, errors="replace").removeprefix("\ufeff"), encoding)


def detect_encoding(data: bytes, *, declared: str = "") -> str:
    """Python's name of the encoding that `data` is most likely in."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return encoding
    sample = data[:SAMPLE_BYTES]
    if wide := _utf16_without_mark(sample):
        return wide
    if _is_utf8(data):
        return "iso2022_jp" if b"\x1b$" in sample and sample.isascii() else "utf-8"
    if declared and (known := _known(declared)) and _broken_share(_decode_sample(sample, known)) <= MAX_BROKEN_SHARE:
        return known
    scores = {encoding: _score(sample, encoding, judge) for encoding, judge in JUDGES.items()}
    best = max(scores, key=lambda encoding: scores[encoding])
    if scores[best] >= GOOD_SCORE:
        return best
    return _general_guess(sample) or (best if scores[best] > 0 else "cp1252")


def declared_encoding(data: bytes) -> str:
    """The encoding that an XML declaration or an HTML meta tag names, else ""."""
    match = DECLARED.search(data[:4096])
    return (match[1] or match[2]).decode("ascii") if match else ""


def web_name(encoding: str) -> str:
    """What browsers call one of Python's encodings (https://encoding.spec.whatwg.org)."""
    if encoding.startswith("cp125"):
        return f"windows-{encoding[2:]}"
    return WEB_NAMES.get(encoding, encoding.replace("_", "-"))


def looks_binary(text: str) -> bool:
    """Whether decoded text holds so many control characters that it never was text."""
    sample = text[:20_000]
    return len(CONTROL.findall(sample)) > max(2, len(sample) // 200)


def _known(label: str) -> str:
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return ""
    return WIDER.get(name, name)


def _utf16_without_mark(sample: bytes) -> str:
    """UTF-16 shows itself by zero bytes on one side of its pairs, at least in spaces and line ends."""
    pairs = len(sample) // 2
    if pairs < 2 or b"\0" not in sample or _is_ascii_with_zeros(sample):
        return ""
    even, odd = sample[0 : pairs * 2 : 2].count(0), sample[1 : pairs * 2 : 2].count(0)
    for zeros, others, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros > pairs * 0.02 and others <= zeros * 0.05:
            text = _decode_sample(sample, encoding)
            if "\ufffd" not in text and not looks_binary(text):
                return encoding
    return ""


def _is_ascii_with_zeros(sample: bytes) -> bool:
    """Zero bytes strewn into ASCII. In UTF-16 half of English is zeros, and Chinese has bytes of all kinds."""
    rest = sample.replace(b"\0", b"")
    return len(sample) - len(rest) < len(sample) / 4 and rest.isascii() and not CONTROL.search(rest.decode("ascii"))


def _is_utf8(data: bytes) -> bool:
    """Valid, or so nearly that the rest must be damage."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", errors="replace")
        whole = len(NON_ASCII.findall(text))
        broken = text.count("\ufffd")
        return whole - broken >= 10 and broken / whole <= MAX_BROKEN_SHARE
    return True


def _decode_sample(sample: bytes, encoding: str) -> str:
    # An incremental decoder leaves a character that the end of the sample cut in two.
    return codecs.getincrementaldecoder(encoding)("replace").decode(sample)


def _broken_share(text: str) -> float:
    return text.count("\ufffd") / max(1, len(NON_ASCII.findall(text)))


def _score(sample: bytes, encoding: str, judge: Callable[[str, str], float]) -> float:
    """0..1: the share of common characters among the non-ASCII ones; broken bytes weigh heavily."""
    text = _decode_sample(sample, encoding)
    foreign = len(NON_ASCII.findall(text))
    if not foreign or _broken_share(text) > MAX_BROKEN_SHARE:
        return 0.0
    return judge(text, encoding) - 5 * _broken_share(text)


def _judge_by_code(text: str, encoding: str) -> float:
    """The share of characters in the block where the standard keeps the common ones."""
    foreign = NON_ASCII.findall(text)
    return sum(_is_common(encoding, character) for character in foreign) / len(foreign)


def _is_common(encoding: str, character: str) -> bool:
    try:
        code = character.encode(encoding)
    except UnicodeEncodeError:
        return False
    if len(code) != 2:
        return False
    lead, trail = code
    if encoding == "gb18030":  # GB 2312: punctuation and full-width rows 1 and 3, hanzi of level 1
        return trail >= 0xA1 and (lead in (0xA1, 0xA3) or 0xB0 <= lead <= 0xD7)
    if encoding == "big5hkscs":  # punctuation, frequently used hanzi
        return 0xA1 <= lead <= 0xC6 and not 0xA3C0 <= (lead << 8 | trail) < 0xA440
    if encoding == "cp932":  # punctuation, kana, kanji of level 1; half-width kana are one byte, and rare
        return 0x81 <= lead <= 0x83 or 0x88 <= lead <= 0x98
    if encoding == "euc_jp":
        return lead in (0xA1, 0xA3, 0xA4, 0xA5) or 0xB0 <= lead <= 0xCF
    return (0xB0 <= lead <= 0xC8 and trail >= 0xA1) or lead in (0xA1, 0xA3)  # KS X 1001: hangul


def _judge_simplified(text: str, encoding: str) -> float:
    """Korean bytes fill the very rows of common hanzi; what tells them apart is how common the hanzi are."""
    hanzi = [character for character in text if "\u4e00" <= character <= "\u9fff"]
    strange = len(hanzi) >= 30 and sum(character in _FREQUENT_HANZI for character in hanzi) < 0.1 * len(hanzi)
    return _judge_by_code(text, encoding) * (0.8 if strange else 1.0)


def _judge_korean(text: str, encoding: str) -> float:
    return _judge_by_code(text, encoding) * 0.98  # between Chinese that reads well and Chinese that does not


def _judge_japanese(text: str, encoding: str) -> float:
    """Japanese without kana is rarer than Chinese that happens to decode; much kana is hardly ever an accident."""
    foreign = NON_ASCII.findall(text)
    kana = sum("\u3040" <= character <= "\u30ff" for character in foreign) / len(foreign)
    weight = 1.05 if kana >= 0.4 else 1.0 if kana >= 0.1 else 0.5
    return _judge_by_code(text, encoding) * weight


def _judge_latin(text: str, encoding: str) -> float:
    """Accented letters of Western languages stand alone between ASCII letters, seldom side by side."""
    foreign = list(NON_ASCII.finditer(text))
    alone = sum(
        match[0] in _COMMON_LATIN and not (match.end() < len(text) and ord(text[match.end()]) > 0x7F)
        for match in foreign
    )
    return alone / len(foreign)


JUDGES: dict[str, Callable[[str, str], float]] = {
    "gb18030": _judge_simplified,
    "big5hkscs": _judge_by_code,
    "cp932": _judge_japanese,
    "euc_jp": _judge_japanese,
    "cp949": _judge_korean,
    "cp1252": _judge_latin,
}


def _general_guess(sample: bytes) -> str:
    """Empty where the detector has no idea: it names something even then, with a confidence near zero."""
    guess = chardet.detect(sample)
    return _known(guess["encoding"] or "") if guess["confidence"] >= MIN_CONFIDENCE else ""
