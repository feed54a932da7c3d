"""Links that confirm an e-mail address: signed, good for a day, for one account and one address."""

from __future__ import annotations

from dataclasses import dataclass

from django.core import signing

from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded

SALT = "ragsite.email_confirmation"
GOOD_FOR_S = 24 * 3600


class LinkNotValidError(InvalidInputError):
    """Not one of ours, or cut off."""

    code = "link_not_valid"
    message = worded("This link is not complete; copy all of it from the e-mail, or ask for a new one.")


class LinkExpiredError(InvalidInputError):
    code = "link_expired"
    message = worded("This link is too old; ask for a new one.")


@dataclass(frozen=True, slots=True)
class Confirmation:
    user_id: int
    email: str


def confirmation_token(*, user_id: int, email: str) -> str:
    return signing.dumps([user_id, email], salt=SALT, compress=True)


def confirmation_read(token: str) -> Confirmation:
    """Raises LinkNotValidError, LinkExpiredError."""
    try:
        user_id, email = signing.loads(token, salt=SALT, max_age=GOOD_FOR_S)
    except signing.SignatureExpired as error:
        raise LinkExpiredError from error
    except (signing.BadSignature, ValueError) as error:
        raise LinkNotValidError from error
    return Confirmation(user_id, email)
