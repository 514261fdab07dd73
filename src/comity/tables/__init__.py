"""What a user has, as clients: a table with a column that says whose row it is, or a table for each client.

From files, columns come as numbers (float64, or int64 if all are whole), as true and false, or as text (a categorical).
Text such as ``"1,5"`` or ``"12 mg"`` stays text. A CSV file has missing values where pandas sees them by default:
nothing at all, ``NA``, ``N/A``, ``NaN``, ``null``, ``None`` and the like; a client or a level should not be called so.
"""

from comity.tables.clients import read_clients, read_rows, warnings_about

__all__ = ["read_clients", "read_rows", "warnings_about"]
