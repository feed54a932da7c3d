"""One error form for everything that is not a bug."""

from __future__ import annotations

from django.http import Http404
from rest_framework.exceptions import Throttled, ValidationError

from ragsite.core.api.error_responses import exception_handler
from ragsite.core.errors import ConflictError, RateLimitedError


def body(error: Exception) -> tuple[int, str, dict]:
    response = exception_handler(error, {})
    assert response is not None
    return response.status_code, response.data["error"]["code"], response.data["error"]["fields"]


def test_an_app_error_keeps_its_code_and_status() -> None:
    assert body(ConflictError()) == (409, "conflict", {})


def test_validation_names_the_fields() -> None:
    assert body(ValidationError({"top_k": ["Too large."]})) == (400, "invalid", {"top_k": ["Too large."]})


def test_what_cannot_be_encoded_is_not_quoted_back() -> None:
    fields = body(ValidationError({"\ud800": ['"\ud83d" is not a valid choice.', "有效"]}))[2]
    assert fields == {"?": ['"?" is not a valid choice.', "有效"]}


def test_not_found_of_django_has_the_same_form() -> None:
    assert body(Http404())[:2] == (404, "not_found")


def test_rate_limits_say_when_to_come_back() -> None:
    for error in (RateLimitedError(retry_after_s=7), Throttled(wait=6.2)):
        response = exception_handler(error, {})
        assert response is not None
        assert (response.status_code, response["Retry-After"]) == (429, "7")


def test_a_bug_is_left_to_the_server() -> None:
    assert exception_handler(RuntimeError("x"), {}) is None
