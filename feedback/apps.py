from django.apps import AppConfig


class FeedbackConfig(AppConfig):
    name = "feedback"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from feedback import start  # models can be imported only now

        start.connect()
