"""The form of an assistant's page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from chat.api.assistants import AssistantCreateSerializer
from chat.labels import script_efforts
from chat.models import Assistant
from chat.models.assistants import MAX_INSTRUCTIONS
from ragsite.core.errors import AppError
from ragsite.core.localized import localized
from retrieval.knowledge.selectors import collections_offered

FILTERS = ("department", "doc_type", "policy_year")
FIELD_OF = {"workflow": "way", "options": "way", "filters": "department"}


class AssistantForm(forms.Form):
    """`values`: what was entered, as the services take it, once it is valid."""

    name = forms.CharField(label=_("Name"), max_length=100)
    description = forms.CharField(
        label=_("Description"),
        max_length=500,
        required=False,
        help_text=_("Shown where people choose it."),
    )
    instructions = forms.CharField(
        label=_("Instructions"),
        max_length=MAX_INSTRUCTIONS,
        required=False,
        widget=forms.Textarea({"rows": 6}),
        help_text=_(
            "How answers are worded: tone, form, length, terms. Answers still come from documents alone and cite them."
        ),
    )
    collections = forms.MultipleChoiceField(
        label=_("Where to look"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "None ticked: all that is searched by default. People search only those that they may read themselves."
        ),
    )
    way = forms.ChoiceField(label=_("How thorough the answer is"), required=False)
    model = forms.CharField(
        label=_("Model"),
        max_length=200,
        required=False,
        help_text=_("Empty: the site’s choice."),
        widget=forms.TextInput({"list": "assistant-models", "autocomplete": "off"}),
    )
    department = forms.CharField(label=_("Only this department"), max_length=100, required=False)
    doc_type = forms.CharField(label=_("Only this type"), max_length=100, required=False)
    policy_year = forms.IntegerField(
        label=_("Only this year"), min_value=1000, max_value=9999, required=False
    )
    tags = forms.CharField(
        label=_("Only these tags"),
        max_length=2000,
        required=False,
        help_text=_("Separated by commas."),
    )
    starters = forms.CharField(
        label=_("Questions to start with"),
        max_length=2000,
        required=False,
        widget=forms.Textarea({"rows": 4}),
        help_text=_("One per line, four at most."),
    )
    of_site = forms.BooleanField(
        label=_("It belongs to the site"),
        required=False,
        help_text=_("All administrators may change it. It stays private until it is shared."),
    )

    def __init__(self, data: Any = None, *, user: User, assistant: Assistant | None = None) -> None:
        self.ways = {_way_key(way): way for way in script_efforts()}
        super().__init__(data, initial=self._entered(assistant) if assistant else None)
        choices: list[tuple[str, Any]] = [
            (str(row.pk), row.address) for row in collections_offered(user=user)
        ]
        offered = {key for key, _label in choices}
        for key in assistant.collections if assistant else ():
            if key not in offered:
                choices.append((key, _("A collection that you can no longer read")))
        self.fields["collections"].choices = choices  # type: ignore[attr-defined]
        ways = [(key, way["label"]) for key, way in self.ways.items()]
        self.fields["way"].choices = [("", _("The site’s choice")), *ways]  # type: ignore[attr-defined]
        if assistant or not user.is_staff:
            del self.fields["of_site"]

    def _entered(self, assistant: Assistant) -> dict[str, Any]:
        same = [
            key
            for key, way in self.ways.items()
            if (way["workflow"], way["options"]) == (assistant.workflow, assistant.options)
        ]
        plain = ("name", "description", "instructions", "collections", "model")
        return {
            **{name: getattr(assistant, name) for name in plain},
            **{name: assistant.filters.get(name) for name in FILTERS},
            "tags": ", ".join(assistant.filters.get("tags", ())),
            "starters": "\n".join(assistant.starters),
            "way": same[0] if same else "",
        }

    def clean(self) -> None:
        """Checked as the API checks it."""
        entered = self.cleaned_data
        if self.errors:
            return
        tags = [tag.strip() for tag in entered["tags"].replace("，", ",").split(",")]
        filters = {name: entered[name] for name in FILTERS if entered[name]}
        plain = ("name", "description", "instructions", "collections", "model")
        way = self.ways.get(entered["way"], {"workflow": "", "options": {}})
        body = {
            **{name: entered[name] for name in plain},
            "workflow": way["workflow"] or None,
            "options": way["options"],
            "filters": {**filters, "tags": [tag for tag in tags if tag]},
            "starters": [line for line in entered["starters"].splitlines() if line.strip()],
            "of_site": entered.get("of_site", False),
        }
        checked = AssistantCreateSerializer(data=body)
        if checked.is_valid():
            self.values = checked.values()
            return
        for name, errors in checked.errors.items():
            self._refuse(name, _sentences(errors))

    def refuse(self, error: AppError) -> None:
        """What the service says of it."""
        if not error.fields:
            self.add_error(None, str(localized(error.message)))
        for name, reasons in error.fields.items():
            self._refuse(name, [str(localized(reason)) for reason in reasons])

    def _refuse(self, name: str, sentences: list[str]) -> None:
        field = FIELD_OF.get(name, name)
        self.add_error(field if field in self.fields else None, " ".join(sentences))


def _way_key(way: Mapping[str, Any]) -> str:
    """An effort and the workflow of its name are two choices."""
    return way["name"] if way["is_effort"] else f"workflow.{way['name']}"


def _sentences(errors: Any) -> list[str]:
    """Those of a list, or of what is nested."""
    if isinstance(errors, Mapping):
        return [sentence for one in errors.values() for sentence in _sentences(one)]
    return [str(error) for error in errors]
