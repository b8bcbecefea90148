from django.apps import AppConfig


class CalibrationConfig(AppConfig):
    name = "apps.calibration"
