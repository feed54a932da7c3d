"""A NUL in a form or an address: PostgreSQL has no text with one, and no page looks for it in each of its fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.db import DataError
from django.http import HttpRequest, HttpResponse

from ragsite.core.api.error_responses import bad_request

SAID_BY_THE_DRIVER = "NUL (0x00)"


class RefuseNul:
    """Middleware: what the database refuses for it is the sender's mistake, not the site's. The API tells it of fields
    itself; SQLite looks for it, and finds nothing."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        is_nul = isinstance(exception, DataError | ValueError)
        if is_nul and SAID_BY_THE_DRIVER in str(exception):
            return bad_request(request, exception)
        return None
