"""Answers as OpenAI's objects: `chat.completion`, its chunks, annotations, and errors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from chat.messages.data import evidence_address
from chat.messages.rendering import MARKER

RAGSITE = ("decision", "clarification", "status", "sources", "decision_path", "degraded", "usage", "message_id")
ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def options_of(message: Mapping[str, Any]) -> str:
    """What follows the text of an answer that asks back: its options, as a list."""
    options = (message["clarification"] or {}).get("options", ())
    return "\n".join(["\n", *(f"- {option}" for option in options)]) if options else ""


def completion(message: Mapping[str, Any], *, model: str, site: str) -> dict[str, Any]:
    """A whole answer. site: the address that those of documents begin with."""
    content = message["answer"] + options_of(message)
    choice = {
        "index": 0,
        "message": {
            "role": "assistant", "content": content, "refusal": None, "annotations": citations(message, site=site),
        },
        "logprobs": None,
        "finish_reason": finish_reason(message),
    }  # fmt: skip
    about = _about(message["message_id"], "chat.completion", model)
    return {**about, "choices": [choice], "usage": usage(message), "ragsite": ragsite(message)}


class Chunks:
    """The pieces of one streamed answer."""

    def __init__(self, message_id: str, *, model: str) -> None:
        self._about = _about(message_id, "chat.completion.chunk", model)

    def delta(self, **delta: Any) -> dict[str, Any]:
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}])

    def last(self, message: Mapping[str, Any], *, site: str, with_usage: bool) -> Iterator[dict[str, Any]]:
        """After the text: what is left of it, annotations, why it ends; and usage where it was asked for."""
        if options := options_of(message):
            yield self.delta(content=options)
        if cited := citations(message, site=site):
            yield self.delta(annotations=cited)
        choice = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": finish_reason(message)}
        yield self._chunk([choice]) | {"ragsite": ragsite(message)}
        if with_usage:
            yield self._chunk([]) | {"usage": usage(message)}

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {**self._about, "choices": choices}


def _about(message_id: str, kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{message_id}", "object": kind, "created": int(time.time()), "model": model}


def finish_reason(message: Mapping[str, Any]) -> str:
    return "length" if message["status"] == "cut" else "stop"


def usage(message: Mapping[str, Any]) -> dict[str, int]:
    prompt, written = (message["usage"].get(name) or 0 for name in ("prompt_tokens", "completion_tokens"))
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


def citations(message: Mapping[str, Any], *, site: str) -> list[dict[str, Any]]:
    """One of each cited source, at its first marker; the address opens the evidence, for who may see it."""
    places = {int(match[1]): match.span() for match in reversed(list(MARKER.finditer(message["answer"])))}
    cited = [source for source in message["sources"] if source["cited"] and source["marker"] in places]
    return [{"type": "url_citation", "url_citation": _citation(source, places, site)} for source in cited]


def _citation(source: Mapping[str, Any], places: Mapping[int, tuple[int, int]], site: str) -> dict[str, Any]:
    start, end = places[source["marker"]]
    return {
        "start_index": start, "end_index": end, "title": source["title"], "url": evidence_address(source, site=site),
    }  # fmt: skip


def ragsite(message: Mapping[str, Any]) -> dict[str, Any]:
    """What OpenAI has no place for, as `POST /api/chat` answers it."""
    return {name: message[name] for name in RAGSITE}


def error_body(error: Mapping[str, Any], *, status: int) -> dict[str, Any]:
    """Our `{"code", "message", "fields"}` as OpenAI's clients read it."""
    param = next(iter(error["fields"]), None)
    param = "messages" if param == "message" else param  # as it is called here
    told = _reason(error["fields"])
    return {
        "error": {
            "message": f"{param}: {told}" if told and error["code"] == "invalid" else error["message"],
            "type": ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error"),
            "param": param,
            "code": error["code"],
            "fields": error["fields"],
        }
    }


def _reason(fields: Any) -> str:
    """The first sentence, however deep it stands."""
    match fields:
        case Mapping():
            return _reason(next(iter(fields.values()), ""))
        case list() | tuple():
            return _reason(fields[0] if fields else "")
    return str(fields)
