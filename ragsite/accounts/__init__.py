"""Accounts: signing in and up, the limits on guessing passwords, tokens for the API, and the end of all of them."""
