"""How long a site's parts take, and how much of it is its own."""
