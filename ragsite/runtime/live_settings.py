"""What superusers have set in the administration, in this process: `settings.RAG` is replaced as a whole.

The environment decides first, then what is stored (django-constance), then the default. `refresh` is called where work
begins: a question, a search, a task of the worker, a command. What runs goes on with the settings that it began with,
as it holds the object. A stored value that can't be used is left out and logged; the site runs without it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Set
from typing import Any

from constance.codecs import loads
from constance.models import Constance
from django.conf import settings
from django.db import Error as DatabaseError
from pydantic import ValidationError

from ragsite.core.runtime_settings import with_values

REFRESH_S = 2.0  # how often a process looks whether something was changed
logger = logging.getLogger(__name__)
_taken_up: dict[str, Any] = {}  # what is stored and in force in this process
_looked_at = float("-inf")


def locked_settings() -> Set[str]:
    """Those of the keys that the environment decides; an empty variable decides nothing."""
    return {name for name in settings.CONSTANCE_CONFIG if settings.ENVIRON.get(name, "").strip()}


def refresh(*, at_once: bool = False) -> None:
    """Take up what is stored, looking every REFRESH_S at most. Reads the database: not on the event loop.

    Where it can't be read, the settings stay as they are. Not within a transaction that a failed read would break.
    """
    global _taken_up, _looked_at
    if not at_once and time.monotonic() - _looked_at < REFRESH_S:
        return
    _looked_at = time.monotonic()
    names = settings.CONSTANCE_CONFIG.keys() - locked_settings()
    try:
        stored = dict(Constance.objects.filter(key__in=names).order_by("key").values_list("key", "value"))
    except DatabaseError as error:
        logger.warning("The stored settings could not be read, going on with the last ones: %s", error)
        return
    if stored == _taken_up:
        return
    rag = settings.OPERATORS_RAG
    for name, text in stored.items():
        try:
            rag = with_values(rag, {name: loads(text)})
        except (ValidationError, ValueError) as error:
            logger.warning("%s is left out, which was set to %s: %s", name, text[:200], error)
    settings.RAG, _taken_up = rag, stored
