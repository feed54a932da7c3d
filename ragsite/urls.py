"""All addresses of the site. Each app brings its own."""

from allauth.urls import urlpatterns as allauth_urlpatterns
from csp.constants import SELF, UNSAFE_INLINE
from csp.decorators import csp_update
from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic.base import RedirectView
from django.views.i18n import set_language
from drf_spectacular.views import SpectacularSwaggerSplitView

from ragsite.accounts import api, pages
from ragsite.accounts.email import rollback_if_email_not_queued
from ragsite.administration import log_pages
from ragsite.administration import pages as administration
from ragsite.administration.budget_pages import budgets_page
from ragsite.operations import health
from ragsite.operations.keys import api as keys_api
from ragsite.operations.keys import pages as key_pages
from ragsite.operations.model_server import api as models_api
from ragsite.operations.model_server import embedding_api
from ragsite.operations.model_server import pages as models_pages
from ragsite.operations.notifications import api as notifications_api
from ragsite.operations.notifications import pages as notification_pages
from ragsite.palette import palette
from ragsite.schema_view import SchemaView
from ragsite.web.manifest import manifest, share
from ragsite.web.script_texts import script_texts

# Swagger UI writes style attributes while it draws; its scripts are files of ours.
swagger = SpectacularSwaggerSplitView.as_view(url_name="schema", http_method_names=["get", "head"])
docs = csp_update({"style-src": [SELF, UNSAFE_INLINE]})(swagger)

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("readyz/own", health.readyz_own, name="readyz-own"),
    path("metrics", health.metrics, name="metrics"),
    path(
        "admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")
    ),  # one door
    path("admin/", admin.site.urls),
    path("administration/", administration.overview_page, name="administration"),
    path("administration/health/", administration.health_page, name="administration_health"),
    path("administration/people/", administration.people_page, name="administration_people"),
    path(
        "administration/people/<int:user_id>/",
        administration.person_page,
        name="administration_person",
    ),
    path("administration/budgets/", budgets_page, name="administration_budgets"),
    path("administration/log/", log_pages.log_page, name="administration_log"),
    path("administration/log/export/", log_pages.log_export, name="administration_log_export"),
    path("accounts/invitation/<str:token>/", administration.invitation_page, name="invitation"),
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg"))),
    path("texts/<slug:page>.js", script_texts, name="script_texts"),
    path("palette.json", palette, name="palette"),
    path("manifest/<slug:language>.webmanifest", manifest, name="manifest"),
    path("share/", share, name="share"),
    path("accounts/", pages.account, name="account"),
    path("accounts/tokens/<uuid:token_id>/revoke/", pages.revoke_token, name="token_revoke"),
    path("accounts/sign-out-everywhere/", pages.leave_everywhere, name="sign_out_everywhere"),
    path("accounts/keys/new/", key_pages.new_key, name="key_new"),
    path("accounts/keys/revoke-all/", key_pages.revoke_all, name="keys_revoke_all"),
    path("accounts/language/", set_language, name="set_language"),
    path("accounts/export/", pages.export, name="account_export"),
    path("accounts/delete/", pages.delete_account, name="account_delete"),
    path("accounts/sessions/", pages.leave_others, name="sign_out_others"),
    path("accounts/oidc/login/", pages.oidc_login),  # before allauth's, which it calls
    path("accounts/", include(rollback_if_email_not_queued(allauth_urlpatterns))),
    path("api/auth/token", api.TokenApi.as_view(), name="auth_token"),
    path("api/keys", keys_api.KeysApi.as_view(), name="api_keys"),
    path("api/keys/<uuid:key_id>", keys_api.KeyApi.as_view(), name="api_key"),
    path("notifications/", notification_pages.notifications_page, name="notifications"),
    path("notifications/read/", notification_pages.all_read, name="notifications_read"),
    path("notifications/emails/", notification_pages.email_wishes, name="notification_emails"),
    path(
        "notifications/<int:notification_id>/",
        notification_pages.notification_act,
        name="notification",
    ),
    path("api/notifications", notifications_api.NotificationsApi.as_view()),
    path("api/notifications/read", notifications_api.NotificationsReadApi.as_view()),
    path("api/notifications/settings", notifications_api.NotificationSettingsApi.as_view()),
    path("api/notifications/<int:notification_id>", notifications_api.NotificationApi.as_view()),
    path("settings/models/", models_pages.models_page, name="models"),
    path("api/model-server", models_api.ModelServerApi.as_view(), name="model_server"),
    path(
        "api/model-server/embedding",
        embedding_api.EmbeddingApi.as_view(),
        name="model_server_embedding",
    ),
    path("api/model-server/pulls", models_api.ModelPullsApi.as_view(), name="model_server_pulls"),
    path(
        "api/model-server/test", models_api.ModelServerTestApi.as_view(), name="model_server_test"
    ),
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("", include("retrieval.urls")),
    path("", include("feedback.urls")),
    path("", include("chat.urls")),
    path("api/docs", docs, name="docs"),
]

handler400 = "ragsite.core.api.error_responses.bad_request"
handler403 = "ragsite.core.api.error_responses.forbidden"
handler404 = "ragsite.core.api.error_responses.not_found"
handler429 = "ragsite.core.api.error_responses.too_many"  # allauth's limits
handler500 = "ragsite.core.api.error_responses.server_error"
