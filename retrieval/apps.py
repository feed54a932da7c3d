from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    name = "retrieval"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from retrieval.memory import services as memory  # models are loaded by now, not before
        from retrieval.services import deletion

        deletion.connect()
        memory.connect()
