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

from sfumato.cli import book
from sfumato.cli.app import app as app_command
from sfumato.cli.audit import audit_build
from sfumato.cli.bench import ANY_OPTIONS, bench
from sfumato.cli.card import card
from sfumato.cli.console import out, show_version
from sfumato.cli.consortium import certificates, init, key, request, revoke, sign, strike
from sfumato.cli.consortium import check as check_consortium
from sfumato.cli.curate import curate
from sfumato.cli.demo import demo
from sfumato.cli.evaluate import evaluate
from sfumato.cli.exchange import export, import_
from sfumato.cli.ledger import ledger
from sfumato.cli.methods import methods
from sfumato.cli.party import serve
from sfumato.cli.party_work import audit, status
from sfumato.cli.party_work import ledger as party_ledger
from sfumato.cli.plan import plan
from sfumato.cli.query import query
from sfumato.cli.sample import sample
from sfumato.cli.schema import check, draft
from sfumato.cli.schema_edit import edit
from sfumato.cli.synthesize import synthesize
from sfumato.cli.verify import check as verify
from sfumato.cli.verify import sign as sign_release

app = typer.Typer(
    help="Differentially private synthetic tables, with a ledger that anyone can check.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
schema_app = typer.Typer(help="Draft, confirm or check the public schema of a table.", no_args_is_help=True)
consortium_app = typer.Typer(help="Agree on a study of many parties: keys, manifest, signatures.", no_args_is_help=True)
party_app = typer.Typer(help="Take part in a study with a table that never leaves.", no_args_is_help=True)

book_app = typer.Typer(help="One budget for a population over all its releases.", no_args_is_help=True)
curate_app = typer.Typer(help=curate.__doc__)

FIRST, USE, MANY = "First steps", "Use and check a release", "Many parties"


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version and exit.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors, warnings and JSON alone.")] = False,
) -> None:
    """Differentially private synthetic tables, with a ledger that anyone can check."""
    out.quiet = quiet


app.command(rich_help_panel=FIRST)(demo)
app.command("app", rich_help_panel=FIRST)(app_command)
app.command(rich_help_panel=FIRST)(plan)
app.command(rich_help_panel=FIRST)(synthesize)
app.command(rich_help_panel=FIRST)(methods)
app.command(rich_help_panel=USE)(sample)
app.command(rich_help_panel=USE)(query)
app.command(rich_help_panel=USE)(ledger)
app.command("verify", rich_help_panel=USE)(verify)
app.command("sign", rich_help_panel=USE)(sign_release)
app.command(rich_help_panel=USE)(key)
app.command("audit", rich_help_panel=USE)(audit_build)
app.command(rich_help_panel=USE)(evaluate)
app.command(rich_help_panel=USE)(card)
app.command(context_settings=ANY_OPTIONS, add_help_option=False)(bench)
schema_app.command()(check)
schema_app.command()(draft)
schema_app.command()(edit)
schema_app.command("import")(import_)
schema_app.command("export")(export)
app.add_typer(schema_app, name="schema", rich_help_panel=FIRST)
for name, step in (
    ("open", book.open_account),
    ("show", book.show),
    ("what-if", book.what_if),
    ("propose", book.propose),
    ("approve", book.approve),
    ("withdraw", book.withdraw),
    ("record", book.record),
    ("check", book.check),
):
    book_app.command(name)(step)
app.add_typer(book_app, name="book", rich_help_panel=USE)
curate_app.callback(invoke_without_command=True)(curate)
curate_app.command("status")(status)
app.add_typer(curate_app, name="curate", rich_help_panel=MANY)
for one in (key, init, sign, revoke, request, certificates, strike):
    consortium_app.command()(one)
consortium_app.command("check")(check_consortium)
party_app.command()(serve)
party_app.command()(audit)
party_app.command()(status)
party_app.command("ledger")(party_ledger)
app.add_typer(consortium_app, name="consortium", rich_help_panel=MANY)
app.add_typer(party_app, name="party", rich_help_panel=MANY)


def main() -> None:
    """Run the command line."""
    warnings.simplefilter("once")
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"  # without our lines of code
    with suppress(NotImplementedError):  # not built for every platform; it gives back more of what was freed
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    app()
