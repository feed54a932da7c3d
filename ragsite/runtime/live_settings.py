"""What superusers have set in the administration, in this process: `settings.RAG` is replaced as a whole.

The environment decides first, then what is stored (django-constance), then the default. The key of the model server is
stored encrypted, with the address that it was entered for: no other gets it. Prompts of the site's own are rows, too.
`refresh` is called where work begins: a question, a search, a task of the worker, a command. What runs goes on with
the settings that it began with, as it holds the object. A stored value that can't be used is left out and logged; the
site runs without it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Set
from typing import Any

from constance.codecs import dumps, loads
from constance.models import Constance
from django.conf import settings
from django.db import Error as DatabaseError
from pydantic import ValidationError

from ragsite.core.rag_settings import RagSettings
from ragsite.core.runtime_settings import changeable_fields, with_values
from ragsite.core.sealed import SealBrokenError, seal, unseal
from ragsite.core.settings_group import MODEL_SERVER, origin_of
from ragsite.models import OwnPrompt

MODEL_KEY = "RAG_MODEL_KEY"
MODEL_URL = "RAG_MODEL_URL"
REFRESH_S = 2.0  # how often a process looks whether something was changed
logger = logging.getLogger(__name__)
_taken_up: tuple[dict[str, Any], dict[str, str]] = (
    {},
    {},
)  # what is stored and in force here: settings, prompts
_looked_at = float("-inf")


def locked_settings() -> Set[str]:
    """Those of the keys that the environment decides; an empty variable decides nothing.

    With the key of the model server it decides where that goes.
    """
    names = settings.CONSTANCE_CONFIG.keys() | changeable_fields(MODEL_SERVER)
    locked = {name for name in names if settings.ENVIRON.get(name, "").strip()}
    return locked | {MODEL_URL} if MODEL_KEY in locked else locked


def store(values: Mapping[str, Any]) -> None:
    """Keep these by variable, for all processes; None: as the operator has it. In a transaction of the caller's."""
    for name, value in values.items():
        if value is None:
            Constance.objects.filter(key=name).delete()
        else:
            Constance.objects.update_or_create(key=name, defaults={"value": dumps(value)})


def sealed_key(key: str, address: str) -> str:
    """What is stored of the model server's key."""
    return seal({"key": key, "origin": origin_of(address)})


def refresh(*, at_once: bool = False) -> None:
    """Take up what is stored, looking every REFRESH_S at most. Reads the database: not on the event loop.

    Where it can't be read, the settings stay as they are. Not within a transaction that a failed read would break.
    """
    global _taken_up, _looked_at
    if not at_once and time.monotonic() - _looked_at < REFRESH_S:
        return
    _looked_at = time.monotonic()
    of_server = changeable_fields(MODEL_SERVER)
    names = (settings.CONSTANCE_CONFIG.keys() | of_server) - locked_settings()
    try:
        stored = dict(
            Constance.objects.filter(key__in=names).order_by("key").values_list("key", "value")
        )
        prompts = dict(OwnPrompt.objects.values_list("name", "text"))
    except DatabaseError as error:
        logger.warning(
            "The stored settings could not be read, going on with the last ones: %s", error
        )
        return
    if (stored, prompts) == _taken_up:
        return
    rag = _with_model_server(
        settings.OPERATORS_RAG, {name: stored[name] for name in stored if name in of_server}
    )
    for name, text in stored.items():
        if name in of_server:
            continue
        try:
            rag = with_values(rag, {name: loads(text)})
        except (ValidationError, ValueError) as error:
            logger.warning("%s is left out, which was set to %s: %s", name, text[:200], error)
    settings.RAG = rag.replace(own_prompts=prompts)
    _taken_up = (stored, prompts)


def _with_model_server(rag: RagSettings, stored: Mapping[str, str]) -> RagSettings:
    """These belong together: what leads to a server is taken as a whole, or left out as a whole."""
    try:
        values = {name: loads(text) for name, text in stored.items()}
        sealed = values.pop(MODEL_KEY, "")
        rag = with_values(rag, values)
        if sealed:
            kept = unseal(sealed)
            rag = rag.replace(ollama=rag.ollama.replace(key=kept["key"], key_origin=kept["origin"]))
    except (ValidationError, ValueError, SealBrokenError) as error:
        logger.warning("What is stored of the model server is left out: %s", error)
    return rag
