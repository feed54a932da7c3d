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


class Export(NamedTuple):
    """rows: in the file. left_out: that are stored beside these, of collections that the person may not know of, or
    older than the newest MAX_ROWS."""

    text: str
    rows: int
    left_out: int


@transaction.atomic
def curation_export(*, by: User, kind: str) -> Export:
    """The newest first, at most as many as an import takes. It is logged."""
    resource = RESOURCES[kind](by=by)
    rows = list(resource.rows()[:MAX_ROWS])
    dataset = resource.export(rows)
    text = table_write([dataset.headers, *dataset])
    file_log(user=by, kind=DeskEvent.Kind.EXPORT, what=kind, counts={"rows": len(rows)})
    stored = (
        CuratedAnswer.in_force().count()
        if kind == CurationImport.Kind.CURATED
        else GoldenQuestion.objects.count()
    )
    return Export(text, len(rows), max(0, stored - len(rows)))
