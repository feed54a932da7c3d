"""Greetings and thanks: recognised by rules, answered without retrieval."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from retrieval.language import to_simplified

_ADDRESS = r"(?: (?:there|all|everyone|again|so much|very much|a lot|you|bot|assistant))*"
_GREETING = re.compile(
    rf"(?:hi|hello|hey|hiya|greetings|good (?:morning|afternoon|evening|day)|how are you(?: today)?){_ADDRESS}"
    r"|(?:你|您|大家)好[啊呀吗]?|嗨|哈[喽啰]|早上好|下午好|晚上好|早安|晚安|在吗",
    re.IGNORECASE,
)
_THANKS = re.compile(
    rf"(?:(?:many |ok |okay |great )?(?:thanks|thank you|thx|cheers)|bye|goodbye|see you){_ADDRESS}"
    r"|(?:好的?|多|非常|太)?(?:谢谢|感谢)(?:你|您|了|啦|你的帮助|您的帮助)*|多谢|再见|拜拜",
    re.IGNORECASE,
)
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
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
    if all(_GREETING.fullmatch(piece) or _THANKS.fullmatch(piece) for piece in pieces):
        return "thanks" if _THANKS.fullmatch(pieces[0]) else "small_talk"
    return None
