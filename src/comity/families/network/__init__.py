"""Neural networks, with a hypernetwork for the front; needs torch."""
