"""The same federation over Flower: its deployment, and the apps that run on it (extra ``comity[flower]``)."""
