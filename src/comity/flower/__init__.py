"""The federation for real: clients and a coordinator on Flower (extra `flower`)."""
