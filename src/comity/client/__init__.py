"""The client's side, the only code that sees rows: its policy, its answers to questions, and its audit log."""

from comity.client.audit import AuditEntry, read_log
from comity.client.client import Client
from comity.client.policy import Policy
from comity.client.privacy import Privacy

__all__ = ["AuditEntry", "Client", "Policy", "Privacy", "read_log"]
