"""Errors that a user may see, and their one mapping to HTTP.

Every public error of every app derives from `AppError`. The message is one sentence that says what to do; it never
holds a stack trace, a prompt, a path or a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragsite.core.messages import worded

MOST_ERRORS = 20  # that one answer tells


class AppError(Exception):
    """Base of all errors that users see.

    `code` is stable and machine-readable; `status` is the HTTP status; `fields` names the wrong inputs;
    `retry_after_s` becomes the `Retry-After` header.
    """

    code = "error"
    status = 400
    message: str = worded("The request could not be carried out.")
    retry_after_s: int | None = None

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        status: int | None = None,
        fields: Mapping[str, Any] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        self.message = message or self.message
        self.code = code or self.code
        self.status = status or self.status
        self.fields = dict(fields or {})
        self.retry_after_s = retry_after_s or self.retry_after_s
        super().__init__(self.message)


class InvalidInputError(AppError):
    """400; `fields` says what is wrong with which input."""

    code = "invalid"
    status = 400
    message: str = worded("Some of the input is not valid; see the fields.")


class NotAuthenticatedError(AppError):
    code = "not_authenticated"
    status = 401
    message: str = worded("Sign in, or send a token.")


class PermissionDeniedError(AppError):
    """403: it is there and may be seen, but not changed."""

    code = "permission_denied"
    status = 403
    message: str = worded("You are not allowed to do this.")


class NotFoundError(AppError):
    """Not there and not yours answer alike."""

    code = "not_found"
    status = 404
    message: str = worded("There is nothing here, or you may not see it.")


class ConflictError(AppError):
    code = "conflict"
    status = 409
    message: str = worded("This cannot be done right now; try again in a moment.")


class TooLargeError(AppError):
    code = "too_large"
    status = 413
    message: str = worded("This is too large; send something smaller.")


class UnsupportedFileError(AppError):
    code = "unsupported_file_type"
    status = 415
    message: str = worded(
        "This kind of file cannot be read. Those that can: PDF, Word (docx), PowerPoint (pptx), Excel (xlsx),"
        " OpenDocument (odt, ods), RTF, e-mail (eml, msg), EPUB, HTML, MHTML, Markdown, CSV, text and pictures"
        " (png, jpg, tiff, webp)."
    )


class RateLimitedError(AppError):
    code = "rate_limited"
    status = 429
    message: str = worded("Too many requests; wait a little and try again.")


class StorageFullError(AppError):
    code = "storage_full"
    status = 507
    message: str = worded(
        "The disk of the site is full, so nothing was stored; tell an administrator, and try again later."
    )


class QuotaExceededError(AppError):
    code = "quota_exceeded"
    status = 507
    message: str = worded("Your documents use all the space that is allowed. Delete some first.")


class UnavailableError(AppError):
    """A dependency is away and there is no fallback."""

    code = "unavailable"
    status = 503
    message: str = worded("A part of the site is not reachable at the moment; try again shortly.")
    retry_after_s = 5
