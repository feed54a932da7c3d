"""A stored question asked again, otherwise: one or many, in its asker's scope, beside what was answered then."""
