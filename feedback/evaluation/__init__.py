"""How well the site searches and decides, measured again and again, for the page of the review desk.

sets      what is measured: golden questions, imported sets, with their settings
benches   the questions of a set, and where they are searched
runs      ordered, listed, cancelled; who works on which
run       one run as a job: measures with `retrieval.evaluation`, stores what came of each question
alarm     whether a run is worse than the last good one. Pure
compare   two runs, by stage and question by question
letters   the e-mail to administrators when a run is worse
"""
