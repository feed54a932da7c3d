"""How many tokens of models may be used, and how many were."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

MOST_TOKENS = 10**15


def _tokens() -> models.BigIntegerField[int | None, int | None]:
    """None: no limit."""
    return models.PositiveBigIntegerField(
        null=True, blank=True, validators=[MaxValueValidator(MOST_TOKENS)]
    )


class Budget(models.Model):
    """What a person may use, each member of a group, or each person; or all people and the site's own work together.

    A person's row goes before those of their groups, of which the most generous counts, and these before that of each
    person. The site's holds beside them.
    """

    class Subject(models.TextChoices):
        SITE = "site", _("The site")
        EACH = "each", _("Each person")
        GROUP = "group", _("Group")
        USER = "user", _("Person")

    subject = models.CharField(max_length=5, choices=Subject)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="budget",
    )
    group = models.OneToOneField(
        Group, null=True, blank=True, on_delete=models.CASCADE, related_name="budget"
    )
    day_tokens = _tokens()
    month_tokens = _tokens()

    class Meta:
        verbose_name = _("budget")
        verbose_name_plural = _("budgets")
        ordering = ["pk"]
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                condition=Q(subject__in=["site", "each"], user=None, group=None)
                | Q(subject="group", user=None, group__isnull=False)
                | Q(subject="user", user__isnull=False, group=None),
                name="budget_of_its_subject",
            ),
            models.UniqueConstraint(
                fields=["subject"],
                condition=Q(subject__in=["site", "each"]),
                name="one_budget_of_all",
            ),
        ]

    def __str__(self) -> str:
        return self.name or str(self.get_subject_display())

    @property
    def name(self) -> str:
        """Of the group or person; empty for one of all."""
        return str(self.user or self.group or "")


class UsageDay(models.Model):
    """Tokens of one model that were used on a day of the site's time zone, for a person's questions.

    user: None for the site's own work, and for people whose account is gone.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
    )
    day = models.DateField()
    model = models.CharField(max_length=200)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name = _("tokens of a day")
        verbose_name_plural = _("tokens of days")
        ordering = ["-day", "pk"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["user", "day", "model"], name="usage_once_a_day"),
            models.UniqueConstraint(
                fields=["day", "model"], condition=Q(user=None), name="usage_of_nobody_once_a_day"
            ),
        ]
        indexes = [models.Index(fields=["day"], name="usage_day")]

    def __str__(self) -> str:
        return f"{self.day}: {self.model}"
