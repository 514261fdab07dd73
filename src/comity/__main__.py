"""``python -m comity`` is ``comity``."""

from comity.cli.main import main

main()
