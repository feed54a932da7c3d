"""The site's own pages of administration: what needs attention, people, health, and the log."""
