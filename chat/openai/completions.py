"""Answers as OpenAI's objects: `chat.completion`, its chunks and annotations."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from chat.messages.sources import evidence_address
from retrieval.engine.text.markers import CITATION

RAGSITE = (
    "decision",
    "support",
    "clarification",
    "status",
    "sources",
    "decision_path",
    "degraded",
    "usage",
    "message_id",
)
OPEN_MARKER = re.compile(r"\[\d{0,3}\]?\Z")  # may become one with what follows


def options_of(message: Mapping[str, Any]) -> str:
    """What follows the text of an answer that asks back: its options, as a list."""
    options = (message["clarification"] or {}).get("options", ())
    return "\n".join(["\n", *(f"- {option}" for option in options)]) if options else ""


class Numbering:
    """Takes an answer in pieces and gives it back with [n] citing its nth annotation, as clients count them.

    markers: the site's own, of its sources. numbers: by marker, of those read so far.
    """

    def __init__(self, markers: Iterable[int] = ()) -> None:
        self.markers = set(markers)
        self.numbers: dict[int, int] = {}
        self._held = ""
        self._before = ""  # the last character that was given back: a marker is not glued to a word

    def feed(self, piece: str) -> str:
        text = self._held + piece
        cut = OPEN_MARKER.search(text, max(0, len(text) - 5))
        self._held = cut[0] if cut else ""
        return self._read(text.removesuffix(self._held))

    def finish(self) -> str:
        held = self._held
        self._held = ""
        return self._read(held)

    def _read(self, text: str) -> str:
        read = CITATION.sub(self._numbered, self._before + text).removeprefix(self._before)
        self._before = (self._before + text)[-1:]
        return read

    def _numbered(self, found: re.Match[str]) -> str:
        if (marker := int(found[1])) not in self.markers:
            return found[0]
        return f"[{self.numbers.setdefault(marker, len(self.numbers) + 1)}]"


def content_of(message: Mapping[str, Any]) -> tuple[str, dict[int, int]]:
    """The whole text, and its numbers by the site's own markers."""
    numbering = Numbering(source["marker"] for source in message["sources"])
    text = numbering.feed(message["answer"]) + numbering.finish()
    return text + options_of(message), numbering.numbers


def completion(
    message: Mapping[str, Any], *, model: str, site: str, ignored: Sequence[str]
) -> dict[str, Any]:
    """A whole answer. site: the address that those of documents begin with. ignored: parameters of the request that
    changed nothing."""
    content, _ = content_of(message)
    choice = {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": content,
            "refusal": None,
            "annotations": citations(message, site=site),
        },
        "logprobs": None,
        "finish_reason": finish_reason(message),
    }
    about = _about(message["message_id"], "chat.completion", model)
    return {
        **about,
        "choices": [choice],
        "usage": usage(message),
        "ragsite": ragsite(message, ignored),
    }


class Chunks:
    """The pieces of one streamed answer."""

    def __init__(self, message_id: str, *, model: str) -> None:
        self._about = _about(message_id, "chat.completion.chunk", model)

    def delta(self, **delta: Any) -> dict[str, Any]:
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}])

    def last(
        self, message: Mapping[str, Any], *, site: str, ignored: Sequence[str], with_usage: bool
    ) -> Iterator[dict[str, Any]]:
        """After the text: what is left of it, annotations, why it ends; and usage where it was asked for."""
        if options := options_of(message):
            yield self.delta(content=options)
        if cited := citations(message, site=site):
            yield self.delta(annotations=cited)
        choice = {
            "index": 0,
            "delta": {},
            "logprobs": None,
            "finish_reason": finish_reason(message),
        }
        yield self._chunk([choice]) | {"ragsite": ragsite(message, ignored)}
        if with_usage:
            yield self._chunk([]) | {"usage": usage(message)}

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {**self._about, "choices": choices}


def _about(message_id: str, kind: str, model: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{message_id}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
    }


def finish_reason(message: Mapping[str, Any]) -> str:
    return "length" if message["status"] == "cut" else "stop"


def usage(message: Mapping[str, Any]) -> dict[str, int]:
    prompt, written = (
        message["usage"].get(name) or 0 for name in ("prompt_tokens", "completion_tokens")
    )
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


def citations(message: Mapping[str, Any], *, site: str) -> list[dict[str, Any]]:
    """One of each cited source, at its first marker and in their order; the address opens the evidence, for people who
    may see it."""
    content, numbers = content_of(message)
    sources = {source["marker"]: source for source in message["sources"]}
    cited = []
    for marker, number in numbers.items():
        start = content.index(mark := f"[{number}]")
        place = {"start_index": start, "end_index": start + len(mark)}
        source = {
            "title": sources[marker]["title"],
            "url": evidence_address(sources[marker], site=site),
        }
        cited.append({"type": "url_citation", "url_citation": place | source})
    return cited


def ragsite(message: Mapping[str, Any], ignored: Sequence[str]) -> dict[str, Any]:
    """What OpenAI has no place for, as `POST /api/chat` answers it, and what was ignored. Each source has its `number`
    in the text, too."""
    _, numbers = content_of(message)
    sources = [{**source, "number": numbers.get(source["marker"])} for source in message["sources"]]
    return {name: message[name] for name in RAGSITE} | {
        "sources": sources,
        "ignored": list(ignored),
    }
