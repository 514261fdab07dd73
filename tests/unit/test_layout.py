"""Tests mirror the packages of the source, and CONTRIBUTING.md lists all packages and modules at the top."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE, UNIT = ROOT / "src" / "comity", ROOT / "tests" / "unit"
# These test a whole package, or how several of its modules work together.
OF_A_PACKAGE = {
    "families/glm/test_every_task.py",
    "families/test_new_family.py",
    "flower/secure/test_training.py",
    "flower/test_site_answers.py",
    "research/baselines/test_every_baseline.py",
    "research/baselines/test_helps.py",
    "research/baselines/test_parts.py",
    "research/experiments/test_tasks.py",
    "search/scalarisers/test_conformance.py",
    "questions/test_messages.py",
    "solving/test_borrow.py",
    "solving/test_private_results.py",
    "test_api.py",
    "test_layout.py",
}


def names_a_module(test: Path) -> bool:
    """Whether ``test_X.py`` or ``test_X_more.py`` stands where the module or package X stands in the source."""
    package = SOURCE / test.parent.relative_to(UNIT)
    modules = {path.stem for path in package.glob("*.py")} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }
    words = test.stem.split("_")[1:]
    return any("_".join(words[:count]) in modules for count in range(1, len(words) + 1))


def parts() -> set[str]:
    """The modules at the top, the packages, and the packages inside them, as CONTRIBUTING.md writes them."""
    packages = [path.parent for pattern in ("*/__init__.py", "*/*/__init__.py") for path in SOURCE.glob(pattern)]
    return {f"comity/{path.relative_to(SOURCE)}/" for path in packages} | {
        f"comity/{path.name}" for path in SOURCE.glob("*.py")
    }


def listed_parts() -> list[str]:
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where things are")[2].partition("\n## ")[0]
    return [part for row in re.findall(r"^\|([^|]*)\|", section, re.M) for part in re.findall("`([^`]+)`", row)]


def test_every_folder_of_tests_is_a_package_of_the_source() -> None:
    folders = {test.parent.relative_to(UNIT) for test in UNIT.rglob("test_*.py")}
    assert not [str(folder) for folder in sorted(folders) if not (SOURCE / folder).is_dir()]


def test_every_file_of_tests_is_named_after_a_module() -> None:
    others = {str(test.relative_to(UNIT)) for test in UNIT.rglob("test_*.py") if not names_a_module(test)}
    assert others == OF_A_PACKAGE, "name a test after its module, or list it as one of a whole package"


def test_the_table_lists_every_package_once() -> None:
    assert sorted(listed_parts()) == sorted(parts())


def test_the_table_has_the_order_of_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    layer_of = {name.strip().split(".")[1]: place for place, layer in enumerate(layers) for name in layer.split("|")}
    listed = [part.split("/")[1].removesuffix(".py") for part in listed_parts()]
    places = [layer_of[part] for part in listed if part in layer_of]  # `__init__` and `__main__` are in no layer
    assert places == sorted(places)
