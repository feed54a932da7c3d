"""What users said of answers, in the administration, to read. What ratings make of it is at the review desk."""

from __future__ import annotations

from django.contrib import admin

from feedback.models import Rating
from ragsite.core.read_only_admin import ReadOnlyAdmin


@admin.register(Rating)
class RatingAdmin(ReadOnlyAdmin, admin.ModelAdmin):
    list_display = ["user", "score", "tags", "message", "source", "updated_at"]
    list_filter = ["score"]
    list_select_related = ["user", "message", "source"]
    search_fields = ["comment__icontains_han", "user__username"]
    date_hierarchy = "updated_at"
