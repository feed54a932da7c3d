"""English, as the site's own pages write it."""
