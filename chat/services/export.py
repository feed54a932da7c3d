"""A conversation as a file to keep."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.models import User
from django.utils.text import slugify
from django.utils.translation import gettext as _

from chat import selectors
from chat.messages.data import message_record
from chat.messages.sessions import SessionSerializer, session_title
from chat.messages.sources import cited_page
from chat.models import Message, Session
from ragsite.core.api.rendering import rendered


def session_export(*, user: User, session: Session, as_json: bool) -> tuple[str, str, str]:
    """Name, media type and content of the file."""
    messages = list(selectors.message_list(user=user, session=session))
    name = slugify(session_title(session), allow_unicode=True)[:60].strip("-") or str(session.pk)
    if as_json:
        data = {
            "session": rendered(SessionSerializer, session),
            "messages": list(map(message_record, messages)),
        }
        return f"{name}.json", "application/json", json.dumps(data, ensure_ascii=False, indent=2)
    return f"{name}.md", "text/markdown; charset=utf-8", _markdown(session, messages)


def _markdown(session: Session, messages: list[Message]) -> str:
    parts = [f"# {session_title(session) or _('Conversation')}"]
    for message in messages:
        who = _("You") if message.role == Message.Role.USER else _("Answer")
        parts.append(f"## {who} · {message.created_at:%Y-%m-%d %H:%M} UTC")
        parts.append(message.text or f"*({message.get_status_display()})*")
        if sources := [source for source in message.sources.all() if source.cited]:
            parts.append(
                "\n".join(
                    f"- [{source.marker}] {source.title}{_place(source)}" for source in sources
                )
            )
    return "\n\n".join(parts) + "\n"


def _place(source: Any) -> str:
    if source.kind == source.Kind.WEB:
        return f", <{source.url}>{f', {source.published}' if source.published else ''}"
    cited = cited_page(source)
    page = _(", page %(page)s") % {"page": cited} if cited else ""
    parts = source.heading.split(" › ")
    section = " › ".join(parts[1:] if parts[0] == source.title else parts)
    return f"{page}, {section}" if section else page
