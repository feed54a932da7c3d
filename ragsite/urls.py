"""All addresses of the site. Each app brings its own."""

from django.contrib import admin
from django.contrib.auth import views as auth_views
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic.base import RedirectView
from drf_spectacular.views import SpectacularSwaggerSplitView

from ragsite import accounts, health
from ragsite.schema_view import SchemaView

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("admin/", admin.site.urls),
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg"))),
    path("accounts/login/", accounts.SignInView.as_view(), name="login"),
    path("accounts/logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("accounts/signup/", accounts.SignUpView.as_view(), name="signup"),
    path("accounts/password/", accounts.ChangePasswordView.as_view(), name="password_change"),
    path("accounts/password/done/", accounts.PasswordChangedView.as_view(), name="password_change_done"),
    path("api/auth/token", accounts.TokenApi.as_view(), name="auth_token"),
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("", include("retrieval.urls")),
    path("", include("feedback.urls")),
    path("", include("chat.urls")),
    path("api/docs", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
]

handler400 = "ragsite.error_responses.bad_request"
handler403 = "ragsite.error_responses.forbidden"
handler404 = "ragsite.error_responses.not_found"
handler500 = "ragsite.error_responses.server_error"
