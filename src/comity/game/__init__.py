"""Who benefits from whom, and what follows: graphs, games, equilibria and their proof."""
