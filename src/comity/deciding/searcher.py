"""What a decision needs: searches for collaborators, wherever they run."""

from typing import Protocol

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.progress import Advance
from comity.search.choices import Choices
from comity.search.collaborators import Search
from comity.search.descent import Points


class Searcher(Protocol):
    """Searches for the collaborators of P target clients at once, on faces (P, N) of the simplex."""

    @property
    def search(self) -> Search:
        """The settings of the search."""

    @property
    def clients(self) -> int:
        """The number of clients, N."""

    def strength(self, target: Integers, face: Booleans) -> float:
        """Return how strongly weights are pulled towards equal ones."""

    def choose(self, target: Integers, face: Booleans, strength: float, progress: Advance | None = None) -> Choices:
        """Return the collaborators that every target chooses."""

    def best(self, target: Integers, face: Booleans, strength: float) -> Points:
        """Return every target's best point, from several starts."""

    def confined(self, target: Integers, face: Booleans, found: Points, strength: float) -> Points:
        """Return every target's best point, starting from one on a larger face; this is quicker than `best`."""

    def together(self) -> Points:
        """Return the point of one model for all clients, with equal weights, repeated for each client (N)."""

    def errors(self, target: Integers, one: Points, other: Points) -> Floats:
        """Return the standard error (P,) of the difference between two points' losses, paired by rows."""
