"""Questions and answers as Flower's messages."""
