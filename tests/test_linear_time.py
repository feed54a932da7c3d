"""No text that people, documents or models send makes a pattern of ours take more than the time of its length.

`re` holds the interpreter while it works: a pattern that takes exponential or quadratic time stops the whole process.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGES = ("ragsite", "chat", "retrieval", "feedback")
NOT_IMPORTED = re.compile(r"\.(?:migrations|settings|asgi|wsgi)\b|__main__|reader_process")
PUMPS = (
    "|--", "| :- ", "--", ":-", "<!--", "-->", "<a ", "</a", "[", "[[](", "![", "(", "{#", "] ", " ", "\t", "\n", " \n",
    "\n\n", "\u3000", "1", "1.", "1,", "a", "A", "Aa ", "a.", "a-", "a'", ", ", '"', "'", "`", "*", "_a", "#", "# ",
    "> ", "- ", "\\", "&", "中", "。", "《", "中a1 ", "第一", "é", "```",
)  # fmt: skip
TAILS = ("", "\x01", "\nz!")
CHARS = 4_000
MOST_S = 0.04  # of processor time: a hundred times what a linear pattern takes, a third of what a quadratic one does


def our_patterns() -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """Where each stands, and the method to try: what searches tries it at each place, as `findall`."""
    for package in PACKAGES:
        for entry in pkgutil.walk_packages(
            importlib.import_module(package).__path__, f"{package}."
        ):
            if NOT_IMPORTED.search(entry.name):
                continue
            module = importlib.import_module(entry.name)
            source = Path(module.__file__ or "").read_text()
            for name, value in vars(module).items():
                used = set(re.findall(rf"\b{re.escape(name)}\.(\w+)", source))
                method = "match" if used and used <= {"match", "fullmatch"} else "findall"
                values = (
                    value.values()
                    if isinstance(value, dict)
                    else value
                    if isinstance(value, tuple)
                    else (value,)
                )
                yield from (
                    (f"{entry.name}.{name}", one, method)
                    for one in values
                    if isinstance(one, re.Pattern)
                )


def complaint(pattern: re.Pattern[Any], method: str) -> str:
    """The text that the pattern does not come to the end of in time."""
    for pump in PUMPS:
        for tail in TAILS:
            text = pump * (CHARS // len(pump)) + tail
            signal.setitimer(signal.ITIMER_PROF, MOST_S)
            try:
                getattr(pattern, method)(
                    text if isinstance(pattern.pattern, str) else text.encode()
                )
            except TimeoutError:
                return f"{pump!r} * n + {tail!r}"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def test_every_pattern_takes_linear_time() -> None:
    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    gc.disable()  # a look through all objects takes as long
    try:
        assert complaint(
            re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|?)+\s*\Z"), "match"
        )  # such a one is found
        patterns = {pattern: (where, method) for where, pattern, method in our_patterns()}
        assert len(patterns) > 50
        complaints = [
            (where, text)
            for p, (where, method) in patterns.items()
            if (text := complaint(p, method))
        ]
        assert complaints == []
    finally:
        gc.enable()
        signal.signal(signal.SIGPROF, before)
