"""The admin: its name, sign-in by the site's own page, people, their tokens and keys, webhooks, and the settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from auditlog.models import LogEntry as AuditEntry
from constance import config
from constance.admin import Config, ConstanceAdmin
from constance.forms import ConstanceForm
from constance.models import Constance
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_celery_beat.admin import CrontabScheduleAdmin, IntervalScheduleAdmin, PeriodicTaskAdmin
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from pydantic import ValidationError

from ragsite.accounts.personal_data import LastAdministratorError, deletion_start, export_response
from ragsite.core.localized import localized
from ragsite.core.read_only_admin import ReadOnlyAdmin
from ragsite.core.runtime_settings import with_values
from ragsite.core.sealed import seal
from ragsite.models import ApiToken, OwnPrompt, Webhook
from ragsite.operations.webhooks.delivery import new_secret
from ragsite.runtime import live_settings
from retrieval.engine.prompting import PromptError, parse_prompt, shipped_prompts

admin.site.site_header = "Ragsite"
admin.site.site_title = "Ragsite"
admin.site.index_title = _("Conversations, documents, ratings")
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
# The provider comes from the environment, secrets of second factors are shown to nobody, sessions end by their owner.
admin.site.unregister(
    (SocialApp, SocialToken, SocialAccount, Authenticator, UserSession, Config, User)
)
admin.site.unregister(AuditEntry)  # the log has a page of the site's own, which changes none of it
# Addresses are their owners' to confirm; nothing of the site runs by the sun or once.
admin.site.unregister(
    (EmailAddress, SolarSchedule, ClockedSchedule, PeriodicTask, IntervalSchedule, CrontabSchedule)
)


class OffTheIndex(admin.ModelAdmin):
    """Mixin: the page of health leads there, the index of tables does not."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(PeriodicTask)
class ScheduleAdmin(OffTheIndex, PeriodicTaskAdmin):
    """When what happens by the clock."""


@admin.register(CrontabSchedule)
class TimeOfDayAdmin(OffTheIndex, CrontabScheduleAdmin):
    """A choice of the schedule's form."""


@admin.register(IntervalSchedule)
class IntervalAdmin(OffTheIndex, IntervalScheduleAdmin):
    """A choice of the schedule's form."""


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin, admin.ModelAdmin):
    """Deleting one revokes it. None is added: its key would have to be shown."""

    list_display = ("user", "name", "prefix", "scopes", "created_at", "last_used_at", "expires_at")
    search_fields = ("user__username", "name", "prefix")
    fields = readonly_fields = (*list_display, "collection_ids", "keeps_conversations")
    date_hierarchy = "created_at"


class WebhookForm(forms.ModelForm):
    events = forms.MultipleChoiceField(
        label=_("Events"), choices=Webhook.Event.choices, widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = Webhook
        fields = ("name", "url", "events", "is_active")


@admin.register(Webhook)
class WebhookAdmin(admin.ModelAdmin):
    """Addresses that receive events. The secret is shown once."""

    form = WebhookForm
    list_display = ("name", "url", "is_active", "last_at", "last_error")

    def save_model(self, request: HttpRequest, obj: Webhook, form: Any, change: bool) -> None:
        if not change:
            secret = new_secret()
            obj.secret = seal(secret)
            message = gettext("The secret that signs its events, shown only this once: %(secret)s")
            messages.success(request, message % {"secret": secret})
        super().save_model(request, obj, form, change)


def is_above(request: HttpRequest, people: Iterable[User]) -> bool:
    """Whether there is an administrator among them, and the one who asks is none."""
    return not request.user.is_superuser and any(person.is_superuser for person in people)


@admin.register(User)
class PersonAdmin(UserAdmin):
    actions = ("take_second_factors", "export_data")

    @admin.action(
        description=_("Remove the second factors of people who lost them"), permissions=["change"]
    )
    def take_second_factors(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        if is_above(request, queryset):
            raise PermissionDenied
        for person in queryset.filter(authenticator__isnull=False).distinct():
            Authenticator.objects.filter(user=person).delete()
            self.log_change(request, person, gettext("Second factors removed."))
        messages.success(request, gettext("They now sign in with the password alone."))

    # ---------------------------------------------------------------------------------------- all that is a person's
    def has_personal_data_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ragsite.handle_personal_data")

    @admin.action(description=_("Export personal data"), permissions=["personal_data"])
    def export_data(
        self, request: HttpRequest, queryset: QuerySet[User]
    ) -> HttpResponseBase | None:
        if len(queryset) != 1:
            messages.error(request, gettext("Choose one person."))
            return None
        if is_above(request, queryset):
            raise PermissionDenied
        self.log_change(request, queryset[0], gettext("Personal data exported."))
        return export_response(queryset[0])

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return self.has_personal_data_permission(request) and not (obj and is_above(request, [obj]))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, ...]:
        """The names alone: what goes with an account may be a hundred thousand rows. And why it can't be."""
        names = [str(person) for person in objs]
        left = User.objects.filter(is_superuser=True, is_active=True).exclude(
            pk__in=[person.pk for person in objs]
        )
        is_last = any(person.is_superuser for person in objs) and not left.exists()
        refused = [localized(LastAdministratorError.message)] if is_last else []
        above = {self.opts.verbose_name} if is_above(request, objs) else set()
        return names, {self.opts.verbose_name_plural: len(names)}, above, refused

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        """A worker deletes, in small steps that leave nothing behind; a cascade would lock the database for as long as
        it takes, and forget files and the index."""
        try:
            deletion_start(user=obj)
        except LastAdministratorError as error:
            raise PermissionDenied from error
        messages.success(
            request, gettext("The account is closed, and everything in it is being deleted.")
        )

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for person in queryset:
            self.delete_model(request, person)


# ------------------------------------------------------------------------------------------------ settings
class SettingsForm(ConstanceForm):
    """A key that the environment decides is shown and can't be changed. What is as by default is not stored."""

    def __init__(self, initial: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        locked = live_settings.locked_settings() & settings.CONSTANCE_CONFIG.keys()
        shown = initial | {name: settings.CONSTANCE_CONFIG[name][0] for name in locked}
        super().__init__(shown, *args, **kwargs)
        for name in locked:
            self.fields[name].disabled = True

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        for name in settings.CONSTANCE_CONFIG.keys() & cleaned.keys():
            try:
                with_values(settings.RAG, {name: cleaned[name]})
            except ValidationError as error:
                self.add_error(name, error.errors()[0]["msg"].removeprefix("Value error, "))
        return cleaned

    def save(self) -> list[str]:
        """Returns the keys that were changed."""
        changed = [
            name
            for name in settings.CONSTANCE_CONFIG
            if self.cleaned_data[name] != self.initial[name]
        ]
        for name in changed:
            if (value := self.cleaned_data[name]) == settings.CONSTANCE_CONFIG[name][0]:
                Constance.objects.filter(key=name).delete()
            else:
                setattr(config, name, value)
        live_settings.refresh(at_once=True)
        return changed


@admin.register(Config)
class SettingsAdmin(ConstanceAdmin):
    change_list_form = SettingsForm

    def get_config_value(self, name: str, options: Any, form: Any, initial: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super().get_config_value(name, options, form, initial)
        if form.fields[name].disabled:
            shown["help_text"] += "\n" + gettext(
                "It is set by an environment variable, which decides."
            )
        return shown


# ------------------------------------------------------------------------------------------------ prompts
class OwnPromptForm(forms.ModelForm):
    """What a step could not use is refused here, where somebody can mend it."""

    class Meta:
        model = OwnPrompt
        fields = ("name", "text")
        widgets = {"text": forms.Textarea(attrs={"rows": 40, "cols": 110, "spellcheck": "false"})}
        help_texts = {
            "text": _(
                "The system text, a line ---, and the user text. Delete the prompt to use ours again."
            )
        }

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name not in shipped_prompts():
            raise forms.ValidationError(gettext("There is no prompt of this name."))
        return name

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        name = cleaned.get("name") or self.instance.name
        shipped = shipped_prompts().get(name)
        if shipped is None or "text" not in cleaned:
            return cleaned
        try:
            template = parse_prompt(name, cleaned["text"])
        except PromptError as error:
            raise forms.ValidationError({"text": str(localized(error.args[0]))}) from error
        given = parse_prompt(name, shipped).variables
        if unknown := sorted(template.variables - given):
            names = ", ".join(f"${variable}" for variable in unknown)
            known = ", ".join(f"${variable}" for variable in sorted(given))
            text = gettext("There is no %(names)s for this prompt; these are given: %(given)s.")
            raise forms.ValidationError({"text": text % {"names": names, "given": known}})
        return cleaned


@admin.register(OwnPrompt)
class OwnPromptAdmin(admin.ModelAdmin):
    """Prompts of the site's own; the shipped ones are chosen from a list, and changed from their text."""

    form = OwnPromptForm
    list_display = ("name", "updated_at")
    search_fields = ("name", "text")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Without a name: the list of those that there are."""
        if (
            request.method == "POST"
            or "name" in request.GET
            or not self.has_add_permission(request)
        ):
            return super().add_view(request, form_url, extra_context)
        own = set(OwnPrompt.objects.values_list("name", flat=True))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": gettext("Choose the prompt to change"),
            "names": [name for name in shipped_prompts() if name not in own],
        }
        return render(request, "admin/ragsite/ownprompt/choose.html", context)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        name = request.GET.get("name", "")
        return {"name": name, "text": shipped_prompts().get(name, "")}

    def get_readonly_fields(
        self, request: HttpRequest, obj: OwnPrompt | None = None
    ) -> tuple[str, ...]:
        return ("name",) if obj else ()
