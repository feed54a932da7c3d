"""Forms of accounts that allauth and Django have otherwise."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import LoginForm
from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy


class SignInForm(LoginForm):
    """The name's field is called `username`, as at sign-up and in the token call. The page itself offers the way to a
    new password, below."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].help_text = ""

    def add_prefix(self, field_name: str) -> str:
        return super().add_prefix("username" if field_name == "login" else field_name)


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
