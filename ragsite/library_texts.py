"""Texts of libraries that people read here and for which the libraries bring no Chinese, or none in one of its scripts.

Their own calls of gettext find them in our catalogues, which Django asks first. Django's administration has newer texts
than its catalogues; django-celery-beat and django-constance have nothing in traditional characters.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy as ngettext

ADMINISTRATION = (
    _("Model name"), _("Add link"), _("Change or view list link"),
    _("After you’ve created a user, you’ll be able to edit more user options."),
    _("Whether the user will be able to authenticate using a password or not. If disabled, they may still be able to "
      "authenticate using other backends, such as Single Sign-On or LDAP."),
     _("Password-based authentication"),
)  # fmt: skip
SCHEDULES = (
    _("Days"), _("Hours"), _("Minutes"), _("Seconds"), _("Microseconds"), _("Day"), _("Hour"), _("Minute"), _("Second"),
    _("Microsecond"), _("every {}"), _("every {} {}"), _("interval"), _("intervals"),
    _("Minute(s)"), _('Cron Minutes to Run. Use "*" for "all". (Example: "0,30")'), _("Hour(s)"),
    _('Cron Hours to Run. Use "*" for "all". (Example: "8,20")'), _("Day(s) Of The Month"),
    _('Cron Days Of The Month to Run. Use "*" for "all". (Example: "1,15")'), _("Month(s) Of The Year"),
    _('Cron Months (1-12) Of The Year to Run. Use "*" for "all". (Example: "1,12")'), _("Day(s) Of The Week"),
    _('Cron Days Of The Week to Run. Use "*" for "all", Sunday is 0 or 7, Monday is 1. (Example: "0,5")'),
    _("Cron Timezone"), _("Timezone to Run the Cron Schedule on. Default is UTC."), _("crontab"), _("crontabs"),
    _("Interval Schedule"),
    _("Interval Schedule to run the task on.  Set only one schedule type, leave the others null."),
    _("Crontab Schedule"),
    _("Crontab Schedule to run the task on.  Set only one schedule type, leave the others null."),
    _("Enabled"), _("Set to False to disable the schedule"), _("Last Run Datetime"),
    _("Datetime that the schedule last triggered the task to run. Reset to None if enabled is set to False."),
    _("periodic task"), _("periodic tasks"), _("Periodic Tasks"),
)  # fmt: skip
LIVE_SETTINGS = (
    _("config"), _("constance"), _("constances"), _("Change history: %s"),
    _("Live settings updated successfully."), _("Failed to update live settings."),
    _("The settings have been modified by someone else. Please reload the form and resubmit your changes."),
    _("Can change config"), _("Can view config"), _("This object doesn't have a change history."),
    ngettext("entry", "entries"),
)  # fmt: skip
ROUNDS = (  # names of ragsite/schedule.py
    _("Delete files of conversations that never began"), _("Take answers in at the review desk"),
    _("Go on with replays"), _("Delete what is over"), _("Feedback round"), _("Find knowledge gaps"),
    _("Tidy accounts"), _("Delete accounts"), _("Resume document ingest"),
    _("Check the index"),
)  # fmt: skip
