"""Golden questions: what the guard measures a revision on."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _

from chat.models import Message, Source
from chat.review.queue import collections_known
from feedback.admin.links import answer_link, page_url
from feedback.admin.pages import Page, Tool, ToolsAdmin, column
from feedback.curation import golden_files
from feedback.curation.downloads import golden_file
from feedback.curation.golden import (
    Relevant,
    golden_check,
    golden_delete,
    golden_list,
    golden_log,
    golden_save,
    golden_sets,
    golden_switch,
)
from feedback.curation.golden_files import Imported, golden_import
from feedback.models import GoldenQuestion, GoldenRelevance, RevisionEvent
from feedback.rounds.evidence import searched_for
from ragsite.core.api.user import asking_user
from ragsite.core.errors import InvalidInputError
from ragsite.core.localized import localized, said
from ragsite.core.read_only_admin import excerpt
from ragsite.core.wording import worded
from retrieval.models import Chunk, Collection, Document

ADD = "feedback.add_goldenquestion"
LIST = "feedback_goldenquestion_changelist"
GRADES = ((0, _("not relevant")), *GoldenRelevance.Grade.choices)


def _file_help() -> str:
    line = {"question": said("How many books may I borrow?"), "collection": "policies", "relevant": ["loans.md"]}
    return said("JSONL, UTF-8, one question a line: {line}", line=json.dumps(line, ensure_ascii=False))


class ImportForm(forms.Form):
    file = forms.FileField(label=_("File"), help_text=lazy(_file_help, str)())


class SetFilter(admin.SimpleListFilter):
    title = _("set")
    parameter_name = "set"
    NONE = "-"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = [row["set_name"] for row in golden_sets(user=asking_user(request))]
        return [(name or self.NONE, name or said("in none")) for name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[GoldenQuestion]) -> QuerySet[GoldenQuestion]:
        name = self.value()
        return queryset if name is None else queryset.filter(set_name="" if name == self.NONE else name)


class RelevanceFormSet(forms.BaseInlineFormSet):
    def clean(self) -> None:
        """With the question as it is about to be saved: its documents have to be in its collection."""
        super().clean()
        if any(self.errors) or self.instance.collection_id is None:
            return
        rows = [form.cleaned_data for form in self.forms if form.cleaned_data and not form.cleaned_data.get("DELETE")]
        relevant = [
            Relevant(document_id=row["document"].pk, chunk_id=row.get("chunk_id"), grade=row["grade"]) for row in rows
        ]
        try:
            golden_check(self.instance.text, self.instance.collection, relevant, expects=self.instance.expects)
        except InvalidInputError as error:
            raise forms.ValidationError(
                [str(localized(text)) for texts in error.fields.values() for text in texts]
            ) from error


class RelevanceInline(admin.TabularInline):
    model = GoldenRelevance
    formset = RelevanceFormSet
    extra = 1
    autocomplete_fields = ["document"]
    fields = ["document", "chunk_id", "grade"]
    verbose_name_plural = _("what should be found for it")


@admin.register(GoldenQuestion)
class GoldenQuestionAdmin(ToolsAdmin):
    list_display = [
        "question",
        "set_name",
        "collection",
        "expects",
        "relevant_count",
        "source",
        "enabled",
        "updated_at",
    ]
    list_filter = ["enabled", SetFilter, "expects", "source", ("collection", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["collection", "created_by"]
    search_fields = ["text__icontains_han", "set_name"]
    date_hierarchy = "created_at"
    inlines = [RelevanceInline]
    autocomplete_fields = ["collection"]
    fields = [
        "text", "collection", "set_name", "expects", "enabled", "source", "reviewed_answer", "created_by", "created_at",
        "updated_at",
    ]  # fmt: skip
    readonly_fields = ["source", "reviewed_answer", "created_by", "created_at", "updated_at"]
    actions = ["switch_on", "switch_off", "export_selected"]
    nothing_yet = _(
        "No golden questions: a revision is then judged by what it changes, not by what is right. Make them from "
        "answers in reviewed conversations, import them, or add them one by one."
    )
    pages = [
        Page("import/", "import_view", "feedback_golden_import", ADD),
        Page("export/", "export_view", "feedback_golden_export", "feedback.view_goldenquestion"),
        Page("from-answer/<uuid:message_id>/", "from_answer_view", "feedback_golden_from_answer", ADD),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldenQuestion]:
        return golden_list(user=asking_user(request)).prefetch_related("relevant")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "collection":
            kwargs["queryset"] = collections_known(asking_user(request))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def list_tools(self, request: HttpRequest) -> list[Tool]:
        tools = [Tool(said("Export as JSONL"), page_url("feedback_golden_export"))]
        return (
            [Tool(said("Import JSONL"), page_url("feedback_golden_import")), *tools]
            if request.user.has_perm(ADD)
            else tools
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields if obj else ["text", "collection", "set_name", "expects", "enabled"]

    def save_model(self, request: HttpRequest, obj: GoldenQuestion, form: Any, change: bool) -> None:
        if not change:
            obj.created_by = asking_user(request)
        obj.save()

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        action = RevisionEvent.Action.GOLDEN_CHANGED if change else RevisionEvent.Action.GOLDEN_ADDED
        if not change or form.has_changed() or any(formset.has_changed() for formset in formsets):
            golden_log(action, form.instance, by=asking_user(request))

    def delete_model(self, request: HttpRequest, obj: GoldenQuestion) -> None:
        golden_delete(question=obj, by=asking_user(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[GoldenQuestion]) -> None:
        for question in queryset:
            golden_delete(question=question, by=asking_user(request))

    # -------------------------------------------------------------------------------------------- in and out
    def import_view(self, request: HttpRequest) -> HttpResponse:
        def act(file: UploadedFile) -> Imported:
            content = file.read(golden_files.GOLDEN_IMPORT_BYTES + 1)
            return golden_import(content=content, by=asking_user(request))

        return self.form_page(
            request,
            title=said("Import golden questions"),
            explanation=said(
                "One question a line, all of them or none. A question that its collection has already, in the "
                "same words, is written anew."
            ),
            button=said("Import"),
            back=page_url(LIST),
            act=act,
            done=lambda imported: said(
                "Questions added: {added}; written anew: {updated}.", added=imported.added, updated=imported.updated
            ),
            form=ImportForm,
        )

    def export_view(self, request: HttpRequest) -> HttpResponse:
        return golden_file(self.get_queryset(request))

    @admin.action(description=_("Export as JSONL"), permissions=["view"])
    def export_selected(self, request: HttpRequest, queryset: QuerySet[GoldenQuestion]) -> HttpResponse:
        return golden_file(queryset)

    @admin.action(description=_("Measure them"), permissions=["change"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[GoldenQuestion]) -> None:
        count = golden_switch(questions=queryset, enabled=True, by=asking_user(request))
        self.message_user(request, said("Measured from now on: {count}.", count=count))

    @admin.action(description=_("Leave them out"), permissions=["change"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[GoldenQuestion]) -> None:
        count = golden_switch(questions=queryset, enabled=False, by=asking_user(request))
        self.message_user(request, said("Left out from now on: {count}.", count=count))

    # -------------------------------------------------------------------------------------------- from an answer
    def from_answer_view(self, request: HttpRequest, message_id: UUID) -> HttpResponse:
        """A reviewed answer's question, with those of its sources that the reviewer finds relevant."""
        if not request.user.has_perm("chat.view_message"):
            raise PermissionDenied
        answers = Message.objects.filter(role=Message.Role.ASSISTANT).select_related("reply_to")
        message = get_object_or_404(answers, pk=message_id)
        form, sources = from_answer_form(message, asking_user(request))

        def act(text: str, collection: Collection, level: str, **grades: int) -> None:
            golden_save(
                by=asking_user(request),
                text=text,
                collection=collection,
                relevant=_relevant([(source, grades[name]) for name, source in sources.items() if grades[name]], level),
                source=GoldenQuestion.Origin.REVIEWED,
                message=message,
            )

        return self.form_page(
            request,
            title=said("Make a golden question"),
            explanation=said(
                "What should be found for this question? The guard holds a revision that finds it less well."
            ),
            button=said("Make it"),
            back=page_url(LIST),
            act=act,
            done=said("The guard measures this question from now on."),
            form=form,
            facts=[(said("Answer"), excerpt(message.text, 300))],
        )

    # -------------------------------------------------------------------------------------------- columns
    question = column(_("Question"), lambda question: excerpt(question.text), ordering="text")
    relevant_count = column(_("Relevant"), lambda question: len(question.relevant.all()))
    reviewed_answer = column(
        _("Reviewed answer"), lambda question: answer_link(question.message) if question.message else "–"
    )


def from_answer_form(message: Message, user: User) -> tuple[type[forms.Form], dict[str, Source]]:
    """The form, and the sources by the names of their fields: those whose documents are still there."""
    source_rows = message.sources.exclude(document_id=None).order_by("marker")
    known = collections_known(user)
    documents = Document.objects.filter(collection__in=known.order_by().values("pk")).in_bulk(
        source_rows.values_list("document_id", flat=True)
    )
    sources = {f"source_{source.marker}": source for source in source_rows if source.document_id in documents}
    collections = {document.collection_id for document in documents.values()}
    asked = searched_for([message.pk]).get(message.pk) or (message.reply_to.text if message.reply_to else "")
    fields: dict[str, forms.Field] = {
        "text": forms.CharField(
            label=_("Question"), max_length=4000, initial=asked, widget=forms.Textarea(attrs={"rows": 2, "cols": 80})
        ),
        "collection": forms.ModelChoiceField(
            known.filter(pk__in=collections),
            label=_("Collection"),
            initial=next(iter(sorted(collections, key=str)), None),
        ),
        "level": forms.ChoiceField(
            label=_("What is relevant"),
            choices=[("document", _("the documents as a whole")), ("chunk", _("just these passages"))],
        ),
    }
    for name, source in sources.items():
        fields[name] = forms.TypedChoiceField(
            label=f"[{source.marker}] {excerpt(source.title, 60)}",
            choices=GRADES,
            coerce=int,
            initial=3 if source.cited else 0,
            help_text=excerpt(source.text, 200),
        )
    return type("FromAnswerForm", (forms.Form,), fields), sources


def _relevant(graded: list[tuple[Source, int]], level: str) -> list[Relevant]:
    """Passages, or at level `document` their documents, each with its best grade. Raises InvalidInputError."""
    if level == "document":
        best: dict[UUID, int] = {}
        for source, grade in graded:
            assert source.document_id is not None
            best[source.document_id] = max(grade, best.get(source.document_id, 0))
        return [Relevant(document_id=key, grade=grade) for key, grade in best.items()]
    relevant = []
    for source, grade in graded:
        if not Chunk.objects.filter(pk=source.chunk_id, document=source.document_id).exists():
            gone = worded("This passage is not in its document any more; take the document as a whole.")
            raise InvalidInputError(fields={f"source_{source.marker}": [gone]})
        assert source.document_id is not None
        relevant.append(Relevant(document_id=source.document_id, chunk_id=UUID(source.chunk_id), grade=grade))
    return relevant
