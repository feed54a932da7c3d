"""The e-mail address of an account: optional, confirmed by a link, the only one that letters go to.

Two accounts may have the same address: refusing it would tell who has an account.
"""

from __future__ import annotations

from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

from ragsite.accounts.choices import account_of
from ragsite.accounts.email_links import confirmation_read
from ragsite.accounts.letters import is_confirmed, letter_queue
from ragsite.accounts.sign_in_limits import letter_count
from ragsite.core.errors import ConflictError
from ragsite.core.wording import worded
from ragsite.models import Account


class OtherAccountError(ConflictError):
    code = "other_account"
    message = worded("This link is for another account; sign in with that one and open it again.")


class LinkUsedError(ConflictError):
    code = "link_used"
    message = worded("This link was used already, or another address was given since.")


def email_ask(*, user: User, email: str, request: HttpRequest) -> None:
    """Send a link to it; until that is followed, the address before stays in use. Raises TooManyLettersError."""
    letter_count(request, recipient=email)
    Account.objects.update_or_create(user=user, defaults={"pending_email": email})
    transaction.on_commit(partial(letter_queue, "confirm", user_id=user.pk, email=email))


@transaction.atomic
def email_confirm(*, user: User, token: str) -> str:
    """The address that is in use from now on; the one before is told.

    Only its own account may follow a link: a letter that went astray must not give a stranger the account. Raises
    LinkNotValidError, LinkExpiredError, OtherAccountError, LinkUsedError.
    """
    link = confirmation_read(token)
    if link.user_id != user.pk:
        raise OtherAccountError
    account = Account.objects.select_for_update().select_related("user").filter(user=user).first()
    if account is None or account.pending_email != link.email:
        raise LinkUsedError
    before = account.confirmed_email if is_confirmed(account) else ""
    account.confirmed_email, account.pending_email = link.email, ""
    account.save(update_fields=["confirmed_email", "pending_email"])
    user.email = link.email
    user.save(update_fields=["email"])
    _tell(user, before, link.email)
    return link.email


@transaction.atomic
def email_remove(*, user: User) -> None:
    """Without an address a forgotten password can't be replaced by e-mail. The address is told."""
    account = account_of(user)
    before = account.confirmed_email if is_confirmed(account) else ""
    Account.objects.filter(user=user).update(confirmed_email="", pending_email="")
    user.email = ""
    user.save(update_fields=["email"])
    _tell(user, before, "")


def _tell(user: User, before: str, after: str) -> None:
    if before and before.casefold() != after.casefold():
        transaction.on_commit(partial(letter_queue, "address_changed", user_id=user.pk, email=before))
