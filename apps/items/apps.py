from django.apps import AppConfig

from apps.items import arrays


class ItemsConfig(AppConfig):
    name = "apps.items"

    def ready(self) -> None:
        arrays.install()
