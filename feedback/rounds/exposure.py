"""Where sources were shown and what readers opened: how likely each place is looked at, by the site's own data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from chat.models import Message, Source
from feedback.models import SourceUse
from feedback.ranking.attribution import CitedSource
from feedback.ranking.exposure import examination, page_places
from feedback.rounds.bulk_rows import Key, one_of, parts_of, raw

REMEMBERED = timedelta(days=180)  # what was shown before that tells nothing
ESTABLISHED = timedelta(days=7)  # openings by accounts that are younger count nothing
MOST_USES, MOST_SHOWN = 20_000, 100_000  # the newest, in a round
AT_ONCE = 500


def examination_by_place() -> NDArray[np.float64]:
    """θ of each place, as `feedback.ranking.exposure.examination` gives it; the prior where too little was opened."""
    now = timezone.now()
    uses = SourceUse.objects.filter(
        updated_at__gte=now - REMEMBERED, user__date_joined__lte=now - ESTABLISHED
    ).order_by("-pk")
    used = dict(uses.values_list("source_id", "source__chunk_id")[:MOST_USES])
    shown: list[tuple[int, Key, str, str | None]] = []
    rows = Source.objects.filter(
        message__created_at__gte=now - REMEMBERED,
        message__decision=Message.Decision.ANSWER,
        message__session__user__date_joined__lte=now - ESTABLISHED,
    ).order_by("-pk")
    columns = ("pk", raw("message_id"), "chunk_id", "message__reply_to__text")
    for chunks in parts_of(dict.fromkeys(used.values()), AT_ONCE):
        shown += rows.filter(chunk_id__in=chunks).values_list(*columns)[: MOST_SHOWN - len(shown)]
    places = source_places(message for _, message, _, _ in shown)
    numbers: dict[tuple[str, str], int] = {}
    item = [
        numbers.setdefault((chunk, " ".join((question or "").casefold().split())), len(numbers))
        for _, _, chunk, question in shown
    ]
    return examination(
        np.asarray(item, np.int64),
        np.asarray([places.get(source, 1) for source, _, _, _ in shown], np.int64),
        np.asarray([source in used for source, _, _, _ in shown], np.bool_),
    )


def source_places(messages: Iterable[Key]) -> dict[int, int]:
    """Of every source of these answers its place on the page, from 1."""
    places: dict[int, int] = {}
    for part in parts_of(dict.fromkeys(messages), AT_ONCE):
        listed: dict[Key, dict[int, tuple[int, bool]]] = defaultdict(dict)
        rows = Source.objects.filter(one_of("message_id", part)).order_by()
        for key, message, marker, cited in rows.values_list("pk", raw("message_id"), "marker", "cited"):
            listed[message][marker] = (key, cited)
        for sources in listed.values():
            by_marker = page_places(CitedSource(marker, cited) for marker, (_, cited) in sources.items())
            places.update((sources[marker][0], place) for marker, place in by_marker.items())
    return places
