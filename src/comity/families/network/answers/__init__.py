"""How a client answers questions about networks; it sees rows."""
