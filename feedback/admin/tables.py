"""What users said and what ratings made of it, as tables to search."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from feedback.models import Evidence, ManualBoost, Rating, Revision, RevisionEvent
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
        return row.reason_said


@admin.register(ManualBoost)
class ManualBoostAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    list_display = ["document", "multiplier", "hide", "question", "why", "created_by", "created_at", "ended_at"]
    list_select_related = ["document", "created_by"]
    search_fields = ["document__title__icontains_han", "why"]


@admin.register(RevisionEvent)
class RevisionEventAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    list_display = ["at", "action", "by", "because", "revision", "document_id"]
    list_filter = ["action"]
    list_select_related = ["by", "revision"]
    date_hierarchy = "at"
    fields = ["at", "action", "by", "because", "revision", "document_id"]
    readonly_fields = ["because"]

    @admin.display(description=_("Why"))
    def because(self, row: RevisionEvent) -> str:
        return row.why_said
