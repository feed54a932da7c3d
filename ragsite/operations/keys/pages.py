"""The pages on which people make and revoke their API keys."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from ragsite.accounts.tokens import key_create, keys_revoke
from ragsite.core.api.user import asking_user
from ragsite.core.errors import AppError
from ragsite.core.localized import localized
from ragsite.models import ApiToken
from retrieval.knowledge.selectors import collection_list

LASTS = (
    ("30", gettext_lazy("30 days")),
    ("90", gettext_lazy("90 days")),
    ("365", gettext_lazy("One year")),
    ("", gettext_lazy("Until you revoke it")),
)


class KeyForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, help_text=gettext_lazy("What the key is for.")
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may do"),
        choices=ApiToken.Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[ApiToken.Scope.READ, ApiToken.Scope.ASK],
    )
    collections = forms.MultipleChoiceField(
        label=gettext_lazy("Only these collections"),
        required=False,
        help_text=gettext_lazy("If you choose none: all that you can see."),
    )
    lasts = forms.ChoiceField(
        label=gettext_lazy("How long it is valid"), choices=LASTS, required=False, initial="90"
    )
    keeps_conversations = forms.BooleanField(
        label=gettext_lazy("Keep questions from other chat programs in my history"), required=False
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["collections"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(str(row.pk), row.address) for row in collection_list(user=user)]


@require_http_methods(["GET", "POST"])
@login_required
@never_cache
@reauthentication_required
def new_key(request: HttpRequest) -> HttpResponse:
    """The form; after it the key, shown this once. Asks who it is again before."""
    user = asking_user(request)
    form = KeyForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        days = chosen.pop("lasts")
        try:
            key, secret = key_create(
                user=user,
                collection_ids=chosen.pop("collections"),
                expires_at=timezone.now() + timedelta(days=int(days)) if days else None,
                **chosen,
            )
        except AppError as error:
            for name, texts in error.fields.items() or [(None, [error.message])]:
                form.add_error(name, localized(texts))
        else:
            return render(request, "accounts/key_made.html", {"key": key, "secret": secret})
    return render(request, "accounts/key_new.html", {"form": form})


@require_POST
@login_required
def revoke_all(request: HttpRequest) -> HttpResponse:
    """All API keys of one's own."""
    count = keys_revoke(user=asking_user(request))
    message = (
        ngettext("{count} API key is revoked.", "{count} API keys are revoked.", count)
        if count
        else _("No API keys")
    )
    messages.success(request, message.format(count=count))
    return redirect("account")
