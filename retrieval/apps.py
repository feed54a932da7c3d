from django.apps import AppConfig
from django.db.models import CharField, TextField
from django.utils.translation import gettext_lazy as _


class RetrievalConfig(AppConfig):
    name = "retrieval"
    verbose_name = _("Retrieval")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from retrieval.lookups import IContainsHan

        CharField.register_lookup(IContainsHan)
        TextField.register_lookup(IContainsHan)
        from ragsite.accounts.personal_data import use_holder  # models can be imported only now
        from retrieval.memory import services as memory
        from retrieval.services import deletion
        from retrieval.services.personal_data import RetrievalHolder

        deletion.connect()
        memory.connect()
        use_holder("retrieval", RetrievalHolder())
