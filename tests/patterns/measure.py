"""Run as a process of its own: reads patterns from standard input, prints those whose time grows faster than the text.

A first look at a short text sorts out most. What is judged takes 30 ms and more, and only processor time counts there
(its clock may tick every 4 ms), so that a busy machine changes little. A pattern that does not come back is stopped by
a timer of processor time, for which `re` looks every few thousand steps.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from tests.patterns.hostile import FIXED, TAILS, seeds

LENGTHS = (10_000, 20_000)
FIRST_LOOK = 1_200
LOOK_CLOSER_S = 0.0004  # at the first look, by the wall clock
TOO_LITTLE_S = 0.03  # for 20 kB: not judged
STOP_S = 1.0  # for all first looks at a pattern together, and for each closer one
MOST = 3.0  # 2 is linear, 4 quadratic
REPEATS = 2
BOUNDED_MOST_S = 0.05  # for a text as long as the pattern ever meets


class Stopped(Exception):
    pass


def main() -> None:
    signal.signal(signal.SIGPROF, _stop)
    for entry in json.load(sys.stdin):
        pattern = entry["pattern"].encode("latin-1") if entry["bytes"] else entry["pattern"]
        judged = Judged(re.compile(pattern, entry["flags"]), entry["methods"])
        print("trying", entry["where"], file=sys.stderr, flush=True)
        complaint = judged.complaint_within(entry["most_chars"]) if entry["most_chars"] else judged.complaint()
        if complaint:
            print(f"{entry['where']}: {complaint}", flush=True)


class Judged:
    def __init__(self, compiled: re.Pattern[str] | re.Pattern[bytes], methods: Sequence[str]) -> None:
        anchored = set(methods) <= {"match", "fullmatch"}
        # Whatever searches tries the pattern at each place: as findall, which is the quickest to run.
        self._calls = [getattr(compiled, method) for method in (methods if anchored else ["findall"])]
        self._compiled = compiled

    def complaint(self) -> str:
        _wake_after(STOP_S)
        for shown, text in self._texts():
            try:
                if self._glance(text(FIRST_LOOK)) > LOOK_CLOSER_S and (ratio := self._ratio(text)) > MOST:
                    return f"{ratio:.1f} times as long for twice the text: {shown}"
            except Stopped:
                return f"does not come back: {shown}"
        _wake_after(0)
        return ""

    def complaint_within(self, chars: int) -> str:
        """For a pattern that never meets a longer text."""
        _wake_after(STOP_S)
        for shown, text in self._texts():
            try:
                if self._least(text(chars)[-chars:], enough=BOUNDED_MOST_S) > BOUNDED_MOST_S:
                    return f"slow on {chars} characters: {shown}"
            except Stopped:
                return f"does not come back: {shown}"
        _wake_after(0)
        return ""

    def _texts(self) -> Iterator[tuple[str, Callable[[int], str]]]:
        for prefix, pump in seeds(self._compiled.pattern, self._compiled.flags):
            for tail in TAILS[:2] if pump in FIXED else TAILS:
                yield f"{prefix!r} + {pump!r} * n + {tail!r}", _text(prefix, pump, tail)

    def _ratio(self, text: Callable[[int], str]) -> float:
        """How many times as long 20 kB take as 10 kB; looked at again before it is believed."""
        _wake_after(STOP_S)
        ratio = 0.0
        for _ in range(REPEATS):
            short, long = (self._least(text(length), enough=TOO_LITTLE_S) for length in LENGTHS)
            if long < TOO_LITTLE_S:
                return 0.0
            ratio = long / max(short, 0.001)
            if ratio <= MOST:
                break
        _wake_after(STOP_S)
        return ratio

    def _glance(self, text: str) -> float:
        return self._least(text, enough=LOOK_CLOSER_S, clock=time.perf_counter)

    def _least(self, text: str, *, enough: float, clock: Callable[[], float] = time.process_time) -> float:
        """Of several runs; one that is as short as `enough` settles it."""
        subject = text.encode() if isinstance(self._compiled.pattern, bytes) else text
        least = STOP_S
        for _ in range(REPEATS):
            started = clock()
            for call in self._calls:
                call(subject)
            least = min(least, clock() - started)
            if least <= enough:
                break
        return least


def _text(prefix: str, pump: str, tail: str) -> Callable[[int], str]:
    return lambda length: prefix + pump * (length // len(pump)) + tail


def _stop(*_: object) -> None:
    raise Stopped


def _wake_after(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    main()
