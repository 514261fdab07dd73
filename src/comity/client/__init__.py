"""A client's side, the only code that sees rows: what it may be asked, its answers, and a log of what it gave."""

from comity.client.client import Client, Given, Policy

__all__ = ["Client", "Given", "Policy"]
