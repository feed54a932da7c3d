"""Middleware that runs on the event loop does what it did in a thread."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from django.contrib import messages
from django.contrib.sessions.models import Session
from django.http import HttpRequest, HttpResponse
from django.test import AsyncRequestFactory

from ragsite.web.on_the_loop import LocaleMiddleware, MessageMiddleware, OnTheLoop, SessionMiddleware


async def answered(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


async def test_both_halves_run_where_the_request_is() -> None:
    seen: list[threading.Thread] = []

    class Noting(OnTheLoop):
        def process_request(self, request: HttpRequest) -> None:
            seen.append(threading.current_thread())

        def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
            seen.append(threading.current_thread())
            return response

    middleware: Any = Noting(answered)
    assert (await middleware(AsyncRequestFactory().get("/"))).content == b"ok"
    assert seen == [threading.current_thread()] * 2


async def test_a_first_half_that_answers_ends_the_request() -> None:
    class Refusing(OnTheLoop):
        def process_request(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse(status=403)

    middleware: Any = Refusing(answered)
    assert (await middleware(AsyncRequestFactory().get("/"))).status_code == 403


@pytest.mark.django_db(transaction=True)
async def test_a_changed_session_is_stored() -> None:
    async def change(request: HttpRequest) -> HttpResponse:
        request.session["visited"] = True
        return HttpResponse()

    middleware: Any = SessionMiddleware(change)
    response = await middleware(AsyncRequestFactory().get("/"))
    assert await Session.objects.filter(session_key=response.cookies["sessionid"].value).aexists()


@pytest.mark.django_db(transaction=True)
async def test_a_message_too_long_for_a_cookie_goes_into_the_session() -> None:
    text = random.Random(1).randbytes(4000).hex()  # cookies are compressed

    async def say(request: HttpRequest) -> HttpResponse:
        messages.info(request, text)
        return HttpResponse()

    middleware: Any = SessionMiddleware(MessageMiddleware(say))
    response = await middleware(AsyncRequestFactory().get("/"))
    stored = await Session.objects.aget(session_key=response.cookies["sessionid"].value)
    assert text in stored.get_decoded()["_messages"]


async def test_the_readers_language_holds_for_the_whole_request() -> None:
    async def language(request: HttpRequest) -> HttpResponse:
        return HttpResponse(request.LANGUAGE_CODE)

    middleware: Any = LocaleMiddleware(language)
    response = await middleware(AsyncRequestFactory().get("/", headers={"Accept-Language": "zh-Hant"}))
    assert (response.content, response["Content-Language"]) == (b"zh-hant", "zh-hant")
