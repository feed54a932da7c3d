"""The pages of accounts that allauth has not: the account's own page and what it offers."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from allauth.account.decorators import reauthentication_required
from allauth.account.models import EmailAddress
from allauth.mfa.utils import is_mfa_enabled
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.openid_connect import views as oidc_views
from allauth.usersessions.views import ListUserSessionsView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from requests import RequestException

from ragsite.accounts.adapters import OIDC
from ragsite.accounts.personal_data import LastAdministratorError, deletion_start, export_response
from ragsite.accounts.sessions import browsers_signed_in, device_name, sign_out_everywhere
from ragsite.accounts.tokens import key_list, token_list
from ragsite.core.api.user import asking_user
from ragsite.core.localized import localized


def doors(request: HttpRequest) -> dict[str, Any]:
    """Context of all templates: how accounts are made here, and whether e-mails are sent."""
    return {"SIGNUP": settings.SIGNUP, "SENDS_EMAIL": settings.SENDS_EMAIL}


@require_http_methods(["GET", "POST"])
def oidc_login(request: HttpRequest) -> HttpResponse:
    """allauth's way to the provider. A page leads there, no redirect: browsers hold redirects of a form to the site's
    own policy (`form-action`), and nobody knows how many addresses a provider passes on to."""
    try:
        response: HttpResponse = oidc_views.login(request, provider_id=OIDC)
    except RequestException:
        return render(request, "socialaccount/authentication_error.html", status=503)
    if response.status_code == 302:
        return render(
            request,
            "socialaccount/login_redirect.html",
            {"redirect_to": response.headers["Location"]},
        )
    return response


# ------------------------------------------------------------------------------------------------ the account's page
@require_GET
@login_required
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """What the account has and what can be done with it."""
    user = asking_user(request)
    context = {
        "section": "account",
        "tokens": token_list(user=user),
        "keys": key_list(user=user),
        "signed_in": [
            (session, device_name(session.user_agent)) for session in browsers_signed_in(user)
        ],
        "emails": EmailAddress.objects.filter(user=user).order_by("-primary", "pk"),
        "has_mfa": is_mfa_enabled(user),
        "oidc": settings.OIDC,
        "has_oidc": SocialAccount.objects.filter(user=user).exists(),
    }
    return render(request, "accounts/account.html", context)


# ------------------------------------------------------------------------------------------------ signing out
@require_POST
@login_required
def revoke_token(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """A token or API key of one's own; somebody else's answers 404."""
    get_object_or_404(asking_user(request).api_tokens, pk=token_id).delete()
    messages.success(request, _("Revoked."))
    return redirect("account")


leave_others = ListUserSessionsView.as_view(
    success_url=reverse_lazy("account"), http_method_names=["post"]
)


@require_POST
@login_required
def leave_everywhere(request: HttpRequest) -> HttpResponse:
    """Ends all sessions and tokens of the account, this session too."""
    sign_out_everywhere(user=asking_user(request))
    logout(request)
    return redirect("account_login")


# ------------------------------------------------------------------------------------------------ the person's data
@require_POST
@login_required
def export(request: HttpRequest) -> StreamingHttpResponse:
    """All that the site holds of the person, as a ZIP."""
    return export_response(asking_user(request))


@require_http_methods(["GET", "POST"])
@login_required
@never_cache
@reauthentication_required
def delete_account(request: HttpRequest) -> HttpResponse:
    """Says what goes and what stays; after the press of a button there is no way back. Asks who it is again before."""
    user = asking_user(request)
    context: dict[str, Any] = {}
    if request.method == "POST":
        try:
            deletion_start(user=user)
            logout(request)
            return render(request, "accounts/deleted.html")
        except LastAdministratorError as error:
            context["refusal"] = localized(error.message)
    return render(request, "accounts/delete.html", context)
