"""Tables of feedback in the administration, to read: what users said, what ratings made of it, what staff entered."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from feedback.curation.golden import golden_list
from feedback.models import Evidence, GoldenQuestion, ManualBoost, Rating, Revision
from ragsite.core.api.user import asking_user
from ragsite.core.read_only_admin import PartOfHistoryAdmin, ReadOnlyAdmin


@admin.register(Rating)
class RatingAdmin(ReadOnlyAdmin, admin.ModelAdmin):
    list_display = ["user", "score", "tags", "message", "source", "updated_at"]
    list_filter = ["score"]
    list_select_related = ["user", "message", "source"]
    search_fields = ["comment__icontains_han", "user__username"]
    date_hierarchy = "updated_at"


@admin.register(Evidence)
class EvidenceAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    list_display = ["question", "document", "voter", "weight", "document_weight"]
    list_select_related = ["question", "passage__document", "voter"]
    search_fields = ["question__text__icontains_han", "voter__username", "passage__document__title__icontains_han"]
    show_full_result_count = False

    @admin.display(description=_("Document"), ordering="passage__document__title")
    def document(self, row: Evidence) -> str:
        return row.passage.document.title


@admin.register(Revision)
class RevisionAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    list_display = ["number", "status", "why", "made_by", "created_at", "live_at"]
    list_filter = ["status"]
    list_select_related = ["made_by"]
    fields = ["number", "status", "why", "parent", "made_by", "live_by", "created_at", "live_at", "ended_at"]
    readonly_fields = ["why"]

    @admin.display(description=_("Why"))
    def why(self, row: Revision) -> str:
        return row.reason_text


@admin.register(ManualBoost)
class ManualBoostAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    list_display = ["document", "multiplier", "hide", "question", "why", "created_by", "created_at", "ended_at"]
    list_select_related = ["document", "created_by"]
    search_fields = ["document__title__icontains_han", "why"]


@admin.register(GoldenQuestion)
class GoldenQuestionAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    """Of the collections that its reader may know of. They are made at the desk."""

    list_display = ["text", "collection", "expects", "created_by", "updated_at"]
    list_filter = ["expects"]
    list_select_related = ["collection__owner"]
    search_fields = ["text__icontains_han"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldenQuestion]:
        return golden_list(user=asking_user(request))
