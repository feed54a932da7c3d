"""What curators do at the review desk (`chat.review`): from a finding to something better.

curated_api    curated answers over HTTP
curated_pages  curated answers as pages
"""
