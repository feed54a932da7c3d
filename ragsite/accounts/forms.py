"""The forms of accounts. Too many guesses are an error of the form, as a wrong password is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import (
    AdminPasswordChangeForm,
    AuthenticationForm,
    PasswordChangeForm,
    SetPasswordForm,
    UserCreationForm,
)
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ragsite.accounts.choices import language_first_chosen
from ragsite.accounts.emails import email_ask
from ragsite.accounts.sign_in_limits import TooManyLettersError, attempt_begin, sign_up_count, sign_up_remember
from ragsite.core.errors import RateLimitedError
from ragsite.core.localized import localized

PASSWORD_RULES = gettext_lazy(
    "At least 8 characters. Not your name, not only digits, and not one that many people use; a few words together are "
    "easy to remember."
)
NAME_RULES = gettext_lazy("Letters of any script, digits and . _ - + @. You sign in with it, and colleagues see it.")


@contextmanager
def _refusal_as_form_error() -> Iterator[None]:
    try:
        yield
    except RateLimitedError as error:
        raise ValidationError(localized(error.message), code=error.code) from error


class SignInForm(AuthenticationForm):
    """Of the sign-in page."""

    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": gettext_lazy("Name and password do not match. Capital and small letters differ in both."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("Name")
        self.fields["password"].label = _("Password")

    def clean(self) -> dict[str, Any]:
        with _refusal_as_form_error():
            return super().clean()


class PasswordOfAnotherForm(AdminPasswordChangeForm):
    """Of the administration. Django joins a help text of it at import, in English for good."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if choice := self.fields.get("usable_password"):
            choice.help_text = " ".join(
                (
                    _(
                        "Whether the user will be able to authenticate using a password or not. If disabled, they may "
                        "still be able to authenticate using other backends, such as Single Sign-On or LDAP."
                    ),
                    _("If disabled, the current password for this user will be lost."),
                )
            )


class AdminSignInForm(AdminAuthenticationForm):
    """Of the administration."""

    def clean(self) -> dict[str, Any]:
        with _refusal_as_form_error():
            return super().clean()


def _email_field(**options: Any) -> forms.EmailField:
    attributes = {"autocomplete": "email", "inputmode": "email", "autocapitalize": "none", "spellcheck": "false"}
    return forms.EmailField(max_length=254, widget=forms.EmailInput(attrs=attributes), **options)


class _RulesAtTheFirst:
    """Mixin: what is wrong with a new password stands at its first field, where the rules are."""

    def validate_password_for_user(self, user: User, field: str = "password2") -> None:
        super().validate_password_for_user(user, field.replace("2", "1"))  # type: ignore[misc]


class SignUpForm(_RulesAtTheFirst, UserCreationForm):
    """Of a new account; accounts made from one address are counted."""

    email = _email_field(
        required=False,
        label=gettext_lazy("E-mail"),
        help_text=gettext_lazy("To choose a new password when you forget yours. We send a link to confirm it."),
    )
    field_order = ("username", "email", "password1", "password2")
    error_messages = {
        **UserCreationForm.error_messages,
        "password_mismatch": gettext_lazy("The two passwords differ; type the same one twice."),
    }

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request
        for name, label, help_text in (
            ("username", _("Name"), NAME_RULES),
            ("password1", _("Password"), PASSWORD_RULES),
            ("password2", _("Password again"), ""),
        ):
            self.fields[name].label, self.fields[name].help_text = label, help_text
        name_errors = self.fields["username"].error_messages
        name_errors["unique"] = gettext_lazy("Somebody has this name already; choose another one.")
        name_errors["invalid"] = gettext_lazy("Use letters, digits and . _ - + @ only.")

    def save(self, commit: bool = True) -> User:
        """Raises ValidationError where too many were made from this address, or the name was taken a moment ago."""
        with _refusal_as_form_error():
            sign_up_count(self._request)
        try:
            with transaction.atomic():
                self.instance.email = ""  # until it is confirmed
                user: User = super().save(commit=commit)
                if commit:
                    sign_up_remember(self._request, user)
                    language_first_chosen(user=user)
        except IntegrityError as error:
            raise ValidationError({"username": _("Somebody has this name already; choose another one.")}) from error
        if commit and self.cleaned_data["email"]:
            self._ask_for_email(user)
        return user

    def _ask_for_email(self, user: User) -> None:
        """The account is made in any case; the account's page sends the link again."""
        try:
            email_ask(user=user, email=self.cleaned_data["email"], request=self._request)
        except TooManyLettersError:
            return


class _PasswordAgain(forms.Form):
    """Mixin: the password of who is signed in, since somebody else may sit at an open browser. Guesses are counted."""

    def __init__(self, *args: Any, user: User, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user, self._request = user, request

    def clean_password(self) -> str:
        with _refusal_as_form_error():
            attempt = attempt_begin(self._request, username=self.user.get_username())
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise ValidationError(_("That is not your password; check it and try again."), code="password_incorrect")
        attempt.succeeded(self.user)
        return password


def _password_field() -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "current-password"})
    return forms.CharField(label=gettext_lazy("Your password"), strip=False, max_length=1024, widget=widget)


class EmailForm(_PasswordAgain):
    """The address of the account; empty takes it away."""

    email = _email_field(
        required=False,
        label=gettext_lazy("E-mail"),
        help_text=gettext_lazy(
            "We send a link to it. The address before stays in use until you follow the link. Empty: none."
        ),
    )
    password = _password_field()


class DeleteAccountForm(_PasswordAgain):
    """The password once more."""

    password = _password_field()


class ForgottenPasswordForm(forms.Form):
    """Where to send a link for a new password."""

    email = _email_field(
        label=gettext_lazy("E-mail"), help_text=gettext_lazy("The one that you confirmed for your account.")
    )


class NewPasswordForm(_RulesAtTheFirst, SetPasswordForm):
    """After the link of a letter."""

    error_messages = {
        **SetPasswordForm.error_messages,
        "password_mismatch": gettext_lazy("The two passwords differ; type the same one twice."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _name_new_passwords(self)


class ChangePasswordForm(_RulesAtTheFirst, PasswordChangeForm):
    """Guesses of the old password are counted too: somebody else may sit at an open browser."""

    old_password: forms.Field
    error_messages = {
        **PasswordChangeForm.error_messages,
        "password_mismatch": gettext_lazy("The two passwords differ; type the same one twice."),
        "password_incorrect": gettext_lazy("That is not your password; check it and try again."),
    }

    def __init__(self, user: User, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self._request = request
        self.fields["old_password"].label = _("Present password")
        _name_new_passwords(self)

    def clean_old_password(self) -> str:
        with _refusal_as_form_error():
            attempt = attempt_begin(self._request, username=self.user.get_username())
        old_password = super().clean_old_password()
        attempt.succeeded(self.user)
        return old_password


def _name_new_passwords(form: forms.Form) -> None:
    form.fields["new_password1"].label = _("New password")
    form.fields["new_password1"].help_text = PASSWORD_RULES
    form.fields["new_password2"].label = _("New password again")
    form.fields["new_password2"].help_text = ""


class PersonalDataForm(forms.Form):
    """Of staff: what to do with all that is a person's, and why. The name is typed again before a deletion."""

    action = forms.ChoiceField(
        label=gettext_lazy("What to do"),
        choices=[("export", gettext_lazy("Export")), ("deletion", gettext_lazy("Delete the account with everything"))],
        initial="export",
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text=gettext_lazy("Kept with the record, such as the date and the number of the person's request."),
    )
    name = forms.CharField(
        label=gettext_lazy("Name of the account"),
        required=False,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=gettext_lazy("For a deletion: type it, so that nobody else is deleted."),
    )

    def __init__(self, *args: Any, username: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._username = username

    @property
    def deletes(self) -> bool:
        return bool(self.cleaned_data["action"] == "deletion")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("action") == "deletion" and cleaned.get("name") != self._username:
            self.add_error("name", _("That is not the name of this account."))
        return cleaned
