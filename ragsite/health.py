"""Is the process up, can it do its work, and how does it do: /healthz, /readyz, /metrics.

Open to everybody, so reasons are general ("not reachable", "timed out"); the log has the details.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import redis.asyncio
from asgiref.sync import iscoroutinefunction, sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django_prometheus.exports import ExportToDjangoView

from ragsite.core import storage
from ragsite.core.api.error_responses import json_error, method_not_allowed
from ragsite.core.errors import AppError, PermissionDeniedError
from ragsite.core.wording import worded
from retrieval.engine import get_engine

logger = logging.getLogger(__name__)
CHECK_TIMEOUT_S = 3.0
LOOPBACK = ("127.0.0.1", "::1")
PROXY_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host")
Check = Callable[[], Awaitable[str]]


class NotReadyError(Exception):
    """A dependency is away; the message may be shown to anybody."""


def looked_at_only(view: Callable[..., Any]) -> Callable[..., Any]:
    """GET and HEAD; the rest is 405 in the form of all errors. Nothing is changed, so no CSRF token is asked for."""

    def refused(request: HttpRequest) -> HttpResponse | None:
        return None if request.method in ("GET", "HEAD") else method_not_allowed(request, ["GET", "HEAD"])

    @wraps(view)
    async def asked(request: HttpRequest) -> HttpResponse:
        return refused(request) or await view(request)

    @wraps(view)
    def asked_in_a_thread(request: HttpRequest) -> HttpResponse:
        return refused(request) or view(request)

    return csrf_exempt(asked if iscoroutinefunction(view) else asked_in_a_thread)


@looked_at_only
async def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; asks nobody."""
    return JsonResponse({"status": "ok"})


@looked_at_only
async def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the site can do its work, else 503; with each dependency's state.

    `ok`; `offline` (Ollama away, answers are extractive, or web search failing: still ready); `down`.
    """
    checks: dict[str, Check] = {
        "database": _database,
        "milvus": _milvus,
        "ollama": _ollama,
        "broker": _broker,
        "storage": _storage,
        "channel_layer": _channel_layer,
    }
    if settings.RAG.web_search.provider:
        checks["web_search"] = _web_search
    states = await asyncio.gather(*(_state(name, check) for name, check in checks.items()))
    dependencies = dict(zip(checks, states, strict=True))
    ready = all(state["state"] != "down" for state in states)
    body = {"status": "ready" if ready else "not_ready", "dependencies": dependencies}
    return JsonResponse(body, status=200 if ready else 503, headers={"Cache-Control": "no-store"})


async def _state(name: str, check: Check) -> dict[str, Any]:
    """`{"state", "ms"}` and, where not all is well, `"reason"`."""
    begun = time.monotonic()
    try:
        reason = await asyncio.wait_for(check(), CHECK_TIMEOUT_S)
        state = {"state": "offline", "reason": reason} if reason else {"state": "ok"}
    except TimeoutError:
        state = {"state": "down", "reason": f"no answer within {CHECK_TIMEOUT_S:g} s"}
    except NotReadyError as error:
        state = {"state": "down", "reason": str(error)}
    except (DatabaseError, OSError, redis.RedisError, AppError) as error:
        logger.warning("readyz: %s is down: %s", name, error)
        state = {"state": "down", "reason": "not reachable"}
    return {**state, "ms": round((time.monotonic() - begun) * 1000, 1)}


async def _database() -> str:
    def ask() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")

    await sync_to_async(ask)()
    return ""


async def _milvus() -> str:
    await get_engine().index.ping()
    return ""


async def _ollama() -> str:
    status = await get_engine().models.status()
    if status.offline_forced:
        return "switched off by RAG_OFFLINE=1; answers are extractive"
    if not status.reachable and settings.RAG.ollama.offline == "0":
        raise NotReadyError("not reachable, and RAG_OFFLINE=0 asks for it")
    return "" if status.reachable else "not reachable; answers are extractive until it is"


async def _web_search() -> str:
    """What its calls have shown: a probe that came every few seconds would use up the engine's allowance."""
    web = get_engine().web
    return "failed several times in a row; answers do without it meanwhile" if web and web.is_failing else ""


async def _broker() -> str:
    if settings.REDIS_URL:
        async with redis.asyncio.from_url(settings.REDIS_URL, socket_timeout=CHECK_TIMEOUT_S) as client:
            await client.ping()
    elif not os.access(settings.DATA_DIR / "broker" / "queue", os.W_OK):
        raise NotReadyError("its folder cannot be written")
    return ""


async def _storage() -> str:
    free_mib = await asyncio.to_thread(storage.free_mib)
    if free_mib < (kept_mib := settings.RAG.storage.min_free_mib):
        raise NotReadyError(f"the disk is full: {free_mib:.0f} MiB are left, nothing is taken in below {kept_mib}")
    return ""


async def _channel_layer() -> str:
    layer = get_channel_layer()
    if layer is None:
        raise NotReadyError("not configured")
    channel = await layer.new_channel()
    await layer.send(channel, {"type": "readyz"})
    await layer.receive(channel)
    return ""


@looked_at_only
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text for staff, for who knows RAGSITE_METRICS_TOKEN, or, where none is set, for this machine."""
    if not _may_read_metrics(request):
        return json_error(
            PermissionDeniedError(worded("Sign in as staff, or send RAGSITE_METRICS_TOKEN as a bearer token."))
        )
    return ExportToDjangoView(request)


def _may_read_metrics(request: HttpRequest) -> bool:
    token = settings.METRICS_TOKEN
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if token and hmac.compare_digest(given.encode(), token.encode()):
        return True
    # What comes through a proxy on this machine does not come from this machine.
    proxied = any(name in request.headers for name in PROXY_HEADERS)
    if not token and not proxied and request.META.get("REMOTE_ADDR") in LOOPBACK:
        return True
    return bool(getattr(request, "user", None) and request.user.is_staff)
