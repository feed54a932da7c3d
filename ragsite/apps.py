from constance.apps import ConstanceConfig
from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from ragsite.celery import app as celery_app

__all__ = [
    "LiveSettingsConfig",
    "RagsiteConfig",
    "celery_app",
]  # the Celery application is made before any task is declared


class RagsiteConfig(AppConfig):
    name = "ragsite"
    verbose_name = "Ragsite"
    default = True

    def ready(self) -> None:
        from ragsite import checks
        from ragsite.accounts import signals  # models can be imported only now
        from ragsite.administration import audit
        from ragsite.operations import schedule
        from ragsite.operations.notifications import events as notification_events
        from ragsite.operations.webhooks import events

        signals.connect()
        events.connect()
        notification_events.connect()
        schedule.connect(self)
        checks.connect()
        audit.connect()


class LiveSettingsConfig(ConstanceConfig):
    verbose_name = _("Settings")
