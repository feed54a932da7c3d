from django.apps import AppConfig

from ragsite.celery import app as celery_app

__all__ = ["RagsiteConfig", "celery_app"]  # the Celery application is made before any task is declared


class RagsiteConfig(AppConfig):
    name = "ragsite"
    verbose_name = "Ragsite"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from ragsite.accounts import signing_out  # models are loaded by now, not before

        signing_out.connect()
