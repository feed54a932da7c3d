#!/usr/bin/env python
"""Django's command line for Ragsite."""

import gc
import os
import sys


def main() -> None:
    gc.disable()  # what loading makes stays: looking through it again and again takes a fifth of the time
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    import django
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    from ragsite.core.settings_group import SettingsError

    try:
        django.setup()
        gc.freeze()
        gc.enable()
        execute_from_command_line(sys.argv)
    except SettingsError as error:
        sys.exit(f"{error} (environment, or .env beside manage.py)")
    except DatabaseError:
        from ragsite.runtime.start_checks import what_the_database_lacks

        if reason := what_the_database_lacks():
            sys.exit(reason)
        raise


if __name__ == "__main__":
    main()
