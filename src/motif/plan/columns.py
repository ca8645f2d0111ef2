"""Row expressions -> code of `kernels.columns`."""

from __future__ import annotations

from collections.abc import Sequence

from motif.plan.codegen import Environment, Generator
from motif.plan.markers import Markers
from motif.plan.scalar import Scalar


def generate_columns(nodes: Sequence[Scalar]) -> tuple[Markers, Environment]:
    """Statements that compute each expression at a row, and what they read."""
    generator = Generator(())
    values = [generator.named(generator.value(node)) for node in nodes]
    results = [f"out[{n}].append({v.code})\nnulls[{n}].append({v.null})" for n, v in enumerate(values)]
    environment = generator.environment()
    columns = range(len(environment.columns))
    prologue = [f"c{n} = values[{n}]\nz{n} = flags[{n}]" for n in columns]
    markers = (("prologue", "\n".join(prologue)), ("values", "\n".join([*generator.lines, *results])))
    return markers, environment
