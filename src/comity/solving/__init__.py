"""The whole way from tables or a federation to a result."""
