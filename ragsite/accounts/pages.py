"""The pages of accounts: signing in and up, forgotten passwords, and the account's own page with all it offers."""

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
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.generic.base import TemplateView
from django.views.generic.edit import FormView
from django.views.i18n import set_language

from ragsite.accounts.browser_sessions import (
    SessionNotFoundError,
    signed_in_end,
    signed_in_end_others,
    signed_in_list,
)
from ragsite.accounts.choices import account_of, choose
from ragsite.accounts.email_links import confirmation_read
from ragsite.accounts.emails import LinkUsedError, OtherAccountError, email_ask, email_confirm, email_remove
from ragsite.accounts.forms import (
    ChangePasswordForm,
    DeleteAccountForm,
    EmailForm,
    ForgottenPasswordForm,
    NewPasswordForm,
    SignInForm,
    SignUpForm,
)
from ragsite.accounts.letters import is_confirmed, letter_queue, letters_are_sent
from ragsite.accounts.personal_data import what_goes, what_stays
from ragsite.accounts.personal_data_jobs import (
    ExportRunsError,
    LastAdministratorError,
    NoExportError,
    deletion_start,
    export_latest,
    export_open,
    export_start,
)
from ragsite.accounts.sign_in_limits import TooManyLettersError, letter_count
from ragsite.accounts.signing_out import sign_out_everywhere
from ragsite.accounts.tokens import TokenNotFoundError, token_list, token_revoke
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError
from ragsite.core.localized import localized
from ragsite.core.wording import worded
from ragsite.models import Account

LINK_SENT = gettext_lazy("A link is on its way to %(email)s. Follow it within 24 hours.")


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


class ForgottenPasswordView(FormView):
    """Sends a link to an address. The page that follows says the same whether or not an account has it."""

    template_name = "accounts/password_reset.html"
    form_class = ForgottenPasswordForm
    success_url = reverse_lazy("password_reset_done")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"sends_letters": letters_are_sent()}

    def form_valid(self, form: ForgottenPasswordForm) -> HttpResponse:
        email = form.cleaned_data["email"]
        try:
            letter_count(self.request, recipient=email)
        except TooManyLettersError as error:
            form.add_error(None, localized(error.message))
            return self.form_invalid(form)
        letter_queue("reset", email=email)
        return super().form_valid(form)


@method_decorator(never_cache, name="dispatch")
class ForgottenPasswordDoneView(TemplateView):
    template_name = "accounts/password_reset_done.html"
    extra_context = {"hours": settings.PASSWORD_RESET_TIMEOUT // 3600}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"sends_letters": letters_are_sent()}


class NewPasswordView(auth_views.PasswordResetConfirmView):
    """Behind the letter's link, which works once: a new password makes it void, and ends all sessions and tokens."""

    template_name = "accounts/password_reset_confirm.html"
    success_url = reverse_lazy("login")
    form_class = NewPasswordForm

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            response = super().form_valid(form)
        messages.success(self.request, _("Your password is changed. Sign in with the new one."))
        return response


# ------------------------------------------------------------------------------------------------ the account's page
@require_GET
@login_required
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """What the account has and what can be done with it."""
    user = asking_user(request)
    chosen = account_of(user)
    context = {
        "section": "account",
        "tokens": token_list(user=user),
        "signed_in": signed_in_list(user=user, own_key=request.session.session_key),
        "account": chosen,
        "email_is_confirmed": is_confirmed(chosen) if chosen.confirmed_email else False,
        "themes": Account.Theme.choices,
        "export": export_latest(user=user, by=user),
    }
    return render(request, "accounts/account.html", context)


@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """The language switch of all pages: Django's, and with an account it is kept there."""
    language = request.POST.get("language", "")
    if request.user.is_authenticated and language in dict(settings.LANGUAGES):
        choose(user=asking_user(request), language=language, session=request.session)
    return set_language(request)


@require_POST
@login_required
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Without scripts; with them the page calls the API."""
    theme = request.POST.get("theme", "")
    if theme in Account.Theme.values:
        choose(user=asking_user(request), theme=theme, session=request.session)
    return redirect("account")


@method_decorator([login_required, never_cache, sensitive_post_parameters()], name="dispatch")
class EmailView(FormView):
    """Gives, changes or takes away the address; asks for the password."""

    template_name = "accounts/email.html"
    form_class = EmailForm
    success_url = reverse_lazy("account")

    def get_initial(self) -> dict[str, Any]:
        user = asking_user(self.request)
        chosen = account_of(user)
        return {"email": chosen.pending_email or chosen.confirmed_email or user.email}

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"user": asking_user(self.request), "request": self.request}

    def form_valid(self, form: EmailForm) -> HttpResponse:
        user, email = form.user, form.cleaned_data["email"]
        if not email:
            email_remove(user=user)
            messages.success(self.request, _("Your account has no e-mail address now."))
            return super().form_valid(form)
        try:
            email_ask(user=user, email=email, request=self.request)
        except TooManyLettersError as error:
            form.add_error(None, localized(error.message))
            return self.form_invalid(form)
        messages.success(self.request, LINK_SENT % {"email": email})
        return super().form_valid(form)


@require_POST
@login_required
def send_email_link_again(request: HttpRequest) -> HttpResponse:
    """To the address that waits to be confirmed."""
    user = asking_user(request)
    if email := account_of(user).pending_email:
        try:
            email_ask(user=user, email=email, request=request)
            messages.success(request, LINK_SENT % {"email": email})
        except TooManyLettersError as error:
            messages.error(request, localized(error.message))
    return redirect("account")


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def confirm_email(request: HttpRequest, token: str) -> HttpResponse:
    """Behind a letter's link. A press of the button confirms: programs that look at links in letters open them too."""
    user = asking_user(request)
    try:
        link = confirmation_read(token)
        if link.user_id == user.pk and link.email == account_of(user).confirmed_email:
            raise LinkUsedError(worded("This address is confirmed already."))
        if link.user_id != user.pk:
            raise OtherAccountError
        if request.method == "POST":
            email_confirm(user=user, token=token)
            messages.success(request, _("Your e-mail address is confirmed."))
            return redirect("account")
        if link.email != account_of(user).pending_email:
            raise LinkUsedError
    except AppError as error:
        return render(
            request, "accounts/email_confirm.html", {"refusal": localized(error.message)}, status=error.status
        )
    return render(request, "accounts/email_confirm.html", {"email": link.email})


# ------------------------------------------------------------------------------------------------ signing out
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
def leave_browser(request: HttpRequest, session_id: str) -> HttpResponse:
    """Signs one browser out; somebody else's answers 404."""
    try:
        signed_in_end(user=asking_user(request), session_id=session_id)
    except SessionNotFoundError as error:
        raise Http404 from error
    messages.success(request, _("That browser is signed out."))
    return redirect("account")


@require_POST
@login_required
def leave_others(request: HttpRequest) -> HttpResponse:
    """Signs all browsers out but this one; tokens stay."""
    signed_in_end_others(user=asking_user(request), own_key=request.session.session_key)
    messages.success(request, _("All other browsers are signed out."))
    return redirect("account")


@require_POST
@login_required
def leave_everywhere(request: HttpRequest) -> HttpResponse:
    """Ends all sessions and tokens of the account, this session too."""
    sign_out_everywhere(user=asking_user(request))
    logout(request)
    return redirect("login")


# ------------------------------------------------------------------------------------------------ the person's data
@require_POST
@login_required
def start_export(request: HttpRequest) -> HttpResponse:
    """Without scripts; with them the page calls the API."""
    user = asking_user(request)
    try:
        export_start(user=user, by=user)
    except ExportRunsError as error:
        messages.error(request, localized(error.message))
    return redirect(reverse("account") + "#export")


@require_GET
@login_required
@never_cache
def fetch_export(request: HttpRequest, job_id: UUID) -> FileResponse:
    """The ZIP, streamed, only for who asked for it."""
    try:
        file = export_open(job_id=job_id, by=asking_user(request))
    except NoExportError as error:
        raise Http404 from error
    response = FileResponse(file, as_attachment=True, filename="ragsite-data.zip", content_type="application/zip")
    response["X-Content-Type-Options"] = "nosniff"
    return response


@method_decorator([login_required, never_cache, sensitive_post_parameters()], name="dispatch")
class DeleteAccountView(FormView):
    """Says what goes and what stays, asks for the password, and then it is done: there is no way back."""

    template_name = "accounts/delete.html"
    form_class = DeleteAccountForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"user": asking_user(self.request), "request": self.request}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = asking_user(self.request)
        held = {"goes": [localized(held.what) for held in what_goes(user)]}
        return (
            super().get_context_data(**kwargs) | held | {"stays": [localized(held.what) for held in what_stays(user)]}
        )

    def form_valid(self, form: DeleteAccountForm) -> HttpResponse:
        try:
            deletion_start(user=form.user, by=form.user)
        except LastAdministratorError as error:
            form.add_error(None, localized(error.message))
            return self.form_invalid(form)
        logout(self.request)
        return render(self.request, "accounts/deleted.html")
