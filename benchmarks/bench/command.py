"""`sfumato bench`: systems side by side on public data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench.results import Result
from bench.runner import RESULTS, Plan
from bench.runner import bench as run_bench
from bench.writing import write
from sfumato.cli.console import JsonOption, err, explained, out, print_json

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@explained
def bench(
    data: Annotated[Path, typer.Option(help="A folder with NAME.csv.gz and NAME.schema.json for each set.")],
    out_folder: Annotated[Path, typer.Option("--out", help="The folder of results; one that exists is continued.")],
    methods: Annotated[
        str, typer.Option(help="Names with commas: methods, independent, resample, fresh, rivals.")
    ] = "auto,pgm,privsyn,independent,resample,fresh",
    epsilons: Annotated[str, typer.Option(help="Budgets with commas.")] = "0.2,1,5",
    delta: Annotated[str, typer.Option(help="For the methods that take one.")] = "1e-9",
    repeats: Annotated[int, typer.Option(help="Runs of each method at each epsilon.")] = 3,
    sets: Annotated[str, typer.Option(help="Names of data sets with commas.")] = "adult",
    time_limit: Annotated[float, typer.Option(help="CPU seconds for a run; on the clock five times as much.")] = 600,
    rivals: Annotated[Path | None, typer.Option(help="A folder of adapters, for example benchmarks/rivals.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Run methods side by side, each run in a process of its own; continue where an earlier bench stopped."""
    plan = Plan(data, _names(sets), _names(methods), _names(epsilons), delta, repeats, time_limit, rivals)
    try:
        results = run_bench(plan, out_folder, lambda result: None if as_json else _show(result))
    except KeyboardInterrupt:
        err.print(f"interrupted; the runs that ended are kept in {out_folder / RESULTS}: the same command goes on")
        raise typer.Exit(130) from None
    write(results, out_folder)
    troubles = sum(result.status != "done" for result in results)
    if as_json:
        summary = {"folder": str(out_folder), "runs": len(results), "without_scores": troubles}
        print_json(summary | {"results": str(out_folder / RESULTS)})
        return
    out.print(f"{out_folder}: {len(results)} runs, {troubles} without scores; see bench.html and table.md")


def _show(result: Result) -> None:
    key, words = result.key, result.message
    if result.status == "done":
        words = ", ".join(f"{name} {result.figures[name]:.4f}" for name in ("2-way", "3-way", "range"))
        words += f", {result.figures['cpu_seconds']:.1f} CPU s"
    budget = f" ε {key.epsilon}" if key.epsilon else ""
    line = f"{key.set} {key.method}{budget} #{key.repeat}: {result.status}: {words}"
    out.print(line, soft_wrap=True)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


if __name__ == "__main__":
    app()
