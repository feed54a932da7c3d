"""What every page of the desk has: who may see it, and what it says of a refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError

from chat.review.roles import Right, desk_access
from ragsite.core.api.fields import unknown_fields
from ragsite.core.errors import AppError, InvalidInputError, NotFoundError
from ragsite.core.localized import localized

View = Callable[..., HttpResponse]


def desk_page(
    *rights: Right, methods: Sequence[str] = ("GET", "HEAD"), query: Sequence[str] | None = None
) -> Callable[[View], View]:
    """The view gets `access`. Strangers sign in first, people without a role find nothing, staff learn why.

    query: the parameters that the page reads; another one is refused, since a misspelt filter would show everything.
    """

    def decorated(view: View) -> View:
        @require_http_methods(methods)
        @login_required
        @ensure_csrf_cookie
        @wraps(view)
        def page(request: HttpRequest, **kwargs: Any) -> HttpResponse:
            try:
                access = desk_access(request.user, *rights)
                if query is not None and (unknown := unknown_fields(request.GET, query)):
                    raise InvalidInputError(next(iter(unknown.values()))[0])
                return view(request, access=access, **kwargs)
            except NotFoundError as error:
                raise Http404 from error
            except AppError as error:
                context = {"status": error.status, "message": localized(error.message)}
                return render(request, "error.html", context, status=error.status)

        return page

    return decorated


def problem_sentences(error: AppError | ValidationError) -> list[str]:
    """What is wrong with each field, else with all of it, in the active language."""
    fields = localized(error.detail if isinstance(error, ValidationError) else error.fields)
    return _sentences(fields) or [str(localized(getattr(error, "message", "")))]


def _sentences(value: Any) -> list[str]:
    match value:
        case Mapping():
            return [sentence for item in value.values() for sentence in _sentences(item)]
        case list() | tuple():
            return [sentence for item in value for sentence in _sentences(item)]
        case _:
            return [str(value)] if value else []
