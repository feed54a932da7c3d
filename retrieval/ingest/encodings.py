"""Which encoding a text file is in: by its mark, by what it declares, UTF-8 where it is valid, else by chardet."""

from __future__ import annotations

import codecs
import re

import chardet
from chardet import EncodingEra

SAMPLE_BYTES = 65_536
ERAS = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO | EncodingEra.LEGACY_REGIONAL
MIN_CONFIDENCE = 0.02  # of chardet; a file with a broken byte gets less
OFTEN_BROKEN = ("utf-8", "gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")  # what such a file may be in
MAX_BROKEN_SHARE = 0.01  # of the bytes
NEVER_IN_UTF8 = frozenset(b"\0\x1b")  # in text files: they speak for UTF-16 and ISO 2022
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its first half
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What a label means in practice: the superset that everybody writes under that name
WIDER = {
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "cp950": "big5hkscs", "shift_jis": "cp932",
    "iso8859-1": "cp1252", "ascii": "cp1252", "euc_kr": "cp949",
}  # fmt: skip
WEB_NAMES = {
    "utf-8-sig": "utf-8", "big5hkscs": "big5-hkscs", "cp932": "windows-31j", "cp949": "windows-949",
}  # fmt: skip
DECLARED = re.compile(
    rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)|<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]+)""", re.I
)


def detect_encoding(data: bytes, *, declared: str = "") -> str:
    """Python's name of the encoding that `data` is most likely in."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return encoding
    is_plain = not NEVER_IN_UTF8.intersection(data)
    for encoding in (_known(declared), "utf-8" if is_plain else ""):
        try:
            data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        return encoding
    sample = data[:SAMPLE_BYTES]
    guess = chardet.detect(sample, encoding_era=ERAS)
    if guess["confidence"] >= MIN_CONFIDENCE and (known := _known(guess["encoding"] or "")):
        return known
    broken = {encoding: sample.decode(encoding, "replace").count("\ufffd") for encoding in OFTEN_BROKEN}
    best = min(broken, key=broken.__getitem__)
    return best if broken[best] <= MAX_BROKEN_SHARE * len(sample) else "cp1252"


def decode_text(data: bytes, *, declared: str = "") -> str:
    """Broken bytes become U+FFFD. declared: what the file says of itself, used when it fits."""
    return data.decode(detect_encoding(data, declared=declared), errors="replace").removeprefix("\ufeff")


def declared_encoding(data: bytes) -> str:
    """The encoding that an XML declaration or an HTML meta tag names, else ""."""
    match = DECLARED.search(data[:4096])
    return (match[1] or match[2]).decode("ascii") if match else ""


def web_name(encoding: str) -> str:
    """What browsers call one of Python's encodings (https://encoding.spec.whatwg.org)."""
    if encoding.startswith("cp125"):
        return f"windows-{encoding[2:]}"
    return WEB_NAMES.get(encoding, encoding.replace("_", "-"))


def _known(label: str) -> str:
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return ""
    return WIDER.get(name, name)
