"""The live revision of settings, in this process: `settings.RAG` is replaced as a whole when another one is live.

The environment decides first, then the live revision, then the default. `refresh` is called where work begins: a
question, a search, a task of the worker, a command. What runs goes on with the settings that it began with, as it holds
the object. A value that can't be used, after an upgrade perhaps, is left out and logged; the site runs without it.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError

from ragsite.core.rag_settings import RagSettings
from ragsite.core.rag_settings.changes import Problems, changed, locked_by
from ragsite.models import SettingRevision

REFRESH_S = 2.0  # how often a process looks whether another revision is live
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Resolved:
    """rag: what to work with. problems: stored values that were left out."""

    rag: RagSettings
    problems: Problems


class _State:
    """What this process has done so far."""

    def __init__(self) -> None:
        self.base: RagSettings | None = None  # the operator's
        self.checked = float("-inf")
        self.lock = threading.Lock()


_state = _State()


def operator_settings() -> RagSettings:
    """The environment's values and the defaults, without what is live."""
    now: RagSettings = settings.RAG
    if now.revision == 0:
        _state.base = now
        return now
    return _state.base or RagSettings.from_env(settings.ENVIRON, data_dir=now.data_dir, prompts_dir=now.prompts_dir)


def locked_settings() -> dict[str, str]:
    """Offered setting → the environment variable that decides it."""
    return locked_by(settings.ENVIRON)


def resolve(changes: Any, *, revision: int = 0) -> Resolved:
    """The operator's settings with these changes, as they are stored. Never raises."""
    given = changes if isinstance(changes, dict) else {}
    values, prompts = given.get("values", {}), given.get("prompts", {})
    rag, problems = changed(operator_settings(), values if isinstance(values, dict) else {}, locked=locked_settings())
    texts = prompts.items() if isinstance(prompts, dict) else ()
    kept = tuple(sorted((str(name), text) for name, text in texts if isinstance(text, str)))
    return Resolved(rag.replace(prompts=kept, revision=revision), problems)


def live_number() -> int:
    """0: no revision has gone live."""
    live = SettingRevision.objects.filter(state=SettingRevision.State.LIVE)
    return live.values_list("number", flat=True).first() or 0


def live_revision() -> SettingRevision | None:
    return SettingRevision.objects.filter(state=SettingRevision.State.LIVE).select_related("made_by").first()


def refresh(*, at_once: bool = False) -> None:
    """Take up what is live, looking every REFRESH_S at most. Reads the database: not on the event loop.

    Where it can't be read, the settings stay as they are. Not within a transaction that a failed read would break.
    """
    if not at_once and time.monotonic() - _state.checked < REFRESH_S:
        return
    if not _state.lock.acquire(blocking=at_once):
        return  # another thread looks just now
    try:
        number = live_number()
        if number != settings.RAG.revision:
            _take_up(live_revision() if number else None)
        _state.checked = time.monotonic()
    except DatabaseError as error:
        logger.warning("The live settings could not be read, going on with the last ones: %s", error)
        _state.checked = time.monotonic()
    finally:
        _state.lock.release()


def _take_up(live: SettingRevision | None) -> None:
    if live is None:
        settings.RAG = operator_settings()
        return
    resolved = resolve(live.changes, revision=live.number or 0)
    for name, problem in resolved.problems.items():
        logger.warning("settings revision %s: %s is left out: %s", live.number, name, problem)
    operator_settings()  # remembered before it is replaced
    settings.RAG = resolved.rag
    logger.info("settings revision %s is live", live.number)
