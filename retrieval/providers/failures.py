"""What can go wrong between us and Ollama, as the engine's errors with a reason that a person understands.

The clients wrap nothing: HTTP errors and error lines come as `ollama.ResponseError` (-1 for a line in a stream), broken
connections as httpx's errors, a server that is down as `httpx.ConnectError` or, from the embeddings client, the builtin
ConnectionError, and broken lines as ValueError, AttributeError or TypeError, wherever parsing stumbled.
"""

from __future__ import annotations

import json

import httpx
from ollama import ResponseError

from ragsite.core.text import shortened
from ragsite.core.wording import worded
from retrieval.errors import (
    ModelError,
    ModelInterruptedError,
    ModelOutputError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from retrieval.providers.breaker import ModelMissingError

FAILURES = (httpx.HTTPError, ResponseError, OSError, TimeoutError, ValueError, AttributeError, TypeError)
MAX_DETAIL_CHARS = 160


def explain(error: Exception, *, model: str, server: str, limit_s: float, begun: bool = False) -> ModelError:
    """The engine's error for one of `FAILURES`.

    limit_s: the time limit that a timeout ran into. begun: part of the answer had come, so it is an interruption.
    """
    failure = _explain(error, model=model, server=server, limit_s=limit_s)
    if not begun:
        return failure
    if isinstance(failure, ModelTimeoutError):
        return ModelInterruptedError(
            worded("the answer broke off: nothing more came from Ollama for {limit_s:g} s", limit_s=limit_s)
        )
    return ModelInterruptedError(worded("the answer broke off: {reason}", reason=failure.reason))


def _explain(error: Exception, *, model: str, server: str, limit_s: float) -> ModelError:
    match error:
        case ResponseError():
            return _response_error(error, model)
        case httpx.ConnectError() | httpx.ConnectTimeout() | ConnectionRefusedError():
            return ModelUnavailableError(worded("Ollama is not reachable at {server}", server=server))
        case httpx.TimeoutException() | TimeoutError():
            return ModelTimeoutError(worded("Ollama timed out after {limit_s:g} s", limit_s=limit_s))
        case httpx.HTTPError():
            return ModelUnavailableError(worded("Ollama closed the connection"))
        case OSError():  # also the embeddings client's own ConnectionError
            return ModelUnavailableError(worded("Ollama is not reachable at {server}", server=server))
        case json.JSONDecodeError() | AttributeError() | TypeError():
            return ModelOutputError(worded("Ollama sent something that could not be read"))
        case _:
            return ModelOutputError(worded("model '{model}' gave no answer", model=model))


def _response_error(error: ResponseError, model: str) -> ModelError:
    detail = _detail(error.error)
    match error.status_code:
        case 404:
            return ModelMissingError(not_installed(model))
        case 400 if "does not support" in error.error:
            return ModelMissingError(worded("model '{model}' can't do this: {detail}", model=model, detail=detail))
        case 400:
            return ModelOutputError(worded("Ollama refused the request: {detail}", detail=detail))
        case 401 | 403 as status:
            return ModelMissingError(worded("Ollama refuses access (HTTP {status})", status=status))
        case 503:
            return ModelUnavailableError(worded("Ollama is too busy: its queue is full"))
        case -1:
            return ModelUnavailableError(worded("Ollama failed: {detail}", detail=detail))
        case status:
            return ModelUnavailableError(
                worded("Ollama failed (HTTP {status}): {detail}", status=status, detail=detail)
            )


def is_busy(error: Exception) -> bool:
    """Worth one more try a moment later."""
    return isinstance(error, ResponseError) and error.status_code == 503


def refuses_think(error: Exception) -> bool:
    """The server does not let this model be told whether to think."""
    return isinstance(error, ResponseError) and error.status_code == 400 and "think" in error.error.lower()


def not_installed(model: str) -> str:
    """The reason, with the command that mends it."""
    return worded("model '{model}' is not installed: ollama pull {model}", model=model)


def _detail(text: str) -> str:
    """The server's own words, one short line of them."""
    line = (text.strip().splitlines() or [""])[0]
    return shortened(line, MAX_DETAIL_CHARS)
