"""What the desk counts: the dashboard, comparison with intervals."""
