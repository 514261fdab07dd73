"""Where the search runs: on a front that is here, or at the clients, whose rows say what a model loses."""

from comity.searching.at_clients import AtClients
from comity.searching.on_front import OnFront
from comity.searching.searching import Progress, Searching, in_order

__all__ = ["AtClients", "OnFront", "Progress", "Searching", "in_order"]
