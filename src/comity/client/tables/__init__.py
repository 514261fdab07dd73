"""Clients from tables: one table with a column that names each row's client, or one table for each client.

Columns of files are read as numbers (float64, or int64 if all are whole), as true and false, or as text (a
categorical). Text such as ``"1,5"`` or ``"12 mg"`` stays text. In a CSV file the values that pandas reads as missing by
default are missing: an empty value, ``NA``, ``N/A``, ``NaN``, ``null``, ``None`` and the like. No client and no level
should have such a name.
"""

from comity.client.tables.clients import read_clients, read_rows, warnings_about

__all__ = ["read_clients", "read_rows", "warnings_about"]
