"""What is said of a comparison beside its values."""

from comity.experiments.comparing import Compared


def caution(**tests: int) -> list[str]:
    return [told for told in Compared("auc", (), (), tests).remarks() if told.startswith("Few rows")]


def test_clients_with_few_rows_to_test_with_are_named_the_fewest_first() -> None:
    """If they were not, the worst client of a table would be taken for what methods do to it."""
    assert caution(North=50, South=400) == []
    assert "each seed: West (8) and North (49). The" in caution(North=49, West=8, South=50)[0]
    many = {f"c{number}": number for number in range(10, 17)}
    assert "c10 (10), c11 (11), c12 (12), c13 (13), c14 (14) and 2 others. The" in caution(**many)[0]
