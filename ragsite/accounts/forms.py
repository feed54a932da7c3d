"""The form of allauth that is otherwise here."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import LoginForm


class SignInForm(LoginForm):
    """The name's field is called `username`, as at sign-up and in the token call. The page itself offers the way to a
    new password, below."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].help_text = ""

    def add_prefix(self, field_name: str) -> str:
        return super().add_prefix("username" if field_name == "login" else field_name)
