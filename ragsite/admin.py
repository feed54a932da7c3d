"""The admin's name, its sign-in by the site's own page, the tokens and API keys of all accounts, to be revoked,
and the page on which staff give out or delete all that is a person's."""

from __future__ import annotations

from typing import Any

from allauth.account.decorators import secure_admin_login
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.authtoken.models import TokenProxy

from ragsite.accounts.forms import PersonalDataForm
from ragsite.accounts.personal_data import LastAdministratorError, deletion_start, export_response
from ragsite.core.localized import localized
from ragsite.models import ApiToken
from ragsite.settings_admin import SettingsAdmin

__all__ = ["SettingsAdmin"]  # registered where it is
admin.site.site_header = "Ragsite"
admin.site.site_title = "Ragsite"
admin.site.index_title = _("Conversations, documents, ratings")
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.unregister(TokenProxy)  # its table is empty: tokens are ApiTokens
# The provider comes from the environment, secrets of second factors are nobody's to read, sessions end by their owner.
admin.site.unregister((SocialApp, SocialToken, SocialAccount, Authenticator, UserSession))


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """Deleting one revokes it."""

    list_display = ("user", "name", "prefix", "scopes", "created_at", "last_used_at", "expires_at")
    search_fields = ("user__username", "name", "prefix")
    fields = readonly_fields = (*list_display, "collection_ids", "keeps_conversations")
    date_hierarchy = "created_at"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # the key would have to be shown

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False


admin.site.unregister(User)


@admin.register(User)
class PersonAdmin(UserAdmin):
    """Django's, with the page of a person's data."""

    change_form_template = "admin/auth/user/change_form.html"
    actions = ("take_second_factors",)

    @admin.action(description=_("Take the second factors away, of who has lost them"), permissions=["change"])
    def take_second_factors(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for person in queryset.filter(authenticator__isnull=False).distinct():
            if person.is_superuser and not request.user.is_superuser:
                raise PermissionDenied
            Authenticator.objects.filter(user=person).delete()
            self.log_change(request, person, gettext("Second factors taken away."))
        messages.success(request, gettext("They sign in by password alone now."))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """The page of a person's data deletes, in small steps that leave nothing behind; a cascade would lock the
        database for as long as it takes, and forget files and the index."""
        return False

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(self.personal_data)
        return [path("<int:user_id>/personal-data/", page, name="person_data"), *super().get_urls()]

    def personal_data(self, request: HttpRequest, user_id: int) -> HttpResponseBase:
        """The export and deletion of what is held of the person, each with a reason that is logged."""
        if not request.user.has_perm("ragsite.handle_personal_data"):
            raise PermissionDenied
        person = get_object_or_404(User, pk=user_id)
        form = PersonalDataForm(request.POST or None, username=person.username)
        if request.method == "POST" and form.is_valid() and (done := self._do(request, person, form)):
            return done
        context = self.admin_site.each_context(request) | {
            "title": gettext("Personal data of %(name)s") % {"name": person.username},
            "opts": self.opts,
            "person": person,
            "form": form,
        }
        return TemplateResponse(request, "admin/auth/user/personal_data.html", context)

    def _do(self, request: HttpRequest, person: User, form: PersonalDataForm) -> HttpResponseBase | None:
        """None: it is refused, and the form says why."""
        reason = {"reason": form.cleaned_data["reason"]}
        if not form.deletes:
            self.log_change(request, person, gettext("Personal data exported: %(reason)s") % reason)
            return export_response(person)
        try:
            deletion_start(user=person)
        except LastAdministratorError as error:
            form.add_error(None, localized(error.message))
            return None
        self.log_change(request, person, gettext("Personal data deleted: %(reason)s") % reason)
        messages.success(request, gettext("The account is closed, and everything in it is being deleted."))
        return redirect("admin:auth_user_changelist")
