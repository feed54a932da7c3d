"""The site's settings with what looks at its migrations: `make lint`."""

from ragsite.settings import *  # noqa: F403
from ragsite.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django_migration_linter"]
