"""The file of the checked answers in force, or of the test questions, that one person may know of."""

from __future__ import annotations

from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction

from chat.models import DeskEvent
from chat.review.marks import file_log
from feedback.curation.transfer.csv_table import MAX_ROWS, table_write
from feedback.curation.transfer.curated import CuratedResource
from feedback.curation.transfer.golden import GoldenResource
from feedback.curation.transfer.resource import CurationResource
from feedback.models import CuratedAnswer, CurationImport, GoldenQuestion

RESOURCES: dict[str, type[CurationResource]] = {
    CurationImport.Kind.CURATED: CuratedResource,
    CurationImport.Kind.GOLDEN: GoldenResource,
}


class Extent(NamedTuple):
    """How many are in the file of one person. hidden: of collections that the person may not know of; older: than the
    newest MAX_ROWS."""

    rows: int
    hidden: int
    older: int


class Export(NamedTuple):
    text: str
    extent: Extent


def export_extent(*, by: User, kind: str) -> Extent:
    """What an export at this moment would hold, and leave out."""
    known = RESOURCES[kind](by=by).rows().count()
    rows = min(known, MAX_ROWS)
    return Extent(rows, max(0, _stored(kind) - known), known - rows)


def _stored(kind: str) -> int:
    if kind == CurationImport.Kind.CURATED:
        return CuratedAnswer.in_force().count()
    return GoldenQuestion.objects.count()


@transaction.atomic
def curation_export(*, by: User, kind: str) -> Export:
    """The newest first, at most as many as an import takes. It is logged."""
    resource = RESOURCES[kind](by=by)
    rows = list(resource.rows()[:MAX_ROWS])
    dataset = resource.export(rows)
    text = table_write([dataset.headers, *dataset])
    file_log(user=by, kind=DeskEvent.Kind.EXPORT, what=kind, counts={"rows": len(rows)})
    return Export(text, export_extent(by=by, kind=kind))
