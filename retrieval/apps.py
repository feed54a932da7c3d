from django.apps import AppConfig
from django.db.models import CharField, TextField
from django.utils.translation import gettext_lazy as _


class RetrievalConfig(AppConfig):
    name = "retrieval"
    verbose_name = _("Documents")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from retrieval.knowledge.lookups import IContainsHan

        CharField.register_lookup(IContainsHan)
        TextField.register_lookup(IContainsHan)
        from retrieval.knowledge.services import (
            deletion,
            sync_sources,
        )  # models can be imported only now

        deletion.connect()
        sync_sources.connect()
