"""A federation over Flower (extra `flower`): a client app beside the rows, and a server app at the coordinator.

Only this package imports flwr.
"""
