"""Collections, whom they are shared with, and what these said to it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

# Neither "/" nor ":", which part a name from its owner's, nor the form of an id: an address means one thing.
name_validator = RegexValidator(
    r"^(?![0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z)[\w][\w .\-]{0,99}\Z",
    "Use letters, digits, spaces, dots, dashes and underscores; 100 characters at most, and not the form of an id.",
)
MAX_REVIEW_MONTHS = 120
SITE = "site:"  # in addresses of the site's own collections; no user name holds a colon


class Collection(models.Model):
    """A set of documents that are shared alike and embedded by one model.

    Names are unique per owner; a collection without an owner belongs to the site. One that holds a conversation's files
    is its owner's alone, is part of no list, and goes with the conversation, which is known by its id alone.
    """

    class Visibility(models.TextChoices):
        PRIVATE = "private", _("Private")
        SHARED = "shared", _("Shared")
        PUBLIC = "public", _("Public")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The conversation whose attached files it holds; empty for every other collection.
    conversation_id = models.UUIDField(null=True, blank=True, editable=False)
    name = models.CharField(_("name"), max_length=100, validators=[name_validator])
    description = models.CharField(_("description"), max_length=500, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="collections",
        verbose_name=_("owner"),
    )
    visibility = models.CharField(
        _("visibility"), max_length=10, choices=Visibility, default=Visibility.PRIVATE
    )
    approved = models.BooleanField(
        _("approved"),
        default=False,
        help_text=_(
            "Searched for everybody while it is public, also where a question names no collection. "
            "The site's own public collections always are."
        ),
    )
    # Of the handbook that the site came with, which steps back for whoever has documents of their own.
    is_sample = models.BooleanField(default=False, editable=False)
    groups = models.ManyToManyField(
        Group, blank=True, related_name="collections", verbose_name=_("groups")
    )
    editor_groups = models.ManyToManyField(
        Group,
        blank=True,
        related_name="edited_collections",
        help_text=_("The groups whose members may also change its documents."),
        verbose_name=_("editor groups"),
    )
    embedding_model = models.CharField(
        _("embedding model"),
        max_length=200,
        blank=True,
        help_text=_("Empty until the first document is embedded."),
    )
    embedding_dim = models.PositiveIntegerField(_("embedding dim"), null=True, blank=True)
    review_months = models.PositiveSmallIntegerField(
        _("review every so many months"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_REVIEW_MONTHS)],
        help_text=_("Since a document came in, unless it has a date of its own. Empty: never."),
    )
    version = models.PositiveBigIntegerField(
        _("version"),
        default=0,
        help_text=_("Grows with every change: the index state in cache keys."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("collection")
        verbose_name_plural = _("collections")
        ordering = ["name"]
        permissions = [
            ("publish_collection", "Can make own collections public"),
            (
                "look_up_people",
                "Can look up people and groups by their first letters, to share with them",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="collection_name_per_owner"),
            models.UniqueConstraint(
                fields=["name"], condition=Q(owner=None), name="collection_name_of_site"
            ),
            models.UniqueConstraint(
                fields=["conversation_id"],
                condition=Q(conversation_id__isnull=False),
                name="collection_once_per_conversation",
            ),
            models.CheckConstraint(
                condition=Q(embedding_model="", embedding_dim=None)
                | (~Q(embedding_model="") & Q(embedding_dim__isnull=False)),
                name="collection_embedding_model_and_dim_together",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def address(self) -> str:
        """What names this collection and no other, whoever asks: `owner/name`, for the site's `site:name`."""
        return f"{self.owner.username}/{self.name}" if self.owner else f"{SITE}{self.name}"


class CollectionPerson(models.Model):
    """Somebody who may read a shared collection, or change its documents as well."""

    class Role(models.TextChoices):
        READER = "reader", _("Reader")
        EDITOR = "editor", _("Editor")

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="people")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shared_collections"
    )
    role = models.CharField(max_length=10, choices=Role, default=Role.READER)

    class Meta:
        verbose_name = _("person of a collection")
        verbose_name_plural = _("people of a collection")
        ordering = ["collection", "user"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "user"], name="person_once_per_collection"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user_id}, {self.get_role_display()}: {self.collection_id}"


class ShareReply(models.Model):
    """What somebody said to a share: whether their questions that name no collection search it."""

    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="share_replies"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="share_replies"
    )
    accepted = models.BooleanField()

    class Meta:
        verbose_name = _("reply to a share")
        verbose_name_plural = _("replies to shares")
        constraints = [
            models.UniqueConstraint(fields=["collection", "user"], name="share_reply_once")
        ]

    def __str__(self) -> str:
        return f"{self.user_id}, {self.accepted}: {self.collection_id}"
