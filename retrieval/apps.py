from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    name = "retrieval"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from retrieval.memory import services as memory  # models can be imported only now
        from retrieval.services import deletion

        deletion.connect()
        memory.connect()
