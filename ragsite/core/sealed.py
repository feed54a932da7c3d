"""Secrets that the site has to know again, such as passwords of other systems: encrypted with its own key."""

from __future__ import annotations

import base64
import json
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.utils.crypto import salted_hmac

from ragsite.core.errors import ConflictError
from ragsite.core.messages import worded


class SealBrokenError(ConflictError):
    code = "seal_broken"
    message = worded(
        "The site's secret key has changed since this was stored. Enter the credentials again."
    )


def seal(value: Any) -> str:
    return _fernet().encrypt(json.dumps(value).encode()).decode()


def unseal(text: str) -> Any:
    """Raises SealBrokenError."""
    try:
        return json.loads(_fernet().decrypt(text.encode()))
    except InvalidToken as error:
        raise SealBrokenError from error


def _fernet() -> Fernet:
    digest = salted_hmac("ragsite.sealed", "", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(digest))
