"""A client's side, the only code that sees rows: what it may be asked, its answers, and a log of what it gave."""

from comity.client.audit import AuditEntry, read_log
from comity.client.client import Client
from comity.client.policy import Policy
from comity.client.privacy import Privacy

__all__ = ["AuditEntry", "Client", "Policy", "Privacy", "read_log"]
