"""The pages of accounts: signing in and up, the password, tokens, signing out everywhere."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST
from django.views.generic.edit import FormView

from ragsite.accounts.forms import ChangePasswordForm, SignInForm, SignUpForm
from ragsite.accounts.signing_out import sign_out_everywhere
from ragsite.accounts.tokens import TokenNotFoundError, token_list, token_revoke
from ragsite.core.api.user import asking_user


class SignInView(auth_views.LoginView):
    """`/accounts/login/`."""

    template_name = "accounts/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"signup_open": settings.SIGNUP_OPEN}


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SignUpView(auth_views.RedirectURLMixin, FormView):
    """Makes an account and signs in; goes on to `next` where that is an address of ours."""

    template_name = "accounts/signup.html"
    form_class = SignUpForm
    next_page = "chat"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not settings.SIGNUP_OPEN:
            return render(request, "accounts/signup_closed.html", status=403)
        if request.user.is_authenticated:
            return HttpResponseRedirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"request": self.request}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"next": self.get_redirect_url()}

    def get_success_url(self) -> str:
        return self.get_redirect_url() or reverse("chat")

    def form_valid(self, form: SignUpForm) -> HttpResponse:
        try:
            user = form.save()
        except ValidationError as error:
            form.add_error(None, error)
            return self.form_invalid(form)
        login(self.request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
        return super().form_valid(form)


class ChangePasswordView(auth_views.PasswordChangeView):
    """Ends all other sessions of the account, and its tokens, in one transaction with the new password."""

    template_name = "accounts/password_change.html"
    success_url = reverse_lazy("password_change_done")
    form_class = ChangePasswordForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            return super().form_valid(form)


class PasswordChangedView(auth_views.PasswordChangeDoneView):
    """Says that the password was changed."""

    template_name = "accounts/password_change_done.html"


@require_GET
@login_required
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """The account's page: its tokens, and the ways to sign out."""
    tokens = token_list(user=asking_user(request))
    return render(request, "accounts/account.html", {"section": "account", "tokens": tokens})


@require_POST
@login_required
def revoke_token(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """A token of one's own; somebody else's answers 404."""
    try:
        token_revoke(user=asking_user(request), token_id=token_id)
    except TokenNotFoundError as error:
        raise Http404 from error
    messages.success(request, _("The token is revoked."))
    return redirect("account")


@require_POST
@login_required
def leave_everywhere(request: HttpRequest) -> HttpResponse:
    """Ends all sessions and tokens of the account, this session too."""
    sign_out_everywhere(user=asking_user(request))
    logout(request)
    return redirect("login")
