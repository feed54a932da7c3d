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
    _("Microsecond"),
    _("Astronomical dawn"),
    _("Civil dawn"), _("Nautical dawn"), _("Astronomical dusk"),
    _("Civil dusk"), _("Nautical dusk"), _("Solar noon"), _("Sunrise"), _("Sunset"), _("Solar Event"),
    _("The type of solar event when the job should run"), _("Latitude"),
    _("Run the task when the event happens at this latitude"),
    _("Longitude"), _("Run the task when the event happens at this longitude"), _("solar event"),
    _("solar events"), _("Number of Periods"), _("Number of interval periods to wait before running the task again"),
    _("Interval Period"), _("The type of period between task runs (Example: days)"), _("interval"), _("intervals"),
    _("every {}"), _("every {} {}"), _("Clock Time"), _("Run the task at clocked time"), _("clocked"),
    _("Minute(s)"), _('Cron Minutes to Run. Use "*" for "all". (Example: "0,30")'), _("Hour(s)"),
    _('Cron Hours to Run. Use "*" for "all". (Example: "8,20")'), _("Day(s) Of The Month"),
    _('Cron Days Of The Month to Run. Use "*" for "all". (Example: "1,15")'), _("Month(s) Of The Year"),
    _('Cron Months (1-12) Of The Year to Run. Use "*" for "all". (Example: "1,12")'), _("Day(s) Of The Week"),
    _('Cron Days Of The Week to Run. Use "*" for "all", Sunday is 0 or 7, Monday is 1. (Example: "0,5")'),
    _("Cron Timezone"), _("Timezone to Run the Cron Schedule on. Default is UTC."), _("crontab"), _("crontabs"),
    _("Name"), _("Short Description For This Task"),
    _('The Name of the Celery Task that Should be Run.  (Example: "proj.tasks.import_contacts")'),
    _("Interval Schedule"),
    _("Interval Schedule to run the task on.  Set only one schedule type, leave the others null."),
    _("Crontab Schedule"),
    _("Crontab Schedule to run the task on.  Set only one schedule type, leave the others null."),
    _("Solar Schedule"),
    _("Solar Schedule to run the task on.  Set only one schedule type, leave the others null."),
    _("Clocked Schedule"),
    _("Clocked Schedule to run the task on.  Set only one schedule type, leave the others null."),
    _("Positional Arguments"), _('JSON encoded positional arguments (Example: ["arg1", "arg2"])'),
    _("Keyword Arguments"), _('JSON encoded keyword arguments (Example: {"argument": "value"})'), _("Queue Override"),
    _("Queue defined in CELERY_TASK_QUEUES. Leave None for default queuing."), _("Exchange"),
    _("Override Exchange for low-level AMQP routing"), _("Routing Key"),
    _("Override Routing Key for low-level AMQP routing"), _("AMQP Message Headers"),
    _("JSON encoded message headers for the AMQP message."), _("Priority"),
    _("Priority Number between 0 and 255. Supported by: RabbitMQ, Redis (priority reversed, 0 is highest)."),
    _("Expires Datetime"),
    _("Datetime after which the schedule will no longer trigger the task to run"), _("Expires timedelta with seconds"),
    _("Timedelta with seconds which the schedule will no longer trigger the task to run"), _("One-off Task"),
    _("If True, the schedule will only run the task a single time"), _("Start Datetime"),
    _("Datetime when the schedule should begin triggering the task to run"), _("Enabled"),
    _("Set to False to disable the schedule"), _("Last Run Datetime"),
    _("Datetime that the schedule last triggered the task to run. Reset to None if enabled is set to False."),
    _("Total Run Count"), _("Running count of how many times the schedule has triggered the task"),
    _("Last Modified"), _("Datetime that this PeriodicTask was last modified"), _("Description"),
    _("Detailed description about the details of this Periodic Task"), _("periodic task"), _("periodic tasks"),
    _("periodic task track"), _("periodic task tracks"),
    _("Periodic Tasks"), _("Task (registered)"), _("Task (custom)"), _("Need name of task"),
    _("Only one can be set, in expires and expire_seconds"), _("Unable to parse JSON: %s"), _("Schedule"),
    _("One of clocked, interval, crontab, or solar must be set."),
    _("Only one of clocked, interval, crontab, or solar must be set"),
    _("clocked must be one off, one_off must set True"),
    ngettext("{0} task was successfully enabled", "{0} tasks were successfully enabled"),
    ngettext("{0} task was successfully disabled", "{0} tasks were successfully disabled"),
    ngettext("{0} task was successfully toggled", "{0} tasks were successfully toggled"),
    _("Arguments"), _("Execution Options"), _("Enable selected tasks"), _("Disable selected tasks"),
    _("Toggle activity of selected tasks"), _("Run selected tasks"), _("Periodic Tasks Using This Schedule"),
)  # fmt: skip
LIVE_SETTINGS = (
    _("config"), _("constance"), _("constances"), _("Change history: %s"),
    _("Live settings updated successfully."), _("Failed to update live settings."),
    _("The settings have been modified by someone else. Please reload the form and resubmit your changes."),
    _("Can change config"), _("Can view config"), _("This object doesn't have a change history."),
    ngettext("entry", "entries"),
)  # fmt: skip
ROUNDS = (  # names that the site's own migrations gave to what runs again and again
    _("Delete files of conversations that never began"), _("Take answers in at the review desk"),
    _("Go on with replays"), _("Delete what is over"),
    _("Feedback round"), _("Find knowledge gaps"),
    _("Go on with feedback rounds"),
    _("Tidy accounts"), _("Resume personal data jobs"), _("Send letters that waited"),
    _("Resume document ingest"), _("Check the memory"), _("Check the index"),
)  # fmt: skip
PERMISSIONS = (  # as they stand in the database
    _("Can export and delete all that is a person's"), _("Can make own collections public"),
    _("Can read and mark answers at the review desk"), _("Can see at the review desk who asked"),
    _("Can export answers from the review desk"),
    _("Can make golden questions, boosts and curated answers at the review desk"),
    _("Can see the log of the review desk"),
)  # fmt: skip
