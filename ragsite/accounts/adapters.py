"""How django-allauth signs people in on this site. What is not said here is as allauth has it."""

from __future__ import annotations

import hashlib
import unicodedata
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.account.stages import EmailVerificationStage
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal.httpkit import get_client_ip
from allauth.core.ratelimit import respond_429
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from ragsite.accounts.email import email_queue, site_origin

OIDC = "oidc"  # id of the one provider that the environment names


class AccountAdapter(DefaultAccountAdapter):
    """Rules for names and passwords, and the sending of e-mails."""

    # -------------------------------------------------------------------------------------------- limits on guessing
    def get_client_ip(self, request: HttpRequest) -> str:
        """Behind a socket file there is no address: all come from one proxy."""
        return get_client_ip(request) or "0.0.0.0"  # noqa: S104 -- nobody listens there

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """By the account, whatever host was called: one for all spellings of a name that look the same."""
        name = unicodedata.normalize("NFKC", str(credentials.get("username", ""))).casefold()
        return hashlib.sha256(name.encode()).hexdigest()

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """All doors come by here: sign-in page, administration, token call, a password asked for again."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError as error:
            raise ImmediateHttpResponse(respond_429(request)) from error

    # -------------------------------------------------------------------------------------------- signing in and up
    def get_login_stages(self) -> list[str]:
        ours = f"{ConfirmedEmailStage.__module__}.{ConfirmedEmailStage.__qualname__}"
        return [
            ours if path.endswith(".EmailVerificationStage") else path
            for path in super().get_login_stages()
        ]

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """By the form. Raises ImmediateHttpResponse where it is closed."""
        if settings.SIGNUP == "1":
            return True
        raise ImmediateHttpResponse(render(request, "account/signup_closed.html", status=403))

    def is_safe_url(self, url: str) -> bool:
        """Of this host alone: `next` leads nowhere else."""
        return url_has_allowed_host_and_scheme(url, allowed_hosts={self.request.get_host()})

    # -------------------------------------------------------------------------------------------- e-mails
    def send_password_reset_mail(
        self, user: AbstractBaseUser, email: str, context: dict[str, Any]
    ) -> None:
        """People who sign in by a provider alone have no password here that could be forgotten."""
        if user.has_usable_password():
            super().send_password_reset_mail(user, email, context)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """With links to the site as it is called by itself."""
        origin = site_origin()
        links = {
            name: _moved(value, origin) for name, value in context.items() if name.endswith("_url")
        }
        site = SimpleNamespace(name="Ragsite", domain=origin)
        context = {
            "request": self.request,
            "email": email,
            "current_site": site,
            **context,
            **links,
        }
        message = self.render_mail(template_prefix, email, context)
        email_queue(email, str(message.subject), str(message.body))


class ConfirmedEmailStage(EmailVerificationStage):
    """Accounts without any address, made by an administrator, a command or a provider, sign in as they are."""

    def handle(self) -> Any:
        user = self.login.user
        if user is not None and not self.login.signup and not has_address(user):
            return None, True
        return super().handle()


def has_address(user: Any) -> bool:
    return bool(user.email) or EmailAddress.objects.filter(user=user).exists()


def may_sign_in(user: Any) -> bool:
    """Where e-mail is confirmed: not with one that nobody has confirmed yet."""
    if settings.ACCOUNT_EMAIL_VERIFICATION != "mandatory" or not has_address(user):
        return True
    return EmailAddress.objects.filter(user=user, verified=True).exists()


def _moved(url: Any, origin: str) -> str:
    """The same page, at the site's own origin."""
    home = urlsplit(origin)
    return urlsplit(str(url))._replace(scheme=home.scheme, netloc=home.netloc).geturl()


# ------------------------------------------------------------------------------------------------ OpenID Connect
class SocialAccountAdapter(DefaultSocialAccountAdapter):
    """Of the provider that `RAGSITE_OIDC` names."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return bool(settings.SIGNUP != "0")

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: Any) -> Any:
        """Before an account is looked up by what the provider says.

        `sub` is a person's name at one issuer alone: at another one it may be somebody else's. Some providers tell
        `email_verified` as a text, and “false” would be taken for true.
        """
        issuer = sociallogin.provider.app.settings["server_url"]
        sociallogin.account.uid = uid_at(issuer, sociallogin.account.uid)
        for address in sociallogin.email_addresses:
            address.verified = address.verified in (True, "true")
        return super().populate_user(request, sociallogin, data)

    def can_authenticate_by_email(self, login: Any, email: str) -> bool:
        """Linked to the account of this address where both sides have confirmed it; the provider's side is checked."""
        return EmailAddress.objects.filter(email=email.lower(), verified=True).exists()


def uid_at(issuer: str, subject: str) -> str:
    """What an account of the provider is known by: as long for all issuers, whose addresses have no blanks."""
    return hashlib.sha256(f"{issuer} {subject}".encode()).hexdigest()


def groups_follow(user: User, account: SocialAccount) -> None:
    """Put the user into the groups that the provider's claim stands for, and out of the other ones of the mapping.

    Groups that the mapping does not name stay as they are. With a group that has permissions comes being staff.
    """
    if not settings.OIDC or not settings.OIDC.groups or not settings.OIDC_GROUPS:
        return
    claims = {**account.extra_data.get("id_token", {}), **account.extra_data.get("userinfo", {})}
    claim = claims.get(settings.OIDC.groups)
    values = {
        value for value in (claim if isinstance(claim, list) else [claim]) if isinstance(value, str)
    }
    names = {group for value, group in settings.OIDC_GROUPS.items() if value in values}
    mapped = Group.objects.filter(name__in=settings.OIDC_GROUPS.values())
    user.groups.remove(*mapped.exclude(name__in=names))
    user.groups.add(*mapped.filter(name__in=names))
    if mapped.filter(permissions__isnull=False).exists() and not user.is_superuser:
        user.is_staff = user.groups.filter(permissions__isnull=False).exists()
        user.save(update_fields=["is_staff"])
