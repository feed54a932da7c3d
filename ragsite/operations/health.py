"""Is the process up, can it do its work, and how does it do: /healthz, /readyz, /metrics.

Open to everybody, so reasons are general ("not reachable", "timed out"); the log has the details.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, Self

import redis.asyncio
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView

from chat.runs.draining import is_draining
from chat.runs.loading import is_loading
from ragsite.accounts.auth import token_of_header
from ragsite.core import metrics as measured
from ragsite.core import storage
from ragsite.core.api.error_responses import json_error
from ragsite.core.errors import AppError, PermissionDeniedError
from ragsite.core.messages import Sentence, worded
from retrieval.compose import get_engine
from retrieval.knowledge.index_sync.repair import index_holdings

logger = logging.getLogger(__name__)
CHECK_TIMEOUT_S = 3.0
EMBEDDED_CHUNKS = (
    20_000  # eight people who search at once wait 0.9 s there (docs/operations.md, Sizing)
)
EMBEDDED_SEARCH_S = 0.3
LOOPBACK = ("127.0.0.1", "::1")
PROXY_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host")


class Remark(Sentence):
    """What all is well with, but is to be known."""

    state = "ok"

    def __new__(cls, reason: Sentence) -> Self:
        return super().__new__(cls, reason, reason.wording)


class Incomplete(Remark):
    """Something is missing, and is being mended."""

    state = "incomplete"


Check = Callable[[], Awaitable[str | None]]


class NotReadyError(Exception):
    """A dependency is away; the reason may be shown to anybody."""

    def __init__(self, reason: Sentence) -> None:
        self.reason = reason
        super().__init__(reason)


@csrf_exempt
@require_safe
async def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; asks nobody."""
    return JsonResponse({"status": "ok"})


@csrf_exempt
@require_safe
async def readyz_own(request: HttpRequest) -> JsonResponse:
    """Whether this process is to get requests: 503 only for what the others do not lack as well.

    For load balancers: one that took machines out for what they share would take out all of them. `loading`: it has
    just begun, and its first answers would stall.
    """
    status = "ready"
    if is_draining():
        status = "draining"
    elif is_loading():
        status = "loading"
    body: dict[str, Any] = {"status": status}
    if status == "ready" and (disk := await _state("storage", _storage))["state"] == "down":
        body = {"status": "not_ready", "reason": disk["reason"]}
    code = 200 if body["status"] == "ready" else 503
    return JsonResponse(body, status=code, headers={"Cache-Control": "no-store"})


@csrf_exempt
@require_safe
async def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the site can do its work, else 503; with each dependency's state.

    503 with the status `draining` as soon as the process is to end.

    `ok`; `offline` (no model server: answers are passages; still ready); `incomplete` (the index lacks rows, which are
    being written again: 200, and the status is `degraded`); `down`.
    """
    if is_draining():
        return JsonResponse(
            {"status": "draining"}, status=503, headers={"Cache-Control": "no-store"}
        )
    dependencies = await dependency_states()
    states = [state["state"] for state in dependencies.values()]
    ready = "down" not in states
    status = "degraded" if "incomplete" in states else "ready"
    body = {"status": status if ready else "not_ready", "dependencies": dependencies}
    return JsonResponse(body, status=200 if ready else 503, headers={"Cache-Control": "no-store"})


async def dependency_states() -> dict[str, dict[str, Any]]:
    """Each dependency's name with its `state`, the `ms` of asking it and, where not all is well, the `reason`,
    a `Sentence`."""
    checks: dict[str, Check] = {
        "database": _database,
        "milvus": _milvus,
        "ollama": _ollama,
        "broker": _broker,
        "storage": _storage,
        **({"uploads": _uploads} if settings.SITE.uploads else {}),
        "channel_layer": _channel_layer,
    }
    states = await asyncio.gather(*(_state(name, check) for name, check in checks.items()))
    return dict(zip(checks, states, strict=True))


async def _state(name: str, check: Check) -> dict[str, Any]:
    """`{"state", "ms"}` and, where not all is well, `"reason"`."""
    begun = time.monotonic()
    try:
        reason = await asyncio.wait_for(check(), CHECK_TIMEOUT_S)
        state = {"state": "ok"}
        if reason:
            state = {
                "state": reason.state if isinstance(reason, Remark) else "offline",
                "reason": reason,
            }
    except TimeoutError:
        state = {
            "state": "down",
            "reason": worded("no answer within {seconds} s", seconds=f"{CHECK_TIMEOUT_S:g}"),
        }
    except NotReadyError as error:
        state = {"state": "down", "reason": error.reason}
    except (DatabaseError, OSError, redis.RedisError, AppError) as error:
        logger.warning("readyz: %s is down: %s", name, error)
        state = {"state": "down", "reason": worded("not reachable")}
    return {**state, "ms": round((time.monotonic() - begun) * 1000, 1)}


async def _database() -> None:
    await User.objects.aexists()


async def _milvus() -> str:
    await get_engine().index.ping()
    holdings = await index_holdings()
    if not holdings.missing:
        return _embedded_limit(holdings.expected)
    missing = worded(
        "{missing} of {expected} rows are missing; they are being written again",
        missing=holdings.missing,
        expected=holdings.expected,
    )
    return Incomplete(missing)


def _embedded_limit(rows: int) -> str:
    """What a Milvus Lite is no longer good for; empty: it is, or the index is a server's."""
    if settings.RAG.milvus.uri:
        return ""
    median_s = measured.index_searches.median() or 0.0
    if median_s >= EMBEDDED_SEARCH_S:
        return Remark(
            worded("half of the searches take {ms} ms or longer", ms=round(median_s * 1000))
        )
    if rows >= EMBEDDED_CHUNKS:
        return Remark(
            worded(
                "{rows} passages; the built-in index is good for about {limit}",
                rows=rows,
                limit=EMBEDDED_CHUNKS,
            )
        )
    return ""


async def _ollama() -> str:
    status = await get_engine().models.status()
    if status.offline_forced:
        return worded("switched off by RAG_OFFLINE=1; answers are the best-matching passages")
    if not status.reachable and settings.RAG.ollama.offline == "0":
        raise NotReadyError(worded("not reachable, and RAG_OFFLINE=0 asks for it"))
    if status.reachable and status.ignoring_format:
        names = ", ".join(status.ignoring_format)
        return Remark(
            worded("replies do not keep to the form that is asked for: {names}", names=names)
        )
    if status.reachable:
        return ""
    return worded("not reachable; until it is, answers are the best-matching passages")


async def _broker() -> None:
    if settings.REDIS_URL:
        async with redis.asyncio.from_url(
            settings.REDIS_URL, socket_timeout=CHECK_TIMEOUT_S
        ) as client:
            await client.ping()
    elif not os.access(settings.DATA_DIR / "broker" / "queue", os.W_OK):
        raise NotReadyError(worded("its folder cannot be written"))


async def _storage() -> None:
    free_mib = await asyncio.to_thread(storage.free_mib)
    if free_mib < storage.MIN_FREE_MIB:
        raise NotReadyError(worded("the disk is full: {mib} MiB are left", mib=round(free_mib)))


async def _uploads() -> None:
    """Whether the bucket answers; which name is asked for does not matter."""
    await asyncio.to_thread(default_storage.exists, "ragsite")


async def _channel_layer() -> None:
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.send(channel, {"type": "readyz"})
    await layer.receive(channel)


@csrf_exempt
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text for this machine, and for staff by session or token."""
    # What comes through a proxy on this machine does not come from this machine.
    proxied = any(name in request.headers for name in PROXY_HEADERS)
    token = token_of_header(request.headers.get("Authorization", "").encode())
    user = token.user if token and not token.scopes else request.user
    if (proxied or request.META.get("REMOTE_ADDR") not in LOOPBACK) and not user.is_staff:
        return json_error(PermissionDeniedError())
    return ExportToDjangoView(request)
