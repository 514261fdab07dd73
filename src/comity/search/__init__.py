"""The search over weights on the simplex, and the smallest set of collaborators; it knows of no client."""
