"""What the admin's pages share: pages with one form to decide something, links above lists and rows, columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from ragsite.core.errors import AppError
from ragsite.core.localized import localized


@dataclass(frozen=True, slots=True)
class Tool:
    """A link above a list or a row."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Page:
    """An admin page beside Django's own. view: the name of a method. permission: without it the answer is 403."""

    route: str
    view: str
    name: str
    permission: str


class WhyForm(forms.Form):
    why = forms.CharField(
        label=_("Why"),
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 80}),
        help_text=_("Kept in the log."),
    )


def column(
    description: Any, value: Callable[[Any], Any], *, ordering: str | None = None, boolean: bool | None = None
) -> Callable[[Any, Any], Any]:
    """A column of a list, or a field of a page: what `value` makes of a row."""

    def cell(self: Any, row: Any) -> Any:
        return value(row)

    return admin.display(description=description, ordering=ordering, boolean=boolean)(cell)


class ToolsAdmin(admin.ModelAdmin):
    """Mixin: more pages, links above the list and above each row, and a text above an empty list."""

    pages: Sequence[Page] = ()
    change_list_template = "admin/feedback/change_list.html"
    change_form_template = "admin/feedback/change_form.html"
    nothing_yet = _("")  # what stands above an empty list: what would be in it, and how it gets there

    class Media:
        css = {"all": ["chat/review.css"]}

    def get_urls(self) -> list[URLPattern]:
        own = [path(page.route, self.admin_site.admin_view(self._guarded(page)), name=page.name) for page in self.pages]
        return [*own, *super().get_urls()]

    def _guarded(self, page: Page) -> Callable[..., HttpResponse]:
        def view(request: HttpRequest, **names: Any) -> HttpResponse:
            if not request.user.has_perm(page.permission):
                raise PermissionDenied
            response: HttpResponse = getattr(self, page.view)(request, **names)
            return response

        return view

    def form_page(
        self,
        request: HttpRequest,
        *,
        title: str,
        explanation: str,
        button: str,
        back: str,
        act: Callable[..., Any],
        done: str | Callable[[Any], str],
        form: type[forms.Form] = WhyForm,
        initial: dict[str, Any] | None = None,
        facts: Sequence[tuple[str, Any]] = (),
    ) -> HttpResponse:
        """A page with a form, or on a valid POST the way to the address `back`.

        act: is called with the form's values by name; its AppError is shown on the form. done: the message, or a
        function of the result of `act`. facts: what the person should know before, as pairs of label and value.
        """
        sent = request.method == "POST"
        filled = form(request.POST, request.FILES) if sent else form(initial=initial)
        if sent and filled.is_valid():
            try:
                result = act(**filled.cleaned_data)
                messages.success(request, done if isinstance(done, str) else done(result))
                return redirect(back)
            except AppError as error:
                filled.add_error(None, localized(error.message))
                for name, reasons in error.fields.items():
                    told = localized(reasons)
                    text = " ".join(map(str, told)) if isinstance(told, list) else str(told)
                    filled.add_error(*((name, text) if name in filled.fields else (None, f"{name}: {text}")))
        page = {"explanation": explanation, "button": button, "back": back, "facts": facts}
        context = {"title": title, "page": page, "form": filled, "media": self.media + filled.media}
        status = 400 if filled.errors else 200
        return self.own_page(request, "admin/feedback/form_page.html", context, status=status)

    def own_page(
        self, request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
    ) -> HttpResponse:
        shared = {**self.admin_site.each_context(request), "opts": self.opts, "media": self.media}
        return TemplateResponse(request, template, {**shared, **context}, status=status)

    def list_tools(self, request: HttpRequest) -> list[Tool]:
        return []

    def row_tools(self, request: HttpRequest, row: Any) -> list[Tool]:
        return []

    def row_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the template of a row's page gets."""
        return {"tools": self.row_tools(request, row)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context = {"tools": self.list_tools(request), "nothing_yet": self.nothing_yet, **(extra_context or {})}
        return super().changelist_view(request, context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        context = self.row_context(request, row) if row is not None else {}
        return super().change_view(request, object_id, form_url, {**context, **(extra_context or {})})
