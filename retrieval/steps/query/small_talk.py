"""Greetings and thanks: recognised by rules, answered without retrieval."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from retrieval.text.language import to_simplified

_ADDRESS = r"(?: (?:there|all|everyone|again|so much|very much|a lot|you|bot|assistant))*"
_GREETING = re.compile(
    rf"(?:hi|hello|hey|hiya|greetings|good (?:morning|afternoon|evening|day)|how are you(?: today)?){_ADDRESS}"
    r"|(?:你|您|大家)好[啊呀吗]?|嗨|哈[喽啰]|早上好|中午好|下午好|晚上好|早安|午安|晚安|在吗",
    re.IGNORECASE,
)
_THANKS = re.compile(
    rf"(?:(?:many |ok |okay |great )?(?:thanks|thank you|thx|cheers)|bye|goodbye|see you){_ADDRESS}"
    r"|(?:好的?|多|非常|太)?(?:谢谢|感谢)(?:你|您|了|啦|你的帮助|您的帮助)*|多谢(?:你|您)?(?:的帮助)?|辛苦了|再见|再会|拜拜",
    re.IGNORECASE,
)
# What stands beside a greeting or thanks; alone it may be the reply to a question.
_BESIDE = re.compile(
    r"ok(?:ay)?|great|perfect|fine|got it|there|all|everyone|again|you|(?:dear )?assistant"
    r"|好[的啊]?|嗯|明白了?|知道了|了解了?|收到|各位|老师",
    re.IGNORECASE,
)
_EDGES = re.compile(r"^[\W_]+|(?<![\W_])[\W_]+$")
MAX_CHARS = 60

Kind = Literal["small_talk", "thanks"]


def small_talk_kind(text: str) -> Kind | None:
    """`small_talk` for a greeting, `thanks` for thanks and farewells, None for everything that might be a question."""
    if len(text) > MAX_CHARS:
        return None
    folded = to_simplified(unicodedata.normalize("NFKC", text))
    pieces = [piece for piece in (_EDGES.sub("", part) for part in re.split(r"[,.!?，。！？~\n]+", folded)) if piece]
    if not pieces:
        return None
    phrases = [piece for piece in pieces if not _BESIDE.fullmatch(piece)]
    if phrases and all(_GREETING.fullmatch(piece) or _THANKS.fullmatch(piece) for piece in phrases):
        return "thanks" if _THANKS.fullmatch(phrases[0]) else "small_talk"
    return None
