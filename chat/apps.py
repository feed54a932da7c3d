from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = _("Chat")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from chat.review import percentiles, records  # models can be imported only now
        from chat.services import sessions

        percentiles.connect()
        sessions.connect()
        records.connect()
