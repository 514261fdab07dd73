"""The options of the command line are the settings of a study."""

import click
import pytest

from comity.cli.compare import compare
from comity.cli.solve import solve
from comity.cli.study_options import given_settings
from comity.core.settings import settings_of
from comity.study import Study


def options_of(command: click.Command) -> dict[str, click.Option]:
    return {each.name: each for each in command.params if isinstance(each, click.Option) and each.name}


@pytest.mark.parametrize("setting", settings_of(Study))
def test_every_setting_is_an_option(setting: str) -> None:
    declaration = settings_of(Study)[setting].declaration
    option = options_of(solve)[setting]
    assert option.opts == ["--" + setting.replace("_", "-")]
    assert option.help
    assert option.help.startswith(settings_of(Study)[setting].documentation.replace("`", ""))
    if declaration.options:
        assert isinstance(option.type, click.Choice)
        assert tuple(option.type.choices) == declaration.options


def test_options_of_both_commands_are_declared_once() -> None:
    ours, theirs = options_of(solve), options_of(compare)
    for setting in ("client", "model", "width", "depth", "task", "metric", "exclude", "keep", "without", "seed"):
        assert (theirs[setting].help, theirs[setting].metavar) == (ours[setting].help, ours[setting].metavar)
    assert theirs["target"].required
    assert not ours["target"].required, "a file may have it"


def test_only_options_that_were_given_count() -> None:
    parsed = solve.make_context("solve", ["--seed", "3"]).params
    given = given_settings({name: parsed[name] for name in settings_of(Study)})
    assert given == {"seed": 3}, "an option that is not given must not overrule a file"
    assert given_settings({"folds": None, "exclude": (), "keep": ("a",), "seed": 0}) == {"keep": ("a",), "seed": 0}
