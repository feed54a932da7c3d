"""The one mapping of exceptions to the contract's error form; at `/v1` to OpenAI's, which its clients read."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.http import Http404, HttpRequest, JsonResponse
from django.shortcuts import render
from redis.exceptions import RedisError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from ragsite.core.database import DatabaseAwayError, is_database_away
from ragsite.core.errors import (
    MOST_ERRORS,
    AppError,
    InvalidInputError,
    NotAuthenticatedError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitedError,
    StorageFullError,
    TooLargeError,
    UnavailableError,
)
from ragsite.core.localized import localized
from ragsite.core.messages import joined, worded
from ragsite.core.storage import is_lack_of_room

logger = logging.getLogger(__name__)

OPENAI = "/v1/"
OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
# MOST_ERRORS of both, each character as \uXXXX, are below 64 KiB
NAME_CHARS = 100
SENTENCE_CHARS = 400
OPENAI_CODES = {"budget_used_up": "insufficient_quota"}  # clients know not to try again
CODES = {
    400: "invalid",
    401: "not_authenticated",
    429: "rate_limited",
}  # REST framework's own codes are others


def as_app_error(error: Exception) -> AppError | None:
    """Django's and DRF's plain exceptions as ours, or None where DRF knows better."""
    if isinstance(error, AppError):
        return error
    if isinstance(error, Http404 | exceptions.NotFound):
        return NotFoundError()
    if isinstance(error, PermissionDenied):
        return PermissionDeniedError()
    if isinstance(error, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent):
        return TooLargeError(worded("The request is too large; send less at once."))
    if isinstance(error, exceptions.ValidationError):
        return InvalidInputError(
            fields=(error.detail if isinstance(error.detail, dict) else {"detail": error.detail})
        )
    return _dependency_away(error)


def _dependency_away(error: BaseException | None) -> AppError | None:
    """What can be neither read nor written now is no bug: 507 on a full disk, else 503 and when to come back."""
    if isinstance(error, UnavailableError):
        return error
    if is_lack_of_room(error):
        return StorageFullError()
    if is_database_away(error):
        logger.warning("a request was refused, the database is away: %s", error)
        return DatabaseAwayError()
    if isinstance(error, RedisError):
        logger.warning("a request was refused, Redis is away: %s", error)
        return UnavailableError()
    return None


class InternalError(AppError):
    code = "internal"
    status = 500
    message = worded("Something went wrong on our side; it has been logged.")


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler: `{"error": {"code", "message", "fields"}}` for everything that is not a bug."""
    if app_error := as_app_error(error):
        set_rollback()
        data = error_data(app_error, path=context["request"].path)
        return _with_retry_after(Response(data, status=app_error.status), app_error)
    response = drf_exception_handler(error, context)
    if response is None:
        return None
    detail = response.data.get("detail", "") if isinstance(response.data, dict) else ""
    code = CODES.get(response.status_code) or getattr(error, "default_code", "error")
    shown = AppError(_what_to_do(error, context["view"]) or str(detail), code=code)
    response.data = _in_form(told(shown), path=context["request"].path, status=response.status_code)
    return response


def _what_to_do(error: Exception, view: Any) -> str | None:
    """Where REST framework's sentence only says what is wrong."""
    match error:
        case exceptions.NotAuthenticated():
            return NotAuthenticatedError.message
        case exceptions.UnsupportedMediaType():
            types = joined(", ", (parser.media_type for parser in view.parser_classes))
            return worded(
                "Send the body as {types}, and say so in the header Content-Type.", types=types
            )
        case exceptions.MethodNotAllowed():
            methods = joined(", ", view.allowed_methods)
            return worded(
                "This address takes {methods}; /api/schema describes it.", methods=methods
            )
    return None


def told(error: AppError) -> dict[str, Any]:
    """`{"code", "message", "fields"}` in the active language, for every door: below 64 KiB, whatever was sent."""
    fields, count = _first_sentences(localized(error.fields))
    message = error.message
    if count == MOST_ERRORS:
        message = worded(
            "{message} Only the first {count} errors are listed.", message=message, count=count
        )
    return {
        "code": error.code,
        "message": str(localized(message))[:SENTENCE_CHARS],
        "fields": fields,
    }


def _first_sentences(fields: Any) -> tuple[Any, int]:
    """What is wrong as far as MOST_ERRORS sentences tell it, and how many those are."""
    count = 0

    def first(part: Any) -> Any:
        nonlocal count
        match part:
            case Mapping():
                kept = {}
                for name, inner in part.items():
                    if count < MOST_ERRORS:
                        kept[str(name)[:NAME_CHARS]] = first(inner)
                return kept
            case list() | tuple():
                return [first(inner) for inner in part if count < MOST_ERRORS]
        count += 1
        return str(part)[:SENTENCE_CHARS]

    return first(fields), count


def sentences(fields: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The path of its field (`filters.tags.0`), and what is wrong with it."""
    match fields:
        case Mapping():
            for name, part in fields.items():
                yield from sentences(part, f"{path}.{name}" if path else str(name))
        case list() | tuple():
            for part in fields:
                yield from sentences(part, path)
        case _:
            yield path, str(fields)


def json_error(error: AppError, *, path: str = "") -> JsonResponse:
    """The same form from plain Django views."""
    return _with_retry_after(JsonResponse(error_data(error, path=path), status=error.status), error)


def error_data(error: AppError, *, path: str) -> dict[str, Any]:
    """The body, in the active language. path: that was called."""
    return _in_form(told(error), path=path, status=error.status)


def _in_form(error: dict[str, Any], *, path: str, status: int) -> dict[str, Any]:
    return openai_error(error, status=status) if path.startswith(OPENAI) else {"error": error}


def openai_error(error: Mapping[str, Any], *, status: int) -> dict[str, Any]:
    """Our `{"code", "message", "fields"}` as OpenAI's clients read it."""
    param = next(iter(error["fields"]), None)
    param = "messages" if param == "message" else param  # as it is called here
    _, reason = next(sentences(error["fields"]), ("", ""))
    code = OPENAI_CODES.get(error["code"], error["code"])
    kind = OPENAI_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {
        "error": {
            "message": f"{param}: {reason}"
            if reason and error["code"] == "invalid"
            else error["message"],
            "type": kind if code == error["code"] else code,
            "param": param,
            "code": code,
            "fields": error["fields"],
        }
    }


def _with_retry_after(response: Any, error: AppError) -> Any:
    if error.retry_after_s:
        response["Retry-After"] = str(error.retry_after_s)
    return response


def page_error(request: HttpRequest, error: AppError) -> Any:
    """For a person a page, for a program the form."""
    if request.path.startswith(("/api/", OPENAI, "/healthz", "/readyz")):
        return json_error(error, path=request.path)
    context = {"status": error.status, "message": localized(error.message)}
    return _with_retry_after(render(request, "error.html", context, status=error.status), error)


def not_found(request: HttpRequest, exception: Exception | None = None) -> Any:
    return page_error(request, NotFoundError())


def forbidden(request: HttpRequest, exception: Exception | None = None) -> Any:
    return page_error(request, PermissionDeniedError())


def bad_request(request: HttpRequest, exception: Exception | None = None) -> Any:
    return page_error(request, InvalidInputError(worded("The request could not be understood.")))


def too_many(request: HttpRequest) -> Any:
    """Where allauth's limits refuse."""
    message = worded("Too many attempts; wait a few minutes and try again.")
    return page_error(request, RateLimitedError(message, retry_after_s=settings.LOGIN_WINDOW_S))


def server_error(request: HttpRequest) -> Any:
    """Called while the exception is being handled, wherever it came from: a view, a middleware, a template."""
    return page_error(request, _dependency_away(sys.exception()) or InternalError())
