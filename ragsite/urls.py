"""All addresses of the site. Each app brings its own."""

from django.contrib import admin
from django.contrib.auth import views as auth_views
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic.base import RedirectView
from drf_spectacular.views import SpectacularSwaggerSplitView

from ragsite import health
from ragsite.accounts import api, pages
from ragsite.schema_view import SchemaView

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="password_change")),  # one door, one limit
    path("admin/", admin.site.urls),
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg"))),
    path("accounts/", pages.account, name="account"),
    path("accounts/tokens/<uuid:token_id>/revoke/", pages.revoke_token, name="token_revoke"),
    path("accounts/sign-out-everywhere/", pages.leave_everywhere, name="sign_out_everywhere"),
    path("accounts/login/", pages.SignInView.as_view(), name="login"),
    path("accounts/logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("accounts/signup/", pages.SignUpView.as_view(), name="signup"),
    path("accounts/password/", pages.ChangePasswordView.as_view(), name="password_change"),
    path("accounts/password/done/", pages.PasswordChangedView.as_view(), name="password_change_done"),
    path("accounts/password/forgotten/", pages.ForgottenPasswordView.as_view(), name="password_reset"),
    path("accounts/password/forgotten/sent/", pages.ForgottenPasswordDoneView.as_view(), name="password_reset_done"),
    path("accounts/password/new/<uidb64>/<token>/", pages.NewPasswordView.as_view(), name="password_reset_confirm"),
    path("accounts/email/", pages.EmailView.as_view(), name="email"),
    path("accounts/email/again/", pages.send_email_link_again, name="email_again"),
    path("accounts/email/confirm/<str:token>/", pages.confirm_email, name="email_confirm"),
    path("accounts/browsers/sign-out-others/", pages.leave_others, name="browsers_sign_out_others"),
    path("accounts/browsers/<slug:session_id>/sign-out/", pages.leave_browser, name="browser_sign_out"),
    path("accounts/language/", pages.choose_language, name="set_language"),
    path("accounts/theme/", pages.choose_theme, name="set_theme"),
    path("accounts/export/", pages.start_export, name="export_start"),
    path("accounts/export/<uuid:job_id>/", pages.fetch_export, name="export_file"),
    path("accounts/delete/", pages.DeleteAccountView.as_view(), name="account_delete"),
    path("api/account/settings", api.AccountSettingsApi.as_view(), name="account_settings"),
    path("api/account/export", api.AccountExportApi.as_view(), name="account_export"),
    path("api/account/export/file", api.AccountExportFileApi.as_view(), name="account_export_file"),
    path("api/auth/token", api.TokenApi.as_view(), name="auth_token"),
    path("api/auth/tokens", api.TokensApi.as_view(), name="auth_tokens"),
    path("api/auth/tokens/<uuid:token_id>", api.TokenRevokeApi.as_view(), name="auth_token_revoke"),
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("", include("retrieval.urls")),
    path("", include("feedback.urls")),
    path("", include("chat.urls")),
    path("api/docs", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
]

handler400 = "ragsite.core.api.error_responses.bad_request"
handler403 = "ragsite.core.api.error_responses.forbidden"
handler404 = "ragsite.core.api.error_responses.not_found"
handler500 = "ragsite.core.api.error_responses.server_error"
