"""Settings at the desk: drafts, tries on golden questions, what is live, and the way back."""
