"""The one mapping of exceptions to the contract's error form."""

from __future__ import annotations

import logging
import math
import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFilesSent
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from redis.exceptions import RedisError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from ragsite.core.database import DatabaseAwayError, is_database_away
from ragsite.core.errors import (
    AppError,
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
    StorageFullError,
    TooLargeError,
    UnavailableError,
)
from ragsite.core.localized import localized
from ragsite.core.storage import is_lack_of_room
from ragsite.core.wording import worded

logger = logging.getLogger(__name__)

CODES = {
    400: "invalid",
    401: "not_authenticated",
    403: "permission_denied",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
}


def as_app_error(error: Exception) -> AppError | None:
    """Django's and DRF's plain exceptions as ours, or None where DRF knows better."""
    if isinstance(error, AppError):
        return error
    if isinstance(error, Http404 | exceptions.NotFound):
        return NotFoundError()
    if isinstance(error, PermissionDenied):
        return PermissionDeniedError()
    if isinstance(error, RequestDataTooBig | TooManyFilesSent):
        return TooLargeError(worded("The request is too large; send less at once."))
    if isinstance(error, exceptions.ValidationError):
        return InvalidInputError(fields=(error.detail if isinstance(error.detail, dict) else {"detail": error.detail}))
    return _dependency_away(error)


def _dependency_away(error: BaseException | None) -> AppError | None:
    """What can be neither read nor written now is no bug: 507 on a full disk, else 503 and when to come back."""
    if is_lack_of_room(error):
        return StorageFullError()
    if is_database_away(error):
        logger.warning("a request was refused, the database is away: %s", error)
        return DatabaseAwayError()
    if isinstance(error, RedisError):
        logger.warning("a request was refused, Redis is away: %s", error)
        return UnavailableError()
    return None


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler: `{"error": {"code", "message", "fields"}}` for everything that is not a bug."""
    if app_error := as_app_error(error):
        set_rollback()
        headers = {"Retry-After": str(app_error.retry_after_s)} if app_error.retry_after_s else None
        return Response(localized(app_error.as_dict()), status=app_error.status, headers=headers)
    response = drf_exception_handler(error, context)
    if response is None:
        return None
    detail = response.data.get("detail", "") if isinstance(response.data, dict) else ""
    response.data = {
        "error": {
            "code": CODES.get(response.status_code, "error"),
            "message": str(detail) or localized(AppError.message),
            "fields": {},
        }
    }
    wait_s = getattr(error, "wait", None)  # of Throttled
    if wait_s is not None:
        response["Retry-After"] = str(math.ceil(wait_s))
    return response


def json_error(error: AppError) -> JsonResponse:
    """The same form from plain Django views."""
    response = JsonResponse(localized(error.as_dict()), status=error.status)
    if error.retry_after_s:
        response["Retry-After"] = str(error.retry_after_s)
    return response


def _page_error(request: HttpRequest, *, status: int, code: str, message: str) -> HttpResponse:
    message = localized(message)
    if request.path.startswith(("/api/", "/healthz", "/readyz")):
        return JsonResponse({"error": {"code": code, "message": message, "fields": {}}}, status=status)
    return render(request, "error.html", {"status": status, "message": message}, status=status)


def not_found(request: HttpRequest, exception: Exception | None = None) -> Any:
    """Django's handler404."""
    return _page_error(request, status=404, code="not_found", message=NotFoundError.message)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> Any:
    """Django's handler403."""
    return _page_error(request, status=403, code="permission_denied", message=PermissionDeniedError.message)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> Any:
    """Django's handler400."""
    return _page_error(request, status=400, code="invalid", message=worded("The request could not be understood."))


def too_many(request: HttpRequest) -> HttpResponse:
    """Where allauth's limits refuse."""
    message = worded("Too many attempts; wait a few minutes and try again.")
    response = _page_error(request, status=429, code="rate_limited", message=message)
    response["Retry-After"] = str(settings.LOGIN_WINDOW_S)
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Called while the exception is being handled, wherever it came from: a view, a middleware, a template."""
    if away := _dependency_away(sys.exception()):
        response = _page_error(request, status=away.status, code=away.code, message=away.message)
        if away.retry_after_s:
            response["Retry-After"] = str(away.retry_after_s)
        return response
    return _page_error(
        request, status=500, code="internal", message=worded("Something went wrong on our side; it has been logged.")
    )
