"""Models of any kind with `fit` and `predict`: each client's own, and a weighted mean of those of its collaborators."""
