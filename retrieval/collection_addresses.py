"""What requests call collections by: an id, `owner/name`, `site:name`, or a plain name.

The first three name one collection, whoever asks. A plain name means the asking user's own collection; where there is
none, the site's, then one shared with a group of theirs that administrators keep, then one that the site has approved,
then another public or shared one; of several alike the oldest. So a name that somebody else takes never stands in for
one's own or the site's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q

from ragsite.core.text import clean_text
from retrieval.models import SITE, Collection

MAX_ADDRESS_CHARS = 255  # the longest user name, a slash, the longest name
_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_OWN, _SITES = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One address as it was read. `owner`: None where it names none, "" for the site."""

    text: str
    id: UUID | None = None
    owner: str | None = None
    name: str = ""

    @property
    def exact(self) -> bool:
        """Whether it means the same collection for everybody."""
        return self.id is not None or self.owner is not None

    def rows(self) -> Q:
        """Those that it may mean; `best_match` chooses among the ones that the user may see."""
        rows = Q(name=self.text)
        if self.id is not None:
            rows |= Q(pk=self.id)
        elif self.owner:
            rows |= Q(owner__username=self.owner, name=self.name)
        elif self.owner is not None:
            rows |= Q(owner=None, name=self.name)
        return rows

    def names_exactly(self, collection: Collection) -> bool:
        """Its id, or its owner and name."""
        if self.id is not None:
            return collection.pk == self.id
        if self.owner is None or collection.name != self.name:
            return False
        return (collection.owner.username if collection.owner else "") == self.owner


def read_address(text: str) -> Address:
    """Any text is an address; most are plain names."""
    text = clean_text(text, nul="\ufffd")
    if _ID.fullmatch(text):
        return Address(text=text, id=UUID(text))
    if text.startswith(SITE):
        return Address(text=text, owner="", name=text.removeprefix(SITE))
    owner, slash, name = text.rpartition("/")  # a name holds no slash, so whatever else does is the owner's
    return Address(text=text, owner=owner, name=name) if slash and owner else Address(text=text)


def best_match(
    address: Address, collections: Iterable[Collection], user: User | AnonymousUser | None
) -> Collection | None:
    """What `address` means among `collections` that `user` may see.

    A name that has the form of an address, which none can be given any more, counts where it is one's own or the
    site's: it could otherwise be taken to stand in for what the address means.
    """
    matches = []
    for collection in collections:
        nearness = _nearness(collection, user)
        by_name = collection.name == address.text and (nearness <= _SITES or not address.exact)
        if by_name or address.names_exactly(collection):
            matches.append((not by_name, nearness, collection.created_at, collection.pk, collection))
    return min(matches, key=lambda entry: entry[:-1])[-1] if matches else None


def _nearness(collection: Collection, user: User | AnonymousUser | None) -> int:
    """0 own, 1 the site's, 2 shared by the site with the user's groups, 3 approved, 4 other public and shared ones."""
    if collection.owner_id is None:
        return _SITES
    if user is not None and collection.owner_id == user.pk:
        return _OWN
    if collection.visibility == Collection.Visibility.SHARED and getattr(collection, "by_site", False):
        return 2
    return 3 if collection.approved else 4
