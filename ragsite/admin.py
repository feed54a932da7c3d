"""The admin's name."""

from django.contrib import admin

admin.site.site_header = "Ragsite"
admin.site.site_title = "Ragsite"
admin.site.index_title = "Conversations, documents, ratings"
