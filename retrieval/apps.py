from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    name = "retrieval"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from retrieval.services import deletion, memory  # models are loaded by now, not before

        deletion.connect()
        memory.connect()
