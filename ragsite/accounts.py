"""Accounts: signing in and up, changing the password, and tokens for the API."""

from __future__ import annotations

import hashlib
from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login
from django.contrib.auth import views as auth_views
from django.contrib.auth.forms import AuthenticationForm, UserCreationForm
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic.edit import FormView
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authtoken.models import Token
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.api_fields import StrictSerializer, TextField
from ragsite.api_schema import errors
from ragsite.errors import InvalidInputError, RateLimitedError


class BadCredentialsError(InvalidInputError):
    code = "bad_credentials"
    message = "Username and password do not match; check both and try again."


class LoginThrottle:
    """Counts wrong passwords per client address and username: guessing is slow, and nobody locks others out."""

    def __init__(self, request: HttpRequest, username: str) -> None:
        who = f"{request.META.get('REMOTE_ADDR', '')}|{username.casefold()}"
        self._key = "login-failures:" + hashlib.sha256(who.encode()).hexdigest()
        self._window_s = settings.RAG.limits.login_window_s

    def check(self) -> None:
        """Raises RateLimitedError once the window's share is used up."""
        if cache.get(self._key, 0) >= settings.RAG.limits.login_failures:
            raise RateLimitedError(
                "Too many wrong passwords; wait a few minutes and try again.", retry_after_s=self._window_s
            )

    def failed(self) -> None:
        cache.add(self._key, 0, timeout=self._window_s)
        try:
            cache.incr(self._key)
        except ValueError:  # it expired between the two calls
            cache.set(self._key, 1, timeout=self._window_s)

    def succeeded(self) -> None:
        cache.delete(self._key)


# ------------------------------------------------------------------------------------------------ API
class TokenInput(StrictSerializer):
    username = TextField(max_length=150)
    password = TextField(max_length=1024, trim_whitespace=False)


class TokenOutput(serializers.Serializer[Any]):
    token = serializers.CharField()


class TokenApi(APIView):
    """A token for `Authorization: Token …`. It takes no session, so it needs no CSRF token."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(request=TokenInput, responses={200: TokenOutput, **errors(429)}, operation_id="auth_token", auth=[])
    def post(self, request: Request) -> Response:
        given = TokenInput(data=request.data)
        given.is_valid(raise_exception=True)
        throttle = LoginThrottle(request._request, given.validated_data["username"])
        throttle.check()
        user = authenticate(request._request, **given.validated_data)
        if user is None:
            throttle.failed()
            raise BadCredentialsError
        throttle.succeeded()
        token, _ = Token.objects.get_or_create(user=user)
        return Response({"token": token.key})


# ------------------------------------------------------------------------------------------------ pages
class SignInForm(AuthenticationForm):
    """Django's form, with the same limit on wrong passwords as the API."""

    def clean(self) -> dict[str, Any]:
        username = self.cleaned_data.get("username")
        if not username or self.request is None:
            return super().clean()
        throttle = LoginThrottle(self.request, username)
        try:
            throttle.check()
        except RateLimitedError as error:
            raise ValidationError(error.message, code=error.code) from error
        try:
            cleaned = super().clean()
        except ValidationError:
            throttle.failed()
            raise
        throttle.succeeded()
        return cleaned


class SignInView(auth_views.LoginView):
    template_name = "accounts/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"signup_open": settings.SIGNUP_OPEN}


class SignUpForm(UserCreationForm):
    def save(self, commit: bool = True) -> User:
        """Raises ValidationError where somebody else took the name a moment ago."""
        try:
            with transaction.atomic():
                return super().save(commit=commit)
        except IntegrityError as error:
            raise ValidationError({"username": "A user with that username already exists."}) from error


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SignUpView(auth_views.RedirectURLMixin, FormView):
    """Makes an account and signs in; goes on to `next` where that is an address of ours."""

    template_name = "accounts/signup.html"
    form_class = SignUpForm
    next_page = "chat"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not settings.SIGNUP_OPEN:
            return render(request, "accounts/signup_closed.html", status=403)
        if request.user.is_authenticated:
            return HttpResponseRedirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"next": self.get_redirect_url()}

    def get_success_url(self) -> str:
        return self.get_redirect_url() or reverse("chat")

    def form_valid(self, form: SignUpForm) -> HttpResponse:
        try:
            user = form.save()
        except ValidationError as error:
            form.add_error(None, error)
            return self.form_invalid(form)
        login(self.request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
        return super().form_valid(form)


class ChangePasswordView(auth_views.PasswordChangeView):
    template_name = "accounts/password_change.html"
    success_url = reverse_lazy("password_change_done")


class PasswordChangedView(auth_views.PasswordChangeDoneView):
    template_name = "accounts/password_change_done.html"
