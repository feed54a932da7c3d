"""The form of an assistant's page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from chat.api.assistants import AssistantCreateSerializer
from chat.assistant_selectors import readable_addresses
from chat.labels import script_efforts
from chat.models import Assistant
from chat.models.assistants import MAX_INSTRUCTIONS
from ragsite.core.errors import AppError
from ragsite.core.localized import localized
from retrieval.knowledge.choices import collections_offered

FILTERS = ("department", "doc_type", "policy_year")
AS_IT_IS = "as_it_is"  # a way that a program has chosen and this form does not offer
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
    with_own = forms.BooleanField(
        label=_("Each person’s own collections, too"),
        required=False,
        help_text=_("Beside those that are ticked."),
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
        widget=forms.Textarea({"rows": 3}),
        help_text=_("One per line."),
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
        self.ways = {_effort_key(way): way for way in script_efforts()}
        entered = self._entered(assistant) if assistant else {}
        super().__init__(data, initial=entered)
        self.hidden = []  # ids of the collections that the user can no longer read
        choices: dict[str, Any] = {
            str(row.pk): row.address for row in collections_offered(user=user)
        }
        if assistant:
            choices |= readable_addresses(assistant, user)
            self.hidden = [key for key in assistant.collections if key not in choices]
        choices |= {key: _("A collection that you can no longer read") for key in self.hidden}
        self.fields["collections"].choices = list(choices.items())  # type: ignore[attr-defined]
        ways = [("", _("The site’s choice"))]
        ways += [(key, way["label"]) for key, way in self.ways.items()]
        if entered.get("way") == AS_IT_IS:
            ways.append((AS_IT_IS, _("As it is set now, by a program")))
        self.fields["way"].choices = ways  # type: ignore[attr-defined]
        if assistant or not user.is_staff:
            del self.fields["of_site"]

    def _entered(self, assistant: Assistant) -> dict[str, Any]:
        same = [
            key
            for key, way in self.ways.items()
            if (way["workflow"], way["options"]) == (assistant.workflow, assistant.options)
        ]
        plain = ("name", "description", "instructions", "collections", "with_own", "model")
        other = AS_IT_IS if assistant.workflow or assistant.options else ""
        return {
            **{name: getattr(assistant, name) for name in plain},
            **{name: assistant.filters.get(name) for name in FILTERS},
            "tags": "\n".join(assistant.filters.get("tags", ())),
            "starters": "\n".join(assistant.starters),
            "way": same[0] if same else other,
        }

    def clean(self) -> None:
        """Checked as the API checks it."""
        entered = self.cleaned_data
        if self.errors:
            return
        ticked = entered["collections"]
        filters = {name: entered[name] for name in FILTERS if entered[name]}
        plain = ("name", "description", "instructions", "with_own", "model")
        body = {
            **{name: entered[name] for name in plain},
            **self._way(entered["way"]),
            "collections": [key for key in ticked if key not in self.hidden],
            "filters": {**filters, "tags": _lines(entered["tags"])},
            "starters": _lines(entered["starters"]),
            "of_site": entered.get("of_site", False),
        }
        checked = AssistantCreateSerializer(data=body)
        if checked.is_valid():
            forgotten = [key for key in self.hidden if key not in ticked]
            self.values = checked.values() | {"forgotten": forgotten}
            return
        for name, errors in checked.errors.items():
            self._refuse(name, _sentences(errors))

    def _way(self, chosen: str) -> dict[str, Any]:
        """What of the API's fields it is; nothing where it stays as it is."""
        if chosen == AS_IT_IS:
            return {}
        way = self.ways.get(chosen, {"workflow": "", "options": {}})
        return {"workflow": way["workflow"] or None, "options": way["options"]}

    def refuse(self, error: AppError) -> None:
        """What the service says of it."""
        if not error.fields:
            self.add_error(None, str(localized(error.message)))
        for name, reasons in error.fields.items():
            self._refuse(name, [str(localized(reason)) for reason in reasons])

    def _refuse(self, name: str, sentences: list[str]) -> None:
        field = FIELD_OF.get(name, name)
        self.add_error(field if field in self.fields else None, " ".join(sentences))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _effort_key(way: Mapping[str, Any]) -> str:
    """An effort and the workflow of its name are two choices."""
    return way["name"] if way["is_effort"] else f"workflow.{way['name']}"


def _sentences(errors: Any) -> list[str]:
    """Those of a list, or of what is nested."""
    if isinstance(errors, Mapping):
        return [sentence for one in errors.values() for sentence in _sentences(one)]
    return [str(error) for error in errors]
