"""Review of conversations: found by decision, rating and fallback, read as a whole, never edited."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chat.models import AnswerReview, DecisionStep, Message, Session, Source
from chat.ratings import get_ratings
from chat.review.filters import DecisionFilter, DegradedFilter, RatingFilter, StatusFilter, WorkflowFilter
from chat.review.labels import SCORES, STEPS, score_label, step_label, step_status
from chat.review.marks import readings_log
from chat.review.transcript import conversation_page, reviewed_messages
from chat.selectors import with_message_count
from ragsite.core.localized import localized
from ragsite.core.read_only_admin import PartOfHistoryAdmin, ReadOnlyAdmin, excerpt, json_block

FILTERS = (DecisionFilter, RatingFilter, WorkflowFilter, DegradedFilter, StatusFilter)
PAGE_PARAMETER = "messages_page"


def _json_column(name: str, title: Any) -> Any:
    """A column that shows a field's JSON in lines, the site's sentences in it in the reader's language."""

    @admin.display(description=title)
    def column(self: Any, row: Any) -> SafeString | str:
        message = row if isinstance(row, Message) else row.message
        return json_block(localized(getattr(row, name), message.wordings))

    return column


class WorstRatedFirst(admin.ModelAdmin):
    """Mixin: with the rating filter on, the worst come first."""

    newest_first = "-created_at"

    def get_ordering(self, request: HttpRequest) -> list[str | Combinable]:
        """As the filter stands in the request."""
        rated = RatingFilter.parameter_name in request.GET
        return ["worst_score", self.newest_first] if rated else [self.newest_first]

    @admin.display(description=_("Worst rating"), ordering="worst_score")
    def worst_rating(self, row: Any) -> str:
        return "–" if row.worst_score is None else f"{row.worst_score}/5"


class LogsReading(admin.ModelAdmin):
    """Mixin: who opens a row has read its answers, which the desk's log tells as of who reads at the desk."""

    def answers_read(self, request: HttpRequest, row: Any) -> Q:
        """The answers that the page of this row shows, of `AnswerReview`."""
        return Q(message=row.message_id)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().change_view(request, object_id, form_url, extra_context)
        row: Model | None = self.get_object(request, object_id) if request.method == "GET" else None
        if row is not None and isinstance(request.user, User):
            readings_log(user=request.user, rows=AnswerReview.objects.filter(self.answers_read(request, row)))
        return response


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin, LogsReading, WorstRatedFirst):
    """Conversations; one of them opens as a transcript."""

    newest_first = "-updated_at"
    list_display = ["headline", "user", "message_count", "worst_rating", "workflow", "updated_at"]
    list_filter = FILTERS
    list_select_related = ["user"]
    list_per_page = 50
    search_fields = ["title__icontains_han", "user__username", "messages__text__icontains_han"]
    search_help_text = _("Title, user name, or words of a message")
    date_hierarchy = "created_at"
    show_full_result_count = False
    change_form_template = "admin/chat/session/change_form.html"
    fields = ["title", "user", "workflow", "collections", "created_at", "updated_at"]

    class Media:
        css = {"all": ["chat/review.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        return get_ratings().with_worst_score(with_message_count(Session.objects.all()))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {**(extra_context or {}), "score_names": list(map(score_label, SCORES))}
        context["page_parameter"] = PAGE_PARAMETER
        if request.method == "GET" and (session := self.get_object(request, object_id)):
            page = conversation_page(session=session, page=request.GET.get(PAGE_PARAMETER))
            context |= {"conversation_page": page, "conversation": reviewed_messages(page.object_list)}
        return super().change_view(request, object_id, form_url, context)

    def answers_read(self, request: HttpRequest, row: Session) -> Q:
        page = conversation_page(session=row, page=request.GET.get(PAGE_PARAMETER))
        return Q(message__in=[message.pk for message in page.object_list])

    @admin.display(description=_("Conversation"), ordering="title")
    def headline(self, session: Session) -> str:
        return excerpt(session.title) or gettext("Untitled %(id)s") % {"id": str(session.pk)[:8]}

    @admin.display(description=_("Messages"), ordering="message_count")
    def message_count(self, session: Session) -> int:
        return session.message_count  # type: ignore[attr-defined]


class SourceInline(PartOfHistoryAdmin, admin.TabularInline):
    """An answer's sources, below it."""

    model = Source
    extra = 0
    fields = ["marker", "title", "page", "heading", "passage", "scores", "cited"]
    readonly_fields = ["passage"]

    @admin.display(description=_("Text"))
    def passage(self, source: Source) -> str:
        return excerpt(source.text, 300)


class DecisionStepInline(PartOfHistoryAdmin, admin.TabularInline):
    """An answer's decision path, below it."""

    model = DecisionStep
    extra = 0
    fields = ["seq", "named", "state", "told", "started_ms", "duration_ms", "details"]
    readonly_fields = ["named", "state", "told", "details"]
    details = _json_column("detail", _("Detail"))

    @admin.display(description=_("Step"))
    def named(self, step: DecisionStep) -> str:
        return step_label(step.name)

    @admin.display(description=_("Status"))
    def state(self, step: DecisionStep) -> str:
        return step_status(step.status)

    @admin.display(description=_("Summary"))
    def told(self, step: DecisionStep) -> str:
        return str(localized(step.summary, step.message.wordings))


@admin.register(Message)
class MessageAdmin(PartOfHistoryAdmin, LogsReading, WorstRatedFirst):
    """Questions and answers, with all that an answer came from."""

    list_display = [
        "summary", "conversation", "user", "role", "decision", "status", "worst_rating", "workflow", "model",
        "fell_back", "total_ms", "created_at",
    ]  # fmt: skip
    list_filter = [*FILTERS, "role"]
    list_select_related = ["session__user"]
    list_per_page = 50
    search_fields = ["text__icontains_han", "session__user__username", "session__title__icontains_han"]
    date_hierarchy = "created_at"
    show_full_result_count = False
    inlines = [SourceInline, DecisionStepInline]
    fields = [
        "conversation", "user", "role", "text", "decision", "why", "status", "workflow", "model",
        "clarification_json", "request_json", "usage_json", "degraded_json", "error_json", "superseded", "created_at",
        "finished_at",
    ]  # fmt: skip
    readonly_fields = [
        "conversation", "user", "why", "clarification_json", "request_json", "usage_json", "degraded_json",
        "error_json",
    ]  # fmt: skip
    clarification_json = _json_column("clarification", _("Clarification"))
    request_json = _json_column("request", _("Asked with"))
    usage_json = _json_column("usage", _("Usage"))
    degraded_json = _json_column("degraded", _("Fallbacks"))
    error_json = _json_column("error", _("Error"))

    class Media:
        css = {"all": ["chat/review.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        return get_ratings().with_worst_score(Message.objects.all())

    def answers_read(self, request: HttpRequest, row: Message) -> Q:
        return Q(message=row) | Q(message__reply_to=row)

    @admin.display(description=_("Text"))
    def summary(self, message: Message) -> str:
        return excerpt(message.text) or gettext("(empty)")

    @admin.display(description=_("Conversation"), ordering="session__title")
    def conversation(self, message: Message) -> SafeString:
        url = reverse("admin:chat_session_change", args=[quote(str(message.session_id))])
        return format_html('<a href="{}#message-{}">{}</a>', url, message.pk, excerpt(str(message.session), 40))

    @admin.display(description=_("User"), ordering="session__user__username")
    def user(self, message: Message) -> str:
        return message.session.user.get_username()

    @admin.display(description=_("Reason"))
    def why(self, message: Message) -> str:
        return str(localized(message.reason, message.wordings)) or "–"

    @admin.display(description=_("Fallback"), boolean=True)
    def fell_back(self, message: Message) -> bool:
        return bool(message.degraded)

    @admin.display(description=_("Total ms"))
    def total_ms(self, message: Message) -> Any:
        return message.usage.get("total_ms", "–") if isinstance(message.usage, dict) else "–"


@admin.register(Source)
class SourceAdmin(PartOfHistoryAdmin, LogsReading):
    """Passages that were given to the model, over all answers."""

    list_display = ["title", "marker", "page", "cited", "passage", "answer"]
    list_filter = ["cited"]
    list_select_related = ["message"]
    search_fields = ["title__icontains_han", "text__icontains_han", "chunk_id"]
    date_hierarchy = "message__created_at"
    show_full_result_count = False

    @admin.display(description=_("Text"))
    def passage(self, source: Source) -> str:
        return excerpt(source.text)

    @admin.display(description=_("Answer"))
    def answer(self, source: Source) -> SafeString:
        return _answer_link(source.message)


class StepFilter(admin.SimpleListFilter):
    title = _("step")
    parameter_name = "name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, str(label)) for name, label in STEPS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[DecisionStep]) -> QuerySet[DecisionStep]:
        return queryset.filter(name=self.value()) if self.value() else queryset


@admin.register(DecisionStep)
class DecisionStepAdmin(PartOfHistoryAdmin, LogsReading):
    """Steps of all answers, to look for slow or failing ones."""

    list_display = ["named", "state", "told", "duration_ms", "answer"]
    fields = ["answer", "seq", "named", "state", "told", "started_ms", "duration_ms", "details"]
    readonly_fields = ["answer", "seq", "named", "state", "told", "started_ms", "duration_ms", "details"]
    details = _json_column("detail", _("Detail"))
    list_filter = ["status", StepFilter]
    list_select_related = ["message"]
    search_fields = ["summary", "=name"]
    date_hierarchy = "message__created_at"
    show_full_result_count = False

    @admin.display(description=_("Step"), ordering="name")
    def named(self, step: DecisionStep) -> str:
        return step_label(step.name)

    @admin.display(description=_("Status"), ordering="status")
    def state(self, step: DecisionStep) -> str:
        return step_status(step.status)

    @admin.display(description=_("Summary"), ordering="summary")
    def told(self, step: DecisionStep) -> str:
        return str(localized(step.summary, step.message.wordings))

    @admin.display(description=_("Answer"))
    def answer(self, step: DecisionStep) -> SafeString:
        return _answer_link(step.message)


def _answer_link(message: Message) -> SafeString:
    url = reverse("admin:chat_message_change", args=[quote(str(message.pk))])
    return format_html('<a href="{}">{}</a>', url, excerpt(message.text, 60) or gettext("(empty)"))
