"""Thoughts that a model writes into its reply: taken out, however the reply is cut into pieces.

Servers and templates of model families mark them each in their own way; PAIRS is all that is known of that. A template
may open the thoughts itself, so that their closing mark comes alone: then what came before it is withdrawn, and such a
model's next replies are held back until that mark.
"""

from __future__ import annotations

from collections.abc import Iterator

# What begins a reply and is no answer, to its end: thoughts, and the heads of channels and turns.
PAIRS = (
    ("<think>", "</think>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("[think]", "[/think]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),  # Command
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    ("<unused94>", "<unused95>"),  # MedGemma
    ("<|channel>thought", "<channel|>"),  # Gemma
    ("<|start|>", "assistant"),  # gpt-oss: turns, and a channel for each kind of text
    ("<|channel|>analysis", "<|end|>"),
    ("<|channel|>commentary", "<|end|>"),
    ("<|channel|>final", "<|message|>"),
)
FRAMES = (
    ("<answer>", "</answer>"),
    ("<|start_response|>", "<|end_response|>"),
)  # around the answer itself
NEXT_TURN = ("<|start|>", "<|channel|>final")  # end a channel, too, where its own end is missing
TAILS = (
    "<|return|>",
    "<|end|>",
    "<|im_end|>",
    "<|eot_id|>",
)  # behind an answer in a channel; nothing follows
LONE = tuple(closing for _, closing in PAIRS if "/" in closing or closing.startswith("<|end_"))
LONGEST = max(len(mark) for pair in (*PAIRS, *FRAMES) for mark in pair)
FENCE = "```"


class ThoughtFilter:
    """Takes pieces of a reply and gives back its text; None: all that was given before were thoughts.

    The marks further on are text, as of an answer about such models, and so are those in code.
    awaits_end: what comes before a closing mark are thoughts, whether anything opens them or not.
    """

    def __init__(self, *, awaits_end: bool = False) -> None:
        self.unended = False  # the reply is over, and its thoughts are not
        self.came_alone = False  # a closing mark that nothing had opened
        self._awaits_end = awaits_end
        self._held = ""
        self._closings: tuple[str, ...] = ()  # of what is being left out; all but the first stay
        self._is_text = self._has_thoughts = self._is_over = False
        self._given = ""  # that may yet turn out to be thoughts
        self._frame: tuple[str, ...] = ()
        self._tails: tuple[str, ...] = ()

    def feed(
        self, piece: str, *, is_last: bool = False, is_cut: bool = False
    ) -> Iterator[str | None]:
        """is_last: the reply is whole; is_cut: it was cut at its length limit."""
        if self._is_over:
            return
        self._held += piece
        if not self._is_text:
            self._read_beginning(is_last=is_last or is_cut)
        if self._is_text and self._has_thoughts:
            yield self._without_ends(is_last=is_last or is_cut)
        elif self._is_text:
            yield from self._before_lone_mark(is_last=is_last, is_cut=is_cut)

    def _read_beginning(self, *, is_last: bool) -> None:
        while not self._is_text:
            if self._closings and not self._leave_out():
                self.unended = is_last
                return
            begun = self._held.lstrip()
            start = begun[:LONGEST].lower()
            pair = next((pair for pair in (*PAIRS, *FRAMES) if start.startswith(pair[0])), None)
            if pair is None:
                if not is_last and any(
                    opening.startswith(start) for opening, _ in (*PAIRS, *FRAMES)
                ):
                    return
                self._is_text = True
                self._held = begun if self._has_thoughts else self._held
            else:
                self._held = begun[len(pair[0]) :]
                self._has_thoughts = True
                self._open(*pair)

    def _open(self, opening: str, closing: str) -> None:
        if (opening, closing) in FRAMES:
            self._frame = (closing,)
            return
        in_channel = opening.startswith("<|channel|>")
        self._closings = (
            (closing, *NEXT_TURN) if in_channel and closing == "<|end|>" else (closing,)
        )
        if in_channel:
            self._tails = TAILS

    def _leave_out(self) -> bool:
        """Whether the end of what is left out has come."""
        lowered = self._held.lower()
        places = {
            lowered.find(closing): closing for closing in self._closings if closing in lowered
        }
        if not places:
            self._held = self._held[-LONGEST:]
            return False
        first = min(places)
        consumed = len(places[first]) if places[first] == self._closings[0] else 0
        self._held = self._held[first + consumed :]
        self._closings = ()
        return True

    def _without_ends(self, *, is_last: bool) -> str:
        for closing in self._frame:
            before, found, behind = _parted(self._held, closing)
            if found:
                self._frame = ()
                self._held = before + behind
        for tail in self._tails:
            before, found, _ = _parted(self._held, tail)
            if found:
                self._held = before
                self._is_over = True
        return self._take(
            0
            if is_last or self._is_over
            else _length_of_beginning(self._held, self._frame + self._tails)
        )

    def _before_lone_mark(self, *, is_last: bool, is_cut: bool) -> Iterator[str | None]:
        end = self._end_of_lone_mark()
        if end:
            was_given = bool(self._given)
            self._held = self._held[end:]
            self.came_alone = self._has_thoughts = True
            self._is_text = False
            if was_given:
                yield None
            yield from self.feed("", is_last=is_last, is_cut=is_cut)
        elif self._awaits_end and not is_last:
            self.unended = is_cut
        else:
            text = self._take(0 if is_last or is_cut else _length_of_beginning(self._held, LONE))
            self._given += text
            yield text

    def _end_of_lone_mark(self) -> int:
        """Of the first one; 0: there is none. One that something opened, or that stands in code, is text."""
        lowered = self._held.lower()
        ends: dict[int, int] = {}
        for opening, closing in PAIRS:
            at = lowered.find(closing) if closing in LONE else -1
            while at >= 0:
                before = self._given + self._held[:at]
                if opening not in before.lower() and not _is_in_code(before):
                    ends[at] = at + len(closing)
                at = lowered.find(closing, at + 1)
        return ends[min(ends)] if ends else 0

    def _take(self, left: int) -> str:
        end = len(self._held) - left
        text = self._held[:end]
        self._held = self._held[end:]
        return text


def _parted(text: str, mark: str) -> tuple[str, bool, str]:
    at = text.lower().find(mark)
    return (text, False, "") if at < 0 else (text[:at], True, text[at + len(mark) :])


def _is_in_code(before: str) -> bool:
    line = before.rpartition("\n")[2]
    return before.count(FENCE) % 2 == 1 or line.count("`") % 2 == 1


def _length_of_beginning(text: str, marks: tuple[str, ...]) -> int:
    """Of the longest end of the text that one of the marks begins with."""
    text = text[-LONGEST:].lower()
    for length in range(min(LONGEST, len(text)), 0, -1):
        if any(mark.startswith(text[-length:]) for mark in marks):
            return length
    return 0
