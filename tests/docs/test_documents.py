"""What README.md and docs/ show is what happens."""

import doctest
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from comity.research.experiments.page import page

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?P<language>\w*)(?: title=\"(?P<file>\S+)\")?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.REPORT_NDIFF
# Their figures are estimates, whose last digits another machine may round otherwise.
ESTIMATING = {"solve", "show", "verify"}
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")


def console(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with the output shown after it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def masked(text: str) -> str:
    """Return text without its numbers and the blanks that align them."""
    return re.sub(r" +", " ", NUMBER.sub("#", text))


def check_numbers(shown: str, printed: str, where: str) -> None:
    """Check that numbers are the same but for what another machine may round otherwise."""
    for one, other in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=False):  # what is shown may be cut
        expected, found = (float(each.replace(",", "")) for each in (one, other))
        last = 10.0 ** -len(one.partition(".")[2])
        assert abs(found - expected) <= max(2 * last, 0.02 * abs(expected)), f"{where}: {one} is shown, not {other}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples(
    document: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    comity: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCK.finditer(document.read_text(encoding="utf-8")):
        line = document.read_text(encoding="utf-8").count("\n", 0, block.start())
        if block["file"]:
            Path(block["file"]).write_text(block["text"], encoding="utf-8")
        if block["language"] == "python":
            test = doctest.DocTestParser().get_doctest(block["text"], names, document.name, str(document), line)
            runner = doctest.DocTestRunner(optionflags=OPTIONS)
            failures: list[str] = []
            runner.run(test, out=failures.append, clear_globs=False)
            assert not runner.failures, "".join(failures)
            names.update(test.globs)
        if block["language"] == "console":
            for command, shown in console(block["text"]):
                words = shlex.split(command)
                assert words[0] == "comity", f"only comity is run here, not {command}"
                done = comity(*words[1:])
                assert done.returncode < 2, done.stderr
                beginning, cut, _ = shown.partition("…\n")
                printed = done.stdout
                if words[1] in ESTIMATING:
                    check_numbers(beginning, printed, f"{document.name}, `{command}`")
                    beginning, printed = masked(beginning), masked(printed)
                printed = printed[: len(beginning)] if cut else printed
                assert printed == beginning, f"{document.name} shows something else for `{command}`"


def test_links_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_page_of_reproduced_tables_is_made_of_the_saved_results() -> None:
    """If it fails, `make page` was forgotten."""
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == page(ROOT / "docs" / "results")
