"""The admin's name, its sign-in within the limits on guessing, and the tokens of all accounts, to be revoked."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from rest_framework.authtoken.models import TokenProxy

from ragsite.accounts.forms import AdminSignInForm
from ragsite.models import ApiToken

admin.site.site_header = "Ragsite"
admin.site.site_title = "Ragsite"
admin.site.index_title = _("Conversations, documents, ratings")
admin.site.login_form = AdminSignInForm
admin.site.unregister(TokenProxy)  # its table is empty: tokens are ApiTokens


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """Deleting one revokes it."""

    list_display = ("user", "name", "prefix", "created_at", "last_used_at")
    search_fields = ("user__username", "name", "prefix")
    fields = readonly_fields = ("user", "name", "prefix", "created_at", "last_used_at")
    date_hierarchy = "created_at"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # the key would have to be shown

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False
