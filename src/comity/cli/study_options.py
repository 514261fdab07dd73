"""Command-line options for the settings of a study, made from their declarations."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import click

from comity.core.settings import settings_of
from comity.study import Study

Command = TypeVar("Command", bound=Callable[..., Any])


def study_options(*settings: str, required: Collection[str] = ()) -> Callable[[Command], Command]:
    """Return a decorator that adds an option for each of these settings."""

    def add(command: Command) -> Command:
        for name in reversed(settings):
            command = _option(name, name in required)(command)
        return command

    return add


def given_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given; click has None or an empty tuple for the others."""
    return {name: value for name, value in options.items() if value is not None and value != ()}


def _option(name: str, required: bool) -> Callable[[Command], Command]:
    setting = settings_of(Study)[name]
    declaration, text = setting.declaration, setting.documentation.replace("`", "")
    several = declaration.type is tuple
    if several:
        text += " May be repeated."
    return click.option(
        f"--{name.replace('_', '-')}",
        type=click.Choice(declaration.options) if declaration.options else str if several else declaration.type,
        metavar=None if declaration.options else declaration.metavar,
        multiple=several,
        required=required,
        help=text,
    )
