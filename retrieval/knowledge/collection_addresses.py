"""What requests call collections by: an id, `owner/name`, `site:name`, or a plain name.

The first three name one collection, whoever asks. A plain name means the asking user's own collection; where there is
none, the site's, then one shared with a group of theirs, then one that the site has approved, then another public or
shared one; of several alike the oldest (`retrieval.knowledge.selectors.collection_find`). So a name that somebody else
takes never stands in for one's own or the site's. No name has the form of another kind of address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from ragsite.core.text import clean_text
from retrieval.models import SITE

MAX_ADDRESS_CHARS = 255  # the longest user name, a slash, the longest name
_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One address as it was read. `owner`: None where it names none, "" for the site."""

    name: str
    id: UUID | None = None
    owner: str | None = None

    def rows(self) -> Q:
        """Those that it may mean."""
        if self.id is not None:
            return Q(pk=self.id)
        if self.owner is None:
            return Q(name=self.name)
        return Q(name=self.name) & (Q(owner__username=self.owner) if self.owner else Q(owner=None))


def read_address(text: str) -> Address:
    """Any text is an address; most are plain names."""
    text = clean_text(text, nul="\ufffd")
    if _ID.fullmatch(text):
        return Address(name=text, id=UUID(text))
    if text.startswith(SITE):
        return Address(name=text.removeprefix(SITE), owner="")
    owner, slash, name = text.rpartition(
        "/"
    )  # a name holds no slash, so whatever else does is the owner's
    return Address(name=name, owner=owner) if slash and owner else Address(name=text)
