"""The settings that superusers change while the site runs."""

from __future__ import annotations

from typing import Any

from constance import config
from constance.admin import Config, ConstanceAdmin
from constance.forms import ConstanceForm
from constance.models import Constance
from django.conf import settings
from django.contrib import admin
from django.utils.translation import gettext as _
from pydantic import ValidationError

from ragsite.core.changeable import with_values
from ragsite.runtime import live_settings


class SettingsForm(ConstanceForm):
    """A key that the environment decides is shown and can't be changed. What is as by default is not stored."""

    def __init__(self, initial: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        locked = live_settings.locked_settings()
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
        changed = [name for name in settings.CONSTANCE_CONFIG if self.cleaned_data[name] != self.initial[name]]
        for name in changed:
            if (value := self.cleaned_data[name]) == settings.CONSTANCE_CONFIG[name][0]:
                Constance.objects.filter(key=name).delete()
            else:
                setattr(config, name, value)
        live_settings.refresh(at_once=True)
        return changed


admin.site.unregister([Config])


@admin.register(Config)
class SettingsAdmin(ConstanceAdmin):
    change_list_form = SettingsForm

    def get_config_value(self, name: str, options: Any, form: Any, initial: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super().get_config_value(name, options, form, initial)
        if form.fields[name].disabled:
            shown["help_text"] += "\n" + _("It is set in the environment, which decides.")
        return shown
