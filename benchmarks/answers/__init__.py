"""How right search and answers are, on questions whose answers are known."""
