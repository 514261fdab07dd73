"""How a client answers questions about generalised linear models; it sees rows."""
