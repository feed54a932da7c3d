"""What superusers have set in the administration, in this process: `settings.RAG` is replaced as a whole.

The environment decides first, then what is stored (django-constance), then the default. `refresh` is called where work
begins: a question, a search, a task of the worker, a command. What runs goes on with the settings that it began with,
as it holds the object. A stored value that can't be used is left out and logged; the site runs without it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Set
from typing import Any

from constance.codecs import loads
from constance.models import Constance
from django.conf import settings
from django.db import Error as DatabaseError
from pydantic import ValidationError

from ragsite.core.changeable import with_values
from ragsite.core.rag_settings import RagSettings

REFRESH_S = 2.0  # how often a process looks whether something was changed
logger = logging.getLogger(__name__)


class _State:
    """Of this process. operators: the environment's settings; made: what was last made of them, with `stored`."""

    def __init__(self) -> None:
        self.operators: RagSettings = settings.RAG
        self.made: RagSettings | None = None
        self.stored: dict[str, Any] = {}
        self.checked = float("-inf")
        self.lock = threading.Lock()


_state = _State()


def locked_settings() -> Set[str]:
    """Those of the keys that the environment decides; an empty variable decides nothing."""
    return {name for name in settings.CONSTANCE_CONFIG if settings.ENVIRON.get(name, "").strip()}


def refresh(*, at_once: bool = False) -> None:
    """Take up what is stored, looking every REFRESH_S at most. Reads the database: not on the event loop.

    Where it can't be read, the settings stay as they are. Not within a transaction that a failed read would break.
    """
    if not at_once and time.monotonic() - _state.checked < REFRESH_S:
        return
    if not _state.lock.acquire(blocking=at_once):
        return  # another thread looks just now
    try:
        names = settings.CONSTANCE_CONFIG.keys() - locked_settings()
        _take_up(dict(Constance.objects.filter(key__in=names).order_by("key").values_list("key", "value")))
    except DatabaseError as error:
        logger.warning("The stored settings could not be read, going on with the last ones: %s", error)
    finally:
        _state.checked = time.monotonic()
        _state.lock.release()


def _take_up(stored: dict[str, str]) -> None:
    if settings.RAG is not _state.made:
        _state.operators = settings.RAG
    elif stored == _state.stored:
        return
    rag = _state.operators
    for name, text in stored.items():
        try:
            rag = with_values(rag, {name: loads(text)})
        except (ValidationError, ValueError) as error:
            logger.warning("%s is left out, which was set to %s: %s", name, text[:200], error)
    _state.stored, _state.made = stored, rag
    settings.RAG = rag
