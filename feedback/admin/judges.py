"""What the words of the models that judge evidence have been worth, and by what."""

from __future__ import annotations

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from feedback.admin.pages import column
from feedback.models import JudgeAgreement, JudgeProbe
from feedback.rounds.judges.records import record_of
from ragsite.core.localized import said
from ragsite.core.read_only_admin import PartOfHistoryAdmin
from retrieval.steps.judge.probes import probes


@admin.register(JudgeAgreement)
class JudgeAgreementAdmin(PartOfHistoryAdmin, admin.ModelAdmin):
    """A word is heeded by its log-likelihood ratio, in nats; near 0 the model is not asked."""

    list_display = ["model", "yes_worth", "no_worth", "probes", "golden", "ratings", "updated_at"]
    fields = [
        "model",
        "yes_worth",
        "no_worth",
        "where_held",
        "where_absent",
        "wrong",
        "golden",
        "ratings",
        "updated_at",
    ]
    readonly_fields = ["yes_worth", "no_worth", "where_held", "where_absent", "wrong"]
    search_fields = ["model"]

    yes_worth = column(_("What its yes adds"), lambda row: f"{record_of(row).llr_yes:+.2f}")
    no_worth = column(_("What its no takes"), lambda row: f"{-record_of(row).llr_no:+.2f}")
    where_held = column(
        _("Where the passages answered"),
        lambda row: said("yes {yes}, no {no}", yes=f"{row.yes_held:.1f}", no=f"{row.no_held:.1f}"),
    )
    where_absent = column(
        _("Where they did not"),
        lambda row: said("yes {yes}, no {no}", yes=f"{row.yes_absent:.1f}", no=f"{row.no_absent:.1f}"),
    )

    @admin.display(description=_("Known cases that it got wrong"))
    def wrong(self, row: JudgeAgreement) -> SafeString | str:
        questions = {probe.number: probe.question for probe in probes()}
        missed = JudgeProbe.objects.filter(model=row.model, said__isnull=False).order_by("number")
        lines = [
            (said("It said yes: {question}", question=questions[case.number])
             if case.said else said("It said no: {question}", question=questions[case.number]),)
            for case in missed if case.said != case.held and case.number in questions
        ]  # fmt: skip
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", lines)) if lines else "–"
