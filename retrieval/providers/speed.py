"""How fast a model reads and writes, as its own calls have shown; and so how long the next one may take.

Ollama tells with each answer how long it read and wrote. Its count of the prompt's tokens holds those that its prompt
cache served in no time; so tokens are counted here, by our own estimate, without what a prompt has in common with the
one before it. Medians of the last calls are used: one that met a busy machine changes little. Each observation is
forgotten after a while, whatever came since, so that none can keep a model from being asked for ever.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

from retrieval.text.tokens import estimate_tokens

KEPT = 9  # observations of each kind
BELIEVED_S = 600.0  # how long an observation counts: the server may have been mended
LEAST_READ, LEAST_WRITTEN = 48, 4  # tokens from which a speed can be told
NEW_SHARE = 0.5  # of a prompt; with less of it new, the time depends on what the prompt cache still held
READ_PER_WRITTEN = 5.0  # a token is read about so many times faster than one is written, on a processor
GIVEN_UP = 1.5  # a call that was given up would have taken at least so many times as long, for all we know
UNSEEN_MOST = 1024  # tokens of a reply that are reckoned with, at most, before any was seen
CONTRADICTED = 0.6  # of the time that it was waited for: what later calls show to be enough for the call given up


@dataclass(frozen=True, slots=True)
class Timing:
    """What one call took, in seconds. read: tokens that the server had to read anew; whole: as we waited; prompt: all
    its tokens, as the server counts them, 0 where it does not."""

    read: int
    read_s: float
    written: int
    written_s: float
    load_s: float
    whole_s: float
    prompt: int = 0


@dataclass(frozen=True, slots=True)
class _GivenUp:
    read: int
    written: int
    waited_s: float
    at: float

    @property
    def work(self) -> float:
        return _work(self.read, self.written)


def _work(read: int, written: int) -> float:
    return read / READ_PER_WRITTEN + written + 1.0


@dataclass(slots=True)
class _Recent:
    """The last values, those that still count."""

    clock: Callable[[], float]
    _seen: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=KEPT))

    def add(self, value: float) -> None:
        self._seen.append((self.clock(), value))

    @property
    def values(self) -> list[float]:
        since = self.clock() - BELIEVED_S
        return [value for at, value in self._seen if at >= since]

    @property
    def middle(self) -> float | None:
        values = self.values
        return median(values) if values else None


class ModelSpeed:
    """Of one model on one server. Tokens are those of `retrieval.text.tokens`, written ones Ollama's."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._read, self._write, self._queue = _Recent(clock), _Recent(clock), _Recent(clock)
        self._usual: dict[str, deque[int]] = {}  # tokens written, by prompt
        self._given_up: _GivenUp | None = None
        self._doubted = False  # the last call was given up, against all that is known
        self._last_prompt = ""
        self._running: dict[int, tuple[float, float]] = {}  # when each began, and what it is expected to take

    def seconds_for(self, read: int, written: int) -> float | None:
        """What a call may take, our own calls before it in the server's queue included; None: nothing is known."""
        alone = self._alone(read, written)
        self._forget_given_up()
        if given_up := self._given_up:
            least = GIVEN_UP * given_up.waited_s * min(1.0, _work(read, written) / given_up.work)
            alone = max(alone or 0.0, least)
        return None if alone is None else alone + self._wait()

    def seconds_to_read(self, read: int) -> float | None:
        """Until the first token."""
        return self.seconds_for(read, 1)

    def usual_tokens(self, prompt_name: str, most: int) -> int:
        """Tokens that replies to this prompt have had; where none has been seen, half of what is allowed, bounded."""
        known = self._usual.get(prompt_name)
        return min(most, max(known)) if known else max(1, min(most, UNSEEN_MOST) // 2)

    def new_tokens(self, prompt: str) -> int:
        """Of the prompt, without what it has in common with the one before it."""
        least, most = 0, min(len(self._last_prompt), len(prompt))
        while least < most:
            middle = (least + most + 1) // 2
            if prompt.startswith(self._last_prompt[:middle]):
                least = middle
            else:
                most = middle - 1
        self._last_prompt = prompt
        return estimate_tokens(prompt[least:])

    @contextmanager
    def running(self, read: int, written: int) -> Iterator[None]:
        """A call is on its way: others of ours wait for it, as Ollama serves one at a time unless told otherwise."""
        key, expected = object(), self._alone(read, written) or 0.0
        self._running[id(key)] = (self._clock(), expected)
        try:
            yield
        finally:
            del self._running[id(key)]

    def observe(self, prompt_name: str, timing: Timing) -> None:
        self._doubted = False
        if timing.read >= max(LEAST_READ, NEW_SHARE * timing.prompt) and timing.read_s > 0:
            self._read.add(timing.read / timing.read_s)
        if timing.written >= LEAST_WRITTEN and timing.written_s > 0:
            self._write.add(timing.written / timing.written_s)
        if timing.read_s or timing.written_s:
            own_s = timing.read_s + timing.written_s + timing.load_s
            self._queue.add(max(0.0, timing.whole_s - own_s))
        if timing.written:
            self._usual.setdefault(prompt_name, deque(maxlen=KEPT)).append(timing.written)
        if given_up := self._given_up:
            alone = self._alone(given_up.read, given_up.written)
            if alone is None:  # the server tells no durations
                alone = timing.whole_s * given_up.work / _work(timing.read, timing.written)
            if alone < CONTRADICTED * given_up.waited_s:
                self._given_up = None  # it was the model's loading, or a crowd

    def observe_given_up(self, read: int, written: int, waited_s: float) -> None:
        """A call was not done after so long: a censored observation, which later ones may contradict.

        One against all that is known, of a model that was loaded anew or met a crowd, is let pass; a second is not.
        """
        alone = self._alone(read, written)
        if alone is not None and alone < CONTRADICTED * waited_s and not self._doubted:
            self._doubted = True
            return
        self._forget_given_up()
        if self._given_up is None or waited_s / _work(read, written) > self._given_up.waited_s / self._given_up.work:
            self._given_up = _GivenUp(read, written, waited_s, at=self._clock())

    def _forget_given_up(self) -> None:
        if self._given_up and self._clock() > self._given_up.at + BELIEVED_S:
            self._given_up = None

    def _alone(self, read: int, written: int) -> float | None:
        reads, writes = self._read.middle, self._write.middle
        if reads is None and writes is None:
            return None
        reads = reads if reads is not None else READ_PER_WRITTEN * (writes or 1.0)
        writes = writes if writes is not None else reads / READ_PER_WRITTEN
        return read / reads + written / writes

    def _wait(self) -> float:
        """The queue as it was lately, or what is left of the calls that are running, if that is less.

        Both are high only where calls really wait for each other; a server that serves several at once shows no queue.
        """
        if not self._running:
            return 0.0
        began = min(began for began, _ in self._running.values())
        left = sum(expected for _, expected in self._running.values()) - (self._clock() - began)
        seen = max(self._queue.values, default=left)
        return max(0.0, min(left, seen))
