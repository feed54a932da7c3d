from django.urls import URLPattern, URLResolver, path

from chat.review.settings import settings_api as api
from chat.review.settings import settings_pages as pages

urlpatterns: list[URLPattern | URLResolver] = [
    path("review/settings/", pages.settings_page, name="review_settings"),
    path("review/settings/draft/", pages.draft_page, name="review_settings_draft"),
    path("review/settings/prompts/<slug:name>/", pages.prompt_page, name="review_settings_prompt"),
    path("review/settings/tries/<int:pk>/", pages.try_page, name="review_settings_try"),
    path("review/settings/revisions/<int:number>/", pages.revision_page, name="review_settings_revision"),
    path("review/settings/revisions/<int:number>/restore/", pages.restore_page, name="review_settings_restore"),
    path("api/review/settings", api.SettingsApi.as_view(), name="api-review-settings"),
    path("api/review/settings/prompts/<str:name>", api.SettingsPromptApi.as_view(), name="api-review-settings-prompt"),
    path("api/review/settings/draft", api.SettingsDraftApi.as_view(), name="api-review-settings-draft"),
    path(
        "api/review/settings/draft/rebase",
        api.SettingsDraftRebaseApi.as_view(),
        name="api-review-settings-draft-rebase",
    ),
    path("api/review/settings/draft/try", api.SettingsDraftTryApi.as_view(), name="api-review-settings-draft-try"),
    path("api/review/settings/tries/<int:pk>", api.SettingsTryApi.as_view(), name="api-review-settings-tried"),
    path(
        "api/review/settings/tries/<int:pk>/cancel",
        api.SettingsTryCancelApi.as_view(),
        name="api-review-settings-tried-cancel",
    ),
    path("api/review/settings/draft/live", api.SettingsDraftLiveApi.as_view(), name="api-review-settings-draft-live"),
    path("api/review/settings/revisions", api.SettingsRevisionsApi.as_view(), name="api-review-settings-revisions"),
    path(
        "api/review/settings/revisions/<int:number>",
        api.SettingsRevisionApi.as_view(),
        name="api-review-settings-revision",
    ),
    path(
        "api/review/settings/revisions/<int:number>/restore",
        api.SettingsRestoreApi.as_view(),
        name="api-review-settings-restore",
    ),
]
