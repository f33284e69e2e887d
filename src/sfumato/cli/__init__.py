"""The command line: each command parses, calls one library function, and prints.

Exit codes: 0 done; 2 the input was wrong and the message says what to do; 3 a plan whose budget cannot support the
schema; 4 a release is not what it says (`verify`); 5 this build does not keep its promise (`audit`); 1 a fault of
Sfumato; 130 interrupted.
"""

import warnings
from contextlib import suppress
from typing import Annotated

import pyarrow as pa
import typer

from sfumato.cli.commands import Command, Group, group_of
from sfumato.cli.console import err, out, show_version, write_utf8
from sfumato.errors import IntakeWarning, NoiseWarning

FIRST, USE, MANY = "First steps", "Use and check a release", "Many parties"

SCHEMA = {
    "check": Command("schema:check"),
    "draft": Command("schema:draft"),
    "edit": Command("schema_edit:edit"),
    "import": Command("exchange:import_"),
    "export": Command("exchange:export"),
}
BOOK = {
    "open": Command("book:open_account"),
    "show": Command("book:show"),
    "what-if": Command("book:what_if"),
    "propose": Command("book:propose"),
    "approve": Command("book:approve"),
    "withdraw": Command("book:withdraw"),
    "record": Command("book:record"),
    "check": Command("book:check"),
}
CONSORTIUM = {
    **{name: Command(f"consortium:{name}") for name in ("key", "init", "sign", "check")},
    **{name: Command(f"consortium:{name}") for name in ("rotate", "succeed", "revoke")},
    **{name: Command(f"consortium:{name}") for name in ("request", "certificates", "strike")},
}
CURATE = {"status": Command("party_work:status"), "signatures": Command("party_work:signatures")}
PARTY = {
    "serve": Command("party:serve"),
    "audit": Command("party_work:audit"),
    "status": Command("party_work:status"),
    "approve": Command("party_work:approve"),
    "ledger": Command("party_work:ledger"),
}
ACCOUNT = {
    "add": Command("page:add_account"),
    "remove": Command("page:remove_account"),
    "list": Command("page:list_accounts"),
}
COMMANDS: dict[str, Command | Group] = {
    "demo": Command("demo:demo", FIRST),
    "app": Command("page:app", FIRST),
    "plan": Command("plan:plan", FIRST),
    "synthesize": Command("synthesize:synthesize", FIRST),
    "methods": Command("methods:methods", FIRST),
    "sample": Command("sample:sample", USE),
    "query": Command("query:query", USE),
    "ledger": Command("ledger:ledger", USE),
    "verify": Command("verify:check", USE),
    "sign": Command("verify:sign", USE),
    "key": Command("consortium:key", USE),
    "audit": Command("audit:audit_build", USE),
    "evaluate": Command("evaluate:evaluate", USE),
    "card": Command("card:card", USE),
    "bench": Command(
        "bench:bench",
        USE,
        settings={
            "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True},
            "add_help_option": False,
        },
    ),
    "schema": Group("Draft, confirm or check the public schema of a table.", SCHEMA, FIRST),
    "account": Group("Who may sign in to the web page, where other machines can reach it.", ACCOUNT, FIRST),
    "book": Group("One budget for a population over all its releases.", BOOK, USE),
    "curate": Group(None, CURATE, MANY, callback="curate:curate"),
    "consortium": Group("Agree on a study of many parties: keys, manifest, signatures.", CONSORTIUM, MANY),
    "party": Group("Take part in a study with a table that never leaves.", PARTY, MANY),
}
"""Every command, in the order of the help."""

app = typer.Typer(
    help="Differentially private synthetic tables, with a ledger that anyone can check.",
    cls=group_of(COMMANDS),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version and exit.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors, warnings and JSON alone.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Tell each stage on a line, with the time.")] = False,
) -> None:
    """Differentially private synthetic tables, with a ledger that anyone can check."""
    out.quiet = quiet
    err.verbose = verbose


def main() -> None:
    """Run the command line."""
    write_utf8()
    for ours in (IntakeWarning, NoiseWarning):  # what a library says to its programmers is not for users
        warnings.simplefilter("once", ours)
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"  # without our lines of code
    with suppress(NotImplementedError):  # not built for every platform; it gives back more of what was freed
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    app()
