"""Pages with one form, on which a person decides something and says why; and links above lists and rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from ragsite.core.errors import AppError


@dataclass(frozen=True, slots=True)
class Tool:
    """A link above a list or a row."""

    label: str
    url: str


class WhyForm(forms.Form):
    why = forms.CharField(
        label="Why", max_length=500, widget=forms.Textarea(attrs={"rows": 3, "cols": 80}), help_text="Kept in the log."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPage:
    """act: carries it out with the checked values, and returns what to tell; may raise AppError. back: where to go
    then. facts: what the person should know before, as pairs.
    """

    title: str
    explanation: str
    button: str
    back: str
    act: Callable[[dict[str, Any]], str]
    form: type[forms.Form] = WhyForm
    initial: dict[str, Any] = field(default_factory=dict)
    facts: Sequence[tuple[str, Any]] = ()

    def response(self, page_admin: admin.ModelAdmin, request: HttpRequest) -> HttpResponse:
        """The page, or on a valid POST the way back."""
        sent = request.method == "POST"
        form = self.form(request.POST, request.FILES) if sent else self.form(initial=self.initial)
        if sent and form.is_valid() and (told := self._tried(form)):
            messages.success(request, told)
            return redirect(self.back)
        context = {
            **page_admin.admin_site.each_context(request),
            "opts": page_admin.opts,
            "title": self.title,
            "page": self,
            "form": form,
            "media": page_admin.media + form.media,
        }
        return TemplateResponse(request, "admin/feedback/form_page.html", context, status=400 if form.errors else 200)

    def _tried(self, form: forms.Form) -> str:
        """What to tell; empty where it was refused, which the form then shows."""
        try:
            return self.act(form.cleaned_data)
        except AppError as error:
            form.add_error(None, error.message)
            for name, reasons in error.fields.items():
                text = " ".join(map(str, reasons)) if isinstance(reasons, list) else str(reasons)
                form.add_error(
                    name if name in form.fields else None, text if name in form.fields else f"{name}: {text}"
                )
            return ""


def require(request: HttpRequest, permission: str) -> None:
    """Raises PermissionDenied without this one, such as `feedback.change_revision`."""
    if not request.user.has_perm(permission):
        raise PermissionDenied


def staff_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # the admin has let nobody else in
    return request.user


class ToolsAdmin(admin.ModelAdmin):
    """Mixin: links above the list and above each row, and a word about a list that is empty."""

    change_list_template = "admin/feedback/change_list.html"
    change_form_template = "admin/feedback/change_form.html"
    nothing_yet = ""  # what stands above an empty list: what would be in it, and how it gets there

    class Media:
        css = {"all": ["chat/review.css"]}

    def list_tools(self, request: HttpRequest) -> list[Tool]:
        return []

    def row_tools(self, request: HttpRequest, row: Any) -> list[Tool]:
        return []

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context = {"tools": self.list_tools(request), "nothing_yet": self.nothing_yet, **(extra_context or {})}
        return super().changelist_view(request, context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        tools = self.row_tools(request, row) if row is not None else []
        return super().change_view(request, object_id, form_url, {"tools": tools, **(extra_context or {})})
