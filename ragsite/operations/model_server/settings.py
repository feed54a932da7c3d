"""The model server that superusers connect: which settings there are, and what is stored when they change them."""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from constance.admin import Config
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from pydantic import ValidationError

from ragsite.core.errors import InvalidInputError
from ragsite.core.messages import worded
from ragsite.core.server_settings import OllamaSettings
from ragsite.core.settings_group import is_address, origin_of
from ragsite.runtime import live_settings

VARIABLES = {
    "server": "RAG_MODEL_SERVER",
    "ollama_url": "OLLAMA_BASE_URL",
    "openai_url": "RAG_MODEL_URL",
    "key": "RAG_MODEL_KEY",
    "chat_models": "RAG_CHAT_MODEL",
    "fast_model": "RAG_FAST_MODEL",
    "embed_model": "RAG_EMBED_MODEL",
}
FIELDS = {
    "ollama_url": "base_url",
    "openai_url": "url",
    "chat_models": "chat_model",
}  # where the names differ


def locked_names() -> list[str]:
    """Those that the environment decides."""
    locked = live_settings.locked_settings()
    return [name for name, variable in VARIABLES.items() if variable in locked]


def address_shown(url: str) -> str:
    """Without a password that the operator wrote into it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def settings_with(changes: Mapping[str, Any]) -> OllamaSettings:
    """The settings of the model server as they would be with these changes, by the names of VARIABLES.

    A key goes only to the server for which it was entered. Raises InvalidInputError.
    """
    _refuse_locked(changes)
    now: OllamaSettings = settings.RAG.ollama
    values = {FIELDS.get(name, name): value for name, value in changes.items() if name != "key"}
    if "chat_model" in values:
        values["chat_model"] = ",".join(values["chat_model"])
    for name in ("ollama_url", "openai_url"):
        if changes.get(name):
            _check_address(name, changes[name])
    if "base_url" in values and not values["base_url"]:
        values["base_url"] = settings.OPERATORS_RAG.ollama.base_url
    url = values.get("url", now.url)
    if values.get("server", now.server) == "openai" and not url:
        raise InvalidInputError(fields={"openai_url": [worded("Enter the server's address.")]})
    if "key" in changes:
        values["key"] = changes["key"]
        values["key_origin"] = origin_of(url) if changes["key"] else ""
    elif now.key_origin not in ("", origin_of(url)):
        values["key"] = ""
        values["key_origin"] = ""
    if values.get("key") and not url:
        raise InvalidInputError(
            fields={"key": [worded("Enter the server's address with its key.")]}
        )
    try:
        return now.replace(**values)
    except ValidationError as error:
        raise InvalidInputError(error.errors(include_url=False)[0]["msg"]) from None


def model_settings_save(*, by: User, changes: Mapping[str, Any]) -> None:
    """Store them for all processes, which take them up within seconds; this one at once. Raises InvalidInputError."""
    live_settings.refresh(at_once=True)
    wanted = settings_with(changes)
    operators: OllamaSettings = settings.OPERATORS_RAG.ollama
    stored: dict[str, Any] = {}
    for name in changes.keys() - {"key"}:
        value = getattr(wanted, FIELDS.get(name, name))
        stored[VARIABLES[name]] = (
            None if value == getattr(operators, FIELDS.get(name, name)) else value
        )
    if wanted.key != settings.RAG.ollama.key or "key" in changes:
        stored[live_settings.MODEL_KEY] = (
            live_settings.sealed_key(wanted.key, wanted.url) if wanted.key else None
        )
    with transaction.atomic():
        live_settings.store(stored)
        _log(by, sorted(stored))
    live_settings.refresh(at_once=True)


def _refuse_locked(changes: Mapping[str, Any]) -> None:
    reason = worded("It is set by an environment variable, which decides.")
    if refused := {name: [reason] for name in locked_names() if name in changes}:
        raise InvalidInputError(fields=refused)


def _check_address(name: str, address: str) -> None:
    """An http(s) address of a server, on this machine or elsewhere: only administrators say where models are. None that
    a cloud tells a machine's own secrets at (link-local), none with a password, which would be shown."""
    parts = urlsplit(address) if is_address(address) else None
    if parts is None or parts.username is not None or parts.query or parts.fragment:
        reason = worded(
            "Enter an address that starts with http:// or https://, without a password in it."
        )
        raise InvalidInputError(fields={name: [reason]})
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return  # a name that is not known yet: trying the server says so
    for *_, place in found:
        ip = ipaddress.ip_address(str(place[0]).partition("%")[0])
        ip = getattr(ip, "ipv4_mapped", None) or ip
        if ip.is_link_local or ip.is_multicast:
            raise InvalidInputError(
                fields={name: [worded("No model server can be at this address.")]}
            )


def _log(by: User, variables: list[str]) -> None:
    """Into the log of the other settings: who changed which, not from what to what."""
    LogEntry.objects.create(
        user_id=by.pk,
        content_type=ContentType.objects.get_for_model(Config),
        object_id="Config",
        object_repr="Config",
        action_flag=CHANGE,
        change_message=json.dumps([{"changed": {"fields": variables}}]),
    )
