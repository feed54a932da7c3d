from django.urls import URLPattern, URLResolver, include, path

from feedback.desk import (
    boost_pages,
    curated_api,
    curated_pages,
    evaluation_api,
    evaluation_pages,
    gap_api,
    gap_pages,
    golden_pages,
)
from feedback.ratings.api import MessageRatingApi, SourceRatingApi
from feedback.staff_api import evidence, golden, review, revisions

staff = [
    path("state", revisions.FeedbackStateApi.as_view(), name="feedback-state"),
    path("freeze", revisions.FreezeApi.as_view(), name="feedback-freeze"),
    path("reset", revisions.ResetApi.as_view(), name="feedback-reset"),
    path("events", revisions.EventsApi.as_view(), name="feedback-events"),
    path("revisions", revisions.RevisionsApi.as_view(), name="feedback-revisions"),
    path("revisions/<uuid:revision_id>", revisions.RevisionApi.as_view(), name="feedback-revision"),
    path("revisions/<uuid:revision_id>/boosts", revisions.RevisionBoostsApi.as_view(), name="feedback-boosts"),
    path("revisions/<uuid:revision_id>/release", revisions.RevisionReleaseApi.as_view(), name="feedback-release"),
    path("revisions/<uuid:revision_id>/hold", revisions.RevisionHoldApi.as_view(), name="feedback-hold"),
    path("revisions/<uuid:revision_id>/rollback", revisions.RevisionRollBackApi.as_view(), name="feedback-rollback"),
    path("evidence", evidence.EvidenceApi.as_view(), name="feedback-evidence"),
    path("manual-boosts", evidence.ManualBoostsApi.as_view(), name="feedback-manual-boosts"),
    path("manual-boosts/<uuid:boost_id>", evidence.ManualBoostApi.as_view(), name="feedback-manual-boost"),
    path("golden-questions", golden.GoldenQuestionsApi.as_view(), name="feedback-golden-questions"),
    path("golden-questions/sets", golden.GoldenSetsApi.as_view(), name="feedback-golden-sets"),
    path("golden-questions/import", golden.GoldenImportApi.as_view(), name="feedback-golden-import"),
    path("golden-questions/export", golden.GoldenExportApi.as_view(), name="feedback-golden-export"),
    path("golden-questions/<uuid:question_id>", golden.GoldenQuestionApi.as_view(), name="feedback-golden-question"),
    path("bursts", review.BurstsApi.as_view(), name="feedback-bursts"),
    path("bursts/<uuid:burst_id>", review.BurstApi.as_view(), name="feedback-burst"),
    path("bursts/<uuid:burst_id>/decide", review.BurstDecisionApi.as_view(), name="feedback-burst-decide"),
    path("gaps", review.GapsApi.as_view(), name="feedback-gaps"),
    path("gaps/export", review.GapsExportApi.as_view(), name="feedback-gaps-export"),
]

evaluation: list[URLPattern | URLResolver] = [
    path("review/evaluation/", evaluation_pages.evaluation_page, name="review_evaluation"),
    path("review/evaluation/new/", evaluation_pages.evaluation_new_page, name="review_evaluation_new"),
    path("review/evaluation/compare/", evaluation_pages.evaluation_compare_page, name="review_evaluation_compare"),
    path("review/evaluation/sets/<uuid:set_id>/", evaluation_pages.evaluation_set_page, name="review_evaluation_set"),
    path("review/evaluation/runs/<uuid:run_id>/", evaluation_pages.evaluation_run_page, name="review_evaluation_run"),
    path("api/review/evaluation/sets", evaluation_api.EvaluationSetsApi.as_view(), name="api-review-evaluation-sets"),
    path(
        "api/review/evaluation/sets/import",
        evaluation_api.EvaluationImportApi.as_view(),
        name="api-review-evaluation-import",
    ),
    path(
        "api/review/evaluation/sets/<uuid:set_id>",
        evaluation_api.EvaluationSetApi.as_view(),
        name="api-review-evaluation-set",
    ),
    path(
        "api/review/evaluation/sets/<uuid:set_id>/runs",
        evaluation_api.EvaluationSetRunsApi.as_view(),
        name="api-review-evaluation-runs",
    ),
    path(
        "api/review/evaluation/runs/<uuid:run_id>",
        evaluation_api.EvaluationRunApi.as_view(),
        name="api-review-evaluation-run",
    ),
    path(
        "api/review/evaluation/runs/<uuid:run_id>/questions",
        evaluation_api.EvaluationRunQuestionsApi.as_view(),
        name="api-review-evaluation-questions",
    ),
    path(
        "api/review/evaluation/runs/<uuid:run_id>/cancel",
        evaluation_api.EvaluationRunCancelApi.as_view(),
        name="api-review-evaluation-cancel",
    ),
    path(
        "api/review/evaluation/runs/<uuid:run_id>/acknowledge",
        evaluation_api.EvaluationRunAcknowledgeApi.as_view(),
        name="api-review-evaluation-acknowledge",
    ),
    path(
        "api/review/evaluation/compare",
        evaluation_api.EvaluationCompareApi.as_view(),
        name="api-review-evaluation-compare",
    ),
]

urlpatterns: list[URLPattern | URLResolver] = [
    *evaluation,
    path("api/messages/<uuid:message_id>/rating", MessageRatingApi.as_view(), name="message-rating"),
    path("api/messages/<uuid:message_id>/sources/<int:marker>/rating", SourceRatingApi.as_view(), name="source-rating"),
    path("api/feedback/", include(staff)),
    path("api/review/curated", curated_api.CuratedAnswersApi.as_view(), name="api-review-curated"),
    path("api/review/curated/<uuid:curated_id>", curated_api.CuratedAnswerApi.as_view(), name="api-review-curated-one"),
    path("api/review/gaps/<int:gap_id>", gap_api.GapApi.as_view(), name="api-review-gap"),
    path("api/review/gaps/<int:gap_id>/ask", gap_api.GapAskApi.as_view(), name="api-review-gap-ask"),
    path("api/review/gaps/<int:gap_id>/merge", gap_api.GapMergeApi.as_view(), name="api-review-gap-merge"),
    path("api/review/gaps/<int:gap_id>/split", gap_api.GapSplitApi.as_view(), name="api-review-gap-split"),
    path("review/gaps/", gap_pages.gaps_list, name="review_gaps"),
    path("review/gaps/<int:gap_id>/", gap_pages.gap_page, name="review_gap"),
    path("review/gaps/<int:gap_id>/change/", gap_pages.gap_change, name="review_gap_change"),
    path("review/gaps/<int:gap_id>/document/", gap_pages.gap_document, name="review_gap_document"),
    path("review/gaps/<int:gap_id>/merge/", gap_pages.gap_join, name="review_gap_merge"),
    path("review/gaps/<int:gap_id>/split/", gap_pages.gap_apart, name="review_gap_split"),
    path("review/gaps/<int:gap_id>/ask/", gap_pages.gap_again, name="review_gap_ask"),
    path("review/golden/new/", golden_pages.golden_new, name="review_golden_new"),
    path("review/golden/<uuid:question_id>/undo/", golden_pages.golden_undo, name="review_golden_undo"),
    path("review/boosts/", boost_pages.boosts_list, name="review_boosts"),
    path("review/boosts/new/", boost_pages.boost_new, name="review_boost_new"),
    path("review/boosts/<uuid:boost_id>/end/", boost_pages.boost_end, name="review_boost_end"),
    path("review/curated/", curated_pages.curated_list, name="review_curated"),
    path("review/curated/new/", curated_pages.curated_new, name="review_curated_new"),
    path("review/curated/<uuid:curated_id>/withdraw/", curated_pages.curated_withdraw, name="review_curated_withdraw"),
]
