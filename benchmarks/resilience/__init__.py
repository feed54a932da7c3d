"""What a site loses, and how long it hangs, when it is hurt, stopped or asked hostile questions."""
