"""Documents that have aged, as far as a person at the desk may read them, and how many answers rest on each.

Those that are overdue for review come with the ones first that most answers cite; the others by their age.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, Literal

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.models import Source
from chat.review.api import DeskView, schema
from chat.review.desk_page import desk_page
from chat.review.roles import DeskAccess
from ragsite.core.api.fields import StrictQuerySerializer, checked
from ragsite.core.api.pagination import KeysFirst, Pages, page_of, page_parameters
from retrieval.knowledge.selectors import is_overdue, visible_collections
from retrieval.models import Document

Shown = Literal["overdue", "oldest"]
SHOWN: dict[Shown, Any] = {
    "overdue": gettext_lazy("Review overdue"),
    "oldest": gettext_lazy("Oldest"),
}
WITHIN_DAYS = 90  # of the answers that are counted
MOST_RANKED = 2000  # overdue documents whose answers are counted for the order; more come by date
A_PAGE = 50


def ageing_documents(*, access: DeskAccess, show: Shown) -> QuerySet[Document]:
    """Current ones. overdue: by answers, else, where there are more than MOST_RANKED, those first that wait longest."""
    readable = visible_collections(access.user).values("pk")
    documents = Document.objects.filter(collection__in=readable, superseded_at=None).select_related(
        "collection__owner", "uploaded_by"
    )
    if show == "oldest":
        return documents.order_by("created_at", "-pk")
    documents = documents.filter(is_overdue())
    if is_ranked(documents):
        answers = _answers().filter(document_id=OuterRef("pk")).values("answers")
        ranked = documents.annotate(answer_count=Coalesce(Subquery(answers), 0))
        return ranked.order_by("-answer_count", "review_due", "pk")
    return documents.order_by("review_due", "pk")


def is_ranked(overdue: QuerySet[Document]) -> bool:
    return not overdue.order_by()[MOST_RANKED : MOST_RANKED + 1].exists()


def with_answers(documents: Iterable[Document]) -> Sequence[Document]:
    """Each with `answer_count`: answers of the last WITHIN_DAYS that cite it."""
    page = list(documents)
    rows = _answers().filter(document_id__in=[one.pk for one in page])
    counts = dict(rows.values_list("document_id", "answers"))
    for document in page:
        document.answer_count = counts.get(document.pk, 0)  # type: ignore[attr-defined]
    return page


def _answers() -> QuerySet[Any, Any]:
    since = timezone.now() - timedelta(days=WITHIN_DAYS)
    cited = Source.objects.filter(
        cited=True,
        message__created_at__gte=since,
        message__superseded=False,
    )
    return (
        cited.order_by()
        .values("document_id")
        .annotate(answers=Count("message", distinct=True))
        .values("document_id", "answers")
    )


def owner_of(document: Document) -> str:
    """The person responsible for it: its uploader, else the owner of its collection; empty: the site."""
    keeper = document.uploaded_by or document.collection.owner
    return keeper.get_username() if keeper else ""


# ------------------------------------------------------------------------------------------------ page and API
@desk_page(query=("show", "page"))
def ageing_page(request: HttpRequest, *, access: DeskAccess) -> HttpResponse:
    show: Shown = "oldest" if request.GET.get("show") == "oldest" else "overdue"
    documents = ageing_documents(access=access, show=show)
    page = KeysFirst(documents, A_PAGE).get_page(request.GET.get("page"))
    context = {
        "section": "review",
        "access": access,
        "page": page,
        "rows": [(document, owner_of(document)) for document in with_answers(page)],
        "choices": SHOWN.items(),
        "show": show,
        "days": WITHIN_DAYS,
        "by_date": show == "overdue" and page.paginator.count > MOST_RANKED,
    }
    return render(request, "review/ageing.html", context)


class AgeingQuery(StrictQuerySerializer):
    show = serializers.ChoiceField(
        choices=list(SHOWN),
        default="overdue",
        help_text="overdue: the most cited first; oldest: by when they were added.",
    )
    beside = ("page", "page_size", "format")


class AgeingDocumentSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    title = serializers.CharField()
    collection = serializers.CharField(source="collection.name")
    collection_id = serializers.UUIDField()
    owner = serializers.SerializerMethodField(
        help_text="Who uploaded it, else the owner of its collection; empty: the site."
    )
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    review_due = serializers.DateField(allow_null=True)
    overdue = serializers.BooleanField()
    answers = serializers.IntegerField(
        source="answer_count", help_text=f"That cite it, of the last {WITHIN_DAYS} days."
    )

    def get_owner(self, document: Document) -> str:
        return owner_of(document)


class AgeingDocumentsApi(DeskView):
    """`/api/review/documents`."""

    @schema(
        operation_id="review_documents",
        parameters=[AgeingQuery, *page_parameters()],
        responses={200: page_of("AgeingDocumentPage", AgeingDocumentSerializer(many=True))},
    )
    def get(self, request: Request) -> Response:
        """Documents that have aged, and how many answers rest on each."""
        show = checked(AgeingQuery, request.query_params)["show"]
        documents = ageing_documents(access=self.access, show=show)
        return Pages().answer(
            documents,
            self,
            lambda page: AgeingDocumentSerializer(with_answers(page), many=True).data,
        )
