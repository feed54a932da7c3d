"""How many text files are read without a wrong character, by the reader of ours and by detectors of others.

    python -m benchmarks.encodings DIR [--json]

DIR holds a folder for each encoding, named `Big5` or `windows-1251-russian`: the `tests` folder of chardet's source
distribution is laid out so (`pip download --no-binary :all: --no-deps chardet==5.2.0`). The Chinese sample documents
are written anew in the encodings of Chinese texts. What counts is the decoded text, not the name of the encoding. Each
file is read whole, with one byte broken, and as passages of some 20, 60 and 200 bytes; what it declares of itself is
taken out.
Detectors other than chardet, which ours asks too: `pip install '.[detectors]'`.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import chardet
from opencc import OpenCC

from benchmarks.support.tables import show
from retrieval.ingest.encodings import decode_text

SAMPLES = Path("retrieval/samples")
LENGTHS = (20, 60, 200)  # bytes
KINDS = {"passages": [f"{length} bytes" for length in LENGTHS], "whole files": ["whole"], "a broken byte": ["broken"]}
UNICODE = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")
CHINESE = {"zh-hans": ("gb18030", *UNICODE), "zh-hant": ("big5hkscs", "gb18030", *UNICODE)}
GROUPS = {
    "Chinese, simplified": "gb", "Chinese, traditional": "big5", "Japanese": "euc-jp|shift|cp932|iso-2022-jp",
    "Korean": "euc-kr|cp949|johab|iso-2022-kr", "Unicode": "utf|ascii", "Cyrillic": "koi8|1251|8859-5|cyrillic|ibm8",
    "Western": "8859-1$|1252|roman", "Central European": "8859-2|1250", "Greek, Turkish": "8859-[79]|125[34]",
    "Hebrew, Arabic, Thai": "8859-6|125[56]|tis",
}  # fmt: skip
# Python's names of what people write under a label; a label's own name is tried where it has none here.
CODECS = {
    "gb2312": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "euc-kr": "cp949", "maccyrillic": "mac_cyrillic",
    "macroman": "mac_roman", "tis-620": "cp874", "iso-8859-1": "cp1252",
}  # fmt: skip
LABEL = re.compile(r"(iso-8859-\d+|iso-2022-\w\w|windows-\d+|koi8-r|euc-\w\w|tis-620|utf-8-sig|utf-\w+|[^-]+)", re.I)
DECLARATION = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?[\w.:-]+", re.I)
Reader = Callable[[bytes], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    group: str
    length: str
    data: bytes
    text: str


def labelled(folder: Path) -> Iterator[Case]:
    """Files that the encoding in their folder's name does not decode are left out."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if not (match := LABEL.match(path.parent.name)):
            continue
        label = match[1].lower()
        group = next((name for name, pattern in GROUPS.items() if re.search(pattern, label)), None)
        if group:
            try:
                text = DECLARATION.sub(b"", path.read_bytes()).decode(CODECS.get(label, label))
            except (UnicodeDecodeError, LookupError):
                continue
            yield from _cases(group, CODECS.get(label, label), text)


def chinese_samples() -> Iterator[Case]:
    converters = {script: OpenCC(config) for script, config in {"zh-hans": "t2s", "zh-hant": "s2t"}.items()}
    for path in sorted(SAMPLES.rglob("*zh-han*")):
        text = decode_text(path.read_bytes()).text
        for script, converter in converters.items():
            group = "Our Chinese, simplified" if script == "zh-hans" else "Our Chinese, traditional"
            for encoding in CHINESE[script]:
                name = group if encoding in ("gb18030", "big5hkscs") else "Our Chinese, Unicode"
                yield from _cases(name, encoding, converter.convert(text))


def _cases(group: str, encoding: str, text: str) -> Iterator[Case]:
    """The whole text, the same with a broken byte, and of each length a passage that begins with a word that is not
    ASCII."""
    text = text.removeprefix("\ufeff")
    pieces = {"whole": text}
    if foreign := re.search("[^\x00-\x7f]", text):
        start = max(text.rfind(sign, 0, foreign.start()) for sign in " \n>") + 1
        for length in LENGTHS:
            count = length
            while count > 1 and len(text[start : start + count].encode(encoding, "ignore")) > length:
                count -= 1
            if start + count < len(text):
                pieces[f"{length} bytes"] = text[start : start + count]
    for length, piece in pieces.items():
        data = piece.encode(encoding, "ignore")
        yield Case(group=group, length=length, data=data, text=data.decode(encoding).removeprefix("\ufeff"))
        if length == "whole" and foreign and not encoding.startswith(("utf", "iso-2022")):
            at = len(text[: foreign.start()].encode(encoding, "ignore"))
            data = data[:at] + b"\xff" + data[at + 1 :]
            yield Case(group=group, length="broken", data=data, text=data.decode(encoding, "replace"))


def readers() -> dict[str, Reader]:
    found: dict[str, Reader] = {
        "Ragsite": lambda data: decode_text(data).text,
        "chardet": lambda data: _decoded(data, chardet.detect(data, prefer_superset=True)["encoding"]),
    }
    if find_spec("charset_normalizer"):
        normalizer = import_module("charset_normalizer")
        found["charset-normalizer"] = lambda data: str(normalizer.from_bytes(data).best() or "")
    if find_spec("cchardet"):
        cchardet = import_module("cchardet")
        found["cchardet"] = lambda data: _decoded(data, cchardet.detect(data)["encoding"])
    return found


def _decoded(data: bytes, encoding: str | None) -> str:
    try:
        return data.decode(encoding or "utf-8", errors="replace")
    except LookupError:  # a name that Python has no codec for
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cases = [*labelled(options.folder), *chinese_samples()]
    groups = list(dict.fromkeys([*GROUPS, *(case.group for case in cases)]))
    right: dict[tuple[str, str, str], int] = defaultdict(int)
    seconds: dict[str, float] = {}
    for name, read in readers().items():
        begun = time.perf_counter()
        for case in cases:
            right[name, case.group, case.length] += read(case.data).removeprefix("\ufeff") == case.text
        seconds[name] = time.perf_counter() - begun
    rows = []
    for kind, lengths in KINDS.items():
        for group in groups:
            if count := sum(case.group == group and case.length in lengths for case in cases):
                shown = {name: sum(right[name, group, length] for length in lengths) for name in seconds}
                rows.append({"texts": group, "length": kind, "count": count, **shown})
    total = {name: sum(count for (reader, *_), count in right.items() if reader == name) for name in seconds}
    rows.append({"texts": "all", "length": "", "count": len(cases), **total})
    notes = [f"{name}: {1000 * spent / len(cases):.2f} ms a text" for name, spent in seconds.items()]
    show(rows, as_json=options.json, notes=notes)


if __name__ == "__main__":
    main()
