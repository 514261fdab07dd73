"""comity starts at once: nothing heavy is loaded until it is needed."""

import subprocess
import sys

import pytest

HEAVY = ["pandas", "pyarrow", "torch", "flwr", "cryptography", "networkx", "matplotlib", "dp_accounting"]
CHECK = "import sys; loaded = [name for name in {names} if name in sys.modules]; assert not loaded, loaded"


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_import_loads_nothing_heavy() -> None:
    run(f"import comity; {CHECK.format(names=[*HEAVY, 'numpy', 'scipy', 'rich', 'click'])}")


def test_everything_public_loads_nothing_heavy() -> None:
    """But for pandas, since clients hold rows, and pyarrow, which pandas loads if it is there."""
    run(f"from comity import *; {CHECK.format(names=HEAVY[2:])}")


def test_coalitions_of_a_graph_need_no_rows() -> None:
    run(f"from comity import BenefitGraph, Game, certify, find_equilibrium; {CHECK.format(names=HEAVY)}")


def test_solve_is_a_function_whatever_was_imported_before() -> None:
    run("import comity.solving.solve, comity; assert callable(comity.solve) and callable(comity.verify)")


HELP = [["--help"], ["--version"], ["federation", "init", "--help"]] + [
    [command, "--help"]
    for command in ("demo", "solve", "predict", "verify", "show", "equilibrium", "certify", "federation")
]


@pytest.mark.parametrize("arguments", HELP)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    names = [*HEAVY, "numpy", "scipy"]
    run(f"import sys; sys.argv[1:] = {arguments}\nfrom comity.cli.main import run\nrun()\n{CHECK.format(names=names)}")


def test_public_names_are_all_there() -> None:
    run("import comity; [getattr(comity, name) for name in comity.__all__]")
    run("import comity\ntry: comity.nothing\nexcept AttributeError as error: assert 'nothing' in str(error)")
