"""What curators do at the review desk (`chat.review`), as pages: from a finding to something better."""
