"""The configurations that are tried."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from girih.errors import GirihError
from girih.lang.annotations import const

# Values of a kernel's constants, by parameter.
Config = dict[str, Any]


def configurations(
    parameters: Mapping[str, object],
    configs: Iterable[Mapping[str, Any]] | None,
    space: Mapping[str, Sequence[Any]] | None,
) -> list[Config]:
    """The list as given, or all combinations of a search space, each once. ``parameters``: a kernel's
    annotations by name. Raises GirihError."""
    if (configs is None) == (space is None):
        raise GirihError(
            "gr.autotune takes either a list of configurations, as in [{'BM': 64}, {'BM': 128}], or space=, "
            "the values of each constant, as in {'BM': [64, 128]}"
        )
    if space is not None:
        found = [
            dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())
        ]
    else:
        found = [dict(config) for config in configs or ()]
    unique = [config for number, config in enumerate(found) if config not in found[:number]]
    if not unique:
        raise GirihError("gr.autotune has no configuration to try")
    for config in unique:
        for name in config:
            if parameters.get(name) is not const:
                constants = [other for other, kind in parameters.items() if kind is const]
                raise GirihError(
                    f"gr.autotune: '{name}' is no constant of the kernel; expected some of "
                    f"{', '.join(constants) or 'its gr.const parameters, of which it has none'}"
                )
    return unique


def label(config: Config) -> str:
    """A configuration for people: "BM=64, BN=128"."""
    return ", ".join(
        f"{name}={getattr(value, '__name__', value)}" for name, value in config.items()
    )
