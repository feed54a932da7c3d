"""What the desk counts: rollups, the dashboard, comparison with intervals."""
