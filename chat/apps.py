from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = _("Conversations")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from chat.review import percentiles, records, roles  # models can be imported only now
        from chat.runs import spending
        from chat.services import default_assistant, sessions

        percentiles.connect()
        sessions.connect()
        default_assistant.connect()
        records.connect()
        spending.connect()
        post_migrate.connect(roles.roles_make, sender=self, dispatch_uid="chat.review.roles")
