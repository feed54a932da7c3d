"""The administration of what runs again and again, in its reader's language.

The library says some of it in English alone: its rounds are named by our migrations, a crontab is told in words by a
package that is not asked for a language, and what is wrong with a schedule, and its form's script, are not translated
(templates/admin/djcelery).
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from cron_descriptor import (  # type: ignore[import-untyped]
    FormatException,
    MissingFieldException,
    Options,
    WrongArgumentException,
    get_description,
)
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import ValidationError
from django.forms import CheckboxInput
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _
from django_celery_beat.admin import (
    ClockedScheduleAdmin,
    CrontabScheduleAdmin,
    IntervalScheduleAdmin,
    PeriodicTaskAdmin,
    PeriodicTaskForm,
    PeriodicTaskInline,
    SolarScheduleAdmin,
)
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule

from retrieval.text.language import converted

LOCALES = {"zh-hans": "zh_CN", "zh-hant": "zh_CN"}  # the package knows one script
admin.site.unregister([PeriodicTask, CrontabSchedule, ClockedSchedule, IntervalSchedule, SolarSchedule])


def crontab_told(crontab: CrontabSchedule) -> str:
    """When it runs, as a sentence; as it was written where that is no longer possible."""
    language = get_language() or "en"
    written = f"{crontab.minute} {crontab.hour} {crontab.day_of_month} {crontab.month_of_year} {crontab.day_of_week}"
    options = Options()
    options.locale_code = LOCALES.get(language, "en_US")
    try:
        told = str(get_description(written, options))
    except (FormatException, MissingFieldException, WrongArgumentException):
        told = written
    return f"{converted(told, 's2tw') if language == 'zh-hant' else told} {crontab.timezone}"


class RoundForm(PeriodicTaskForm):
    def validate_unique(self) -> None:
        """Also whether it has one schedule: that the library says in plain English."""
        try:
            self.instance.validate_unique(exclude=self._get_validation_exclusions())
        except ValidationError as error:
            for one in error.error_list if hasattr(error, "error_list") else chain(*error.error_dict.values()):
                if type(one.message) is str:
                    one.message = gettext(one.message)
            self._update_errors(error)


class RoundsInline(PeriodicTaskInline):
    """What runs by a schedule."""

    fields = readonly_fields = ["named", "enabled", "last_run_at"]

    @admin.display(description=_("Name"))
    def named(self, row: PeriodicTask) -> str:
        return gettext(row.name)


@admin.register(PeriodicTask)
class RoundAdmin(PeriodicTaskAdmin):
    form = RoundForm
    list_display = ["named", "enabled", "scheduler", "start_time", "last_run_at", "one_off"]

    @admin.display(description=_("Name"), ordering="name")
    def named(self, row: PeriodicTask) -> str:
        return gettext(row.name)

    def action_checkbox(self, row: PeriodicTask) -> SafeString:
        label = gettext("Select this object for an action - {}").format(gettext(row.name))
        box = CheckboxInput({"class": "action-select", "aria-label": label}, lambda _value: False)
        return box.render(ACTION_CHECKBOX_NAME, str(row.pk))

    @admin.display(description=_("Schedule"))
    def scheduler(self, row: PeriodicTask) -> str:
        return crontab_told(row.crontab) if row.crontab else str(row.scheduler)

    @admin.display(description=_("Crontab in words"))
    def crontab_translation(self, row: PeriodicTask) -> str:
        return crontab_told(row.crontab) if row.crontab else "–"

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        answer = super().changeform_view(request, object_id, form_url, extra_context)
        if getattr(answer, "context_data", None):
            told = {crontab.pk: crontab_told(crontab) for crontab in CrontabSchedule.objects.all()}
            answer.context_data["readable_crontabs"] = told
        return answer


@admin.register(CrontabSchedule)
class CrontabAdmin(CrontabScheduleAdmin):
    list_display = ["__str__", "in_words"]
    inlines = [RoundsInline]
    fields = ["in_words", "minute", "hour", "day_of_month", "month_of_year", "day_of_week", "timezone"]
    readonly_fields = ["in_words"]

    @admin.display(description=_("In words"))
    def in_words(self, row: CrontabSchedule) -> str:
        return crontab_told(row)


@admin.register(IntervalSchedule)
class IntervalAdmin(IntervalScheduleAdmin):
    inlines = [RoundsInline]


@admin.register(SolarSchedule)
class SolarAdmin(SolarScheduleAdmin):
    inlines = [RoundsInline]


@admin.register(ClockedSchedule)
class ClockedAdmin(ClockedScheduleAdmin):
    inlines = [RoundsInline]
