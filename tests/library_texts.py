"""Texts of libraries that people read here and for which the libraries bring no Chinese, or none in one of its scripts.

Their own calls of gettext find them in our catalogues, which Django asks first. Django's administration has newer texts
than its catalogues; django-constance has nothing in traditional characters.
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
LIVE_SETTINGS = (
    _("config"), _("constance"), _("constances"), _("Change history: %s"),
    _("Live settings updated successfully."), _("Failed to update live settings."),
    _("The settings have been modified by someone else. Please reload the form and resubmit your changes."),
    _("Can change config"), _("Can view config"), _("This object doesn't have a change history."),
    ngettext("entry", "entries"),
)  # fmt: skip
