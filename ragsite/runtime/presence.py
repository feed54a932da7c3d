"""Which processes serve the site: each shows itself in the database, with what must be the same in all of them."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import socket
import threading
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections
from django.utils import timezone

from ragsite.models import SiteProcess

Kind = Literal["web", "worker"]
SHOWN_EVERY_S = 5.0
GONE_AFTER_S = 20.0  # without a sign of life
MARK = (
    ".ragsite-uploads"  # a file among the uploads, by which machines know whether they share them
)
logger = logging.getLogger(__name__)


def show(kind: Kind) -> None:
    """That this process is there, and what is so of it. Off the event loop."""
    host = _host()
    values = {
        "kind": kind,
        "host": host,
        "pid": os.getpid(),
        "facts": facts(),
        "seen_at": timezone.now(),
    }
    SiteProcess.objects.update_or_create(name=_name(kind), defaults=values)
    SiteProcess.objects.filter(seen_at__lt=timezone.now() - timedelta(hours=1)).delete()


def withdraw(kind: Kind) -> None:
    SiteProcess.objects.filter(name=_name(kind)).delete()


def living() -> list[SiteProcess]:
    """The processes that showed themselves within GONE_AFTER_S; of this machine, those that run."""
    since = timezone.now() - timedelta(seconds=GONE_AFTER_S)
    rows = SiteProcess.objects.filter(seen_at__gte=since).order_by("name")
    return [row for row in rows if row.host != _host() or _runs(row.pid)]


def others(kind: Kind) -> list[SiteProcess]:
    """The living ones of a kind but this one."""
    return [row for row in living() if row.kind == kind and row.name != _name(kind)]


def facts() -> dict[str, Any]:
    """What is compared. Fingerprints of what is secret, which tell nothing of it."""
    return {
        "redis": bool(settings.REDIS_URL),
        "milvus_lite": not settings.RAG.milvus.uri,
        "key": hmac.new(
            settings.SECRET_KEY.encode(), b"ragsite process", hashlib.sha256
        ).hexdigest()[:16],
        "prompts": _prompts(settings.RAG.prompt_files),
        "uploads": _bucket_mark()
        if settings.SITE.uploads
        else _folder_mark(Path(settings.MEDIA_ROOT)),
    }


def show_in_thread(kind: Kind) -> None:
    """From now on, until the process ends."""

    def keep_showing() -> None:
        pause = threading.Event()
        while True:
            try:
                show(kind)
            except (DatabaseError, OSError) as error:  # a prompt that can't be read is one
                logger.warning("this process could not show itself: %s", error)
            finally:
                connections.close_all()
            pause.wait(SHOWN_EVERY_S)

    threading.Thread(target=keep_showing, name="presence", daemon=True).start()


def _host() -> str:
    return socket.gethostname()[:100]


def _name(kind: Kind) -> str:
    return f"{kind} {_host()}:{os.getpid()}"


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True


def _prompts(files: Mapping[str, str]) -> str:
    """Of the files that settings name in place of a prompt; empty: none does."""
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(name.encode() + b"\0" + Path(path).expanduser().read_bytes())
    return digest.hexdigest()[:16] if files else ""


def _bucket_mark() -> str:
    """Of the bucket's address: one that differs is taken for another bucket."""
    address = f"{settings.SITE.uploads_endpoint} {settings.SITE.uploads.rstrip('/')}"
    return hashlib.sha256(address.encode()).hexdigest()[:16]


def _folder_mark(folder: Path) -> str:
    """The folder's own id, which its first process writes; empty where it can't be written or read."""
    path = folder / MARK
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            made = path.with_name(f"{MARK}.{uuid.uuid4().hex}")
            made.write_text(uuid.uuid4().hex)
            try:
                os.link(made, path)  # whole or not at all
            finally:
                made.unlink()
        return path.read_text()[:64]
    return ""
