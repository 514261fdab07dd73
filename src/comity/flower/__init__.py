"""The same federation over Flower: a client app beside the rows, a server app at the coordinator. Extra `flower`.

Only this room imports flwr.
"""
