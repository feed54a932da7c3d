"""Condense: a follow-up, or the reply to a question asked back, becomes a question that stands on its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

from ragsite.core.wording import worded
from retrieval.steps.schemas import CondensedQuestion
from retrieval.steps.step import Asked, Step
from retrieval.text.analysis import analyze
from retrieval.text.language import HAN_CHARACTER
from retrieval.trace import StepRecord
from retrieval.values import HistoryMessage, OpenClarification, Question

TOO_LITTLE = 1.5  # words; a message of so few can only be understood with what was said before
POINTING_LENGTH = 6.0  # words; in a longer message "it" and "这" refer to something inside it
TAKEN_UP = 0.7  # of a question's words, from which another one is the same question, said in more detail
REPLY_LENGTH = 6.0  # words; a longer message that matches no option is a new question
MOST_JOINED = 3  # earlier messages that a follow-up of follow-ups is joined with
LOOKED_BACK = 6  # earlier messages among which the one is looked for that stands on its own
FOLLOW_UP_CHARS = 300  # a longer message says what it is about
_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|them|their|that|those|this|these|there|then|the same|he|him|his|she|her|one|ones|both|either"
    r"|what about|how about|and (?:for|in|if|what|how|when|who)|why not|what else)\b"
    r"|^(?:and|or|but|so|also)\b"
    r"|[它她该該]|(?<!其)他|其(?![他它中实實余餘])|(?<![因彼])此(?!外)|这|這|那|同样|同樣|上述|前者|后者|後者|呢[？?]?\s*$|^(?:还有|還有|另外|那么|那麼|为什么|為什麼|为何|為何)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# "And in 2022?", "那2022年呢？": nothing but another year is asked for.
_ANOTHER_YEAR = re.compile(
    r"^\W*+(?:(?:and|but|so|what|how|about|in|for|was|is|it)\W++)*+(?:那(?:么|麼)?\s*+)?((?:19|20)\d\d)"
    r"\s*+年?+(?:的话|的話)?(?:\s*+呢)?\W*+(?:then\W*+)?$",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？]|^(?:what|who|whom|whose|which|when|where|why|how|is|are|do|does|did|can|could|should|may|must|tell|explain|show)\b"
    r"|什么|什麼|怎么|怎麼|如何|多少|几|幾|哪|谁|誰|吗|嗎|是否|能否|请问|請問",
    re.IGNORECASE,
)


class Condense(Step[Asked, str]):
    """The self-contained question. The text that it is given, of `condense_without_model`, is the fallback."""

    name = "condense"

    async def act(self, given: Asked, entry: StepRecord) -> str:
        question = given.question
        if question.open_clarification and chooses(question.text, question.open_clarification):
            entry.summary = worded("reply to a question asked back: {text}", text=given.text)
            return given.text
        if not question.history:
            entry.skip(worded("the first question of a conversation stands on its own"))
            return given.text
        standalone = await self.attempt(entry, self._ask_model(question), fallback=lambda: given.text, gives_way=True)
        entry.summary = entry.summary or standalone
        entry.detail["standalone_question"] = standalone
        return standalone

    async def _ask_model(self, question: Question) -> str:
        history = self.history(question)
        reply = await self.complete("condense", CondensedQuestion, history=history, question=question.text)
        return " ".join(reply.standalone_question.split()) or question.text


def condense_without_model(question: Question) -> str:
    """The question, joined with what it leaves out.

    A reply to a question asked back is joined with the question it was about. A message that points back ("what about
    2024?", "它呢？") or says very little is joined with the content of the last question, and where that one pointed
    back, too, with that of the one before; where it asks for nothing but another year, that year stands in the place
    of the last question's.
    """
    if question.open_clarification and is_reply(question.text, question.open_clarification):
        return f"{question.open_clarification.question.strip()} ({question.text.strip()})"
    if not points_back(question.text):
        return question.text
    last = _last_question(question.history)
    return _joined(last, question.text) if last else question.text


def _last_question(history: Sequence[HistoryMessage]) -> str:
    """With what it left out itself, if it was a follow-up, or the reply to a question asked back."""
    said: list[str] = []  # the newest first
    for at in reversed(range(len(history))):
        text = history[at].text
        if history[at].role != "user":
            continue
        said.append(" ".join(text.split()))
        before = history[at - 1] if at else None
        replies = before is not None and before.role == "assistant" and before.text.rstrip().endswith(("?", "？"))
        alone = len(text) > FOLLOW_UP_CHARS or not (replies or points_back(text))
        if alone or len(said) == LOOKED_BACK:
            break
    # What the oldest one is about is what all are about.
    return reduce(_joined, [*said[-1:], *reversed(said[: min(MOST_JOINED, len(said)) - 1])]) if said else ""


def _joined(last: str, text: str) -> str:
    if (other := _ANOTHER_YEAR.match(text)) and len(set(_YEAR.findall(last))) == 1:
        return _YEAR.sub(other[1], last)
    return f"{last} {text.strip()}".strip()


def takes_up(standalone: str, opened: OpenClarification | None) -> bool:
    """Whether the self-contained question is the one that was asked back about: then it is not asked back again."""
    if opened is None:
        return False
    asked, held = set(analyze(opened.question)), set(analyze(standalone))
    return len(asked & held) >= TAKEN_UP * len(asked)


def points_back(text: str) -> bool:
    """Whether a message can hardly be understood without what was said before."""
    length = content_length(text)
    return length <= TOO_LITTLE or (length <= POINTING_LENGTH and bool(_POINTS_BACK.search(text)))


def content_length(text: str) -> float:
    """Content words in a text; two Chinese characters make about one."""
    words = {term for term in analyze(text) if not HAN_CHARACTER.search(term)}
    return len(words) + len(HAN_CHARACTER.findall(text)) / 2


def is_reply(text: str, opened: OpenClarification) -> bool:
    """Whether the message answers the question that was asked back, as far as can be told without a model: it chooses
    an option, or is a few words of one's own that ask nothing."""
    if chooses(text, opened):
        return True
    says_something = any(character.isalnum() for character in text)  # "both" and "any of them" hold no terms
    return says_something and content_length(text) <= REPLY_LENGTH and not _ASKS.search(text.strip())


def chooses(text: str, opened: OpenClarification) -> bool:
    """Whether the message is one of the options, or names one and asks nothing."""
    terms = set(analyze(text))
    options = [held for option in opened.clarification.options if (held := set(analyze(option)))]
    if any(terms == option for option in options):
        return True
    return not _ASKS.search(text.strip()) and any(option <= terms for option in options)
