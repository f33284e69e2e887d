"""Check a release of Sfumato with nothing but Python's standard library.

    python verify.py [FOLDER] [--key PUBLIC_KEY]

FOLDER is where this file is, unless it is given. Exit code 0: nothing is wrong; 4: something is; 2: no release there.
Take this file from a source that you trust: whoever can change a release can change the copy that lies inside it.

It checks hashes and signature, adds the ledger up again as exact fractions, and ties it to the schema (who is
protected, how far one unit of privacy moves each answer) and to the noisy tables (one event each, of the same width).
`sfumato verify` also repeats all post-processing, from the noisy tables to the rows. Neither can show that the noise
was drawn, nor that no other release was made of the same persons.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from math import ceil, erfc, exp, expm1, lcm, log, log1p, pi, sqrt
from statistics import NormalDist
from typing import Any

Record = Any
"""An object of a JSON file, which may hold anything."""

UNLISTED = ("manifest.json", "manifest.dsse.json")
NUMBER = re.compile(r"[0-9]{1,400}(/[0-9]{1,400}|(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?)")
GRID = 1024
SCORES = {
    "R": (Fraction(2), Fraction(17, 5), 1),
    "I": (Fraction(5, 4), Fraction(5, 2), 2),
    "F": (Fraction(1),) * 2 + (0,),
}
WIDTHS = {"laplace": "scale", "gaussian": "sigma", "skellam": "mu"}
PERSONS = "persons by their number of rows"
AGAIN = "ask for these tables again"
NEAR = 1e-6


class Wrong(Exception):  # noqa: N818 -- the name says what happened
    """Something in the release is not as it says."""


def check(folder: str, key: str | None = None) -> list[tuple[str, bool | None, str]]:
    """What was found, as (check, whether it passed or None if it could not be made, a sentence)."""
    found: list[tuple[str, bool | None, str]] = []

    def step(name: str, function: Callable[[], tuple[bool | None, str]]) -> None:
        passed: bool | None
        try:
            passed, detail = function()
        except Wrong as problem:
            passed, detail = False, str(problem)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, ArithmeticError):
            passed, detail = False, "a file is missing, or cannot be read"
        found.append((name, passed, detail))

    step("files", lambda: check_files(folder))
    step("signature", lambda: check_signature(folder, key))
    step("ledger", lambda: check_ledger(folder))
    step("unit", lambda: check_unit(folder))
    step("tables", lambda: check_tables(folder))
    return found


# ---- files and signature


def check_files(folder: str) -> tuple[bool | None, str]:
    """Every file is listed in the manifest with its hash, and nothing else is there."""
    manifest = read(folder, "manifest.json")
    listed = {one["name"]: one["digest"]["sha256"] for one in manifest["subject"]}
    need(len(listed) == len(manifest["subject"]), "the manifest lists a file twice")
    there: dict[str, str] = {}
    for place, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(place, name)
            need(not os.path.islink(path), f"{name!r} is a link")
            if os.path.isdir(path):
                continue
            need(os.path.isfile(path), f"{name!r} is not a plain file")
            relative = os.path.relpath(path, folder).replace(os.sep, "/")
            if relative not in UNLISTED:
                there[relative] = sha256(path)
    for name in sorted(set(listed) | set(there)):
        need(name in there, f"{name!r} is missing")
        need(name in listed, f"{name!r} is not in the manifest")
        need(listed[name] == there[name], f"{name!r} was changed")
    return True, f"{len(there)} files, all as the manifest says"


def check_signature(folder: str, key: str | None) -> tuple[bool | None, str]:
    """The envelope holds the manifest, and every signature in it is right; one is by `key`, if that is given."""
    if not os.path.lexists(os.path.join(folder, "manifest.dsse.json")):
        need(key is None, "there is no signature, and one by the given key was wanted")
        return None, "nobody has signed this release: whoever changed it could write the manifest anew"
    envelope = read(folder, "manifest.dsse.json")
    payload = base64.b64decode(envelope["payload"], validate=True)
    with open(os.path.join(folder, "manifest.json"), "rb") as file:
        need(payload == file.read(), "the signed manifest is not the one in the folder")
    kind = envelope["payloadType"].encode()
    signed = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])
    signers = []
    for one in envelope["signatures"]:
        right = ed25519(bytes.fromhex(one["keyid"]), base64.b64decode(one["sig"], validate=True), signed)
        need(right, f"the signature by {one['keyid']} is wrong")
        signers.append(one["keyid"].lower())
    need(signers, "the envelope has no signature")
    if key is None:
        return None, f"signed by {', '.join(signers)}; whose key that is, ask its owner, and give it with --key"
    need(key.lower() in signers, f"signed by {', '.join(signers)}, and not by the given key")
    return True, f"signed by {key.lower()}"


def ed25519(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether a signature is right (RFC 8032)."""
    if len(public) != 32 or len(signature) != 64:
        return False
    point, number = unpacked(public), int.from_bytes(signature[32:], "little")
    if point is None or number >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public + message).digest()
    minus = (PRIME - point[0], point[1], 1, PRIME - point[3])
    left = added(times(number, BASE), times(int.from_bytes(digest, "little") % ORDER, minus))
    inverse = pow(left[2], PRIME - 2, PRIME)
    x, y = left[0] * inverse % PRIME, left[1] * inverse % PRIME
    return bool((y | (x & 1) << 255).to_bytes(32, "little") == signature[:32])


Point = Any
"""Four numbers."""

PRIME, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME


def unpacked(text: bytes) -> Point | None:
    """The point of the curve that 32 bytes stand for, as (X, Y, Z, XY/Z), or None."""
    number = int.from_bytes(text, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    square = (y * y - 1) * pow(CURVE * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    if (x * x - square) % PRIME or y >= PRIME or (x == 0 and sign):
        return None
    x = PRIME - x if x & 1 != sign else x
    return x, y, 1, x * y % PRIME


def added(one: Point, two: Point) -> Point:
    """The sum of two points."""
    a, b = (one[1] - one[0]) * (two[1] - two[0]), (one[1] + one[0]) * (two[1] + two[0])
    c, d = 2 * CURVE * one[3] * two[3], 2 * one[2] * two[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def times(number: int, point: Point) -> Point:
    """A multiple of a point."""
    result = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = added(result, point)
        point, number = added(point, point), number >> 1
    return result


BASE = unpacked((4 * pow(5, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little"))


# ---- the ledger


def check_ledger(folder: str) -> tuple[bool | None, str]:
    """The events add up to what the ledger says, and to no more than its budget."""
    ledger = read(folder, "ledger.json")
    budget, kind = ledger["budget"], ledger["budget"]["kind"]
    spent = Fraction(0)
    for number, event in enumerate(ledger["events"]):
        one = cost(event, kind)
        need(near(float(one), event["cost"]), f"event {number} costs {float(one):.9g} and not {event['cost']!r}")
        spent += one
    need(near(float(spent), ledger["spent"]), f"the events cost {float(spent):.9g} and not {ledger['spent']!r}")
    names = ["rho"] if kind == "zcdp" else ["epsilon", "delta"]
    for name in names:
        meant = exact(budget[name]) if name in budget else Fraction(0)
        need(near(float(meant), ledger["guarantee"][name]), f"the guarantee states another {name} than the budget")
    words = re.search(r"(epsilon|rho) = ([0-9][0-9.e-]*)", ledger["sentence"])
    need(
        words and 0 <= float(exact(words[2]) / exact(budget[names[0]]) - 1) < 1e-5, "the sentence states another number"
    )
    need(read(folder, "release.json")["guarantee"] == ledger["sentence"], "release.json states another guarantee")
    need(within(spent, budget), f"the events cost {float(spent):.9g} {ledger['unit']}, more than the budget allows")
    return True, f"{len(ledger['events'])} events, within the budget: {ledger['sentence']}"


def cost(event: Record, budget: str) -> Fraction:
    """What an event costs under a budget of some kind, recomputed."""
    kind = event["event"]
    if kind == "free":
        return Fraction(0)
    if kind == "choice":
        epsilon = 2 * exact(event["rate"]) * exact(event["sensitivity"])
        return epsilon if budget == "pure" else of_pure(epsilon) if budget == "approximate" else epsilon**2 / 8
    width, l1, l2 = (exact(event[name]) for name in (WIDTHS[kind], "sensitivity_l1", "sensitivity_l2_squared"))
    if kind == "laplace":
        epsilon = l1 / width
        return epsilon if budget == "pure" else of_pure(epsilon) if budget == "approximate" else epsilon**2 / 2
    if kind == "gaussian":
        need(budget != "pure", "Gaussian noise is not pure")
        return l2 / (2 * width**2)
    need(budget == "skellam", "Skellam noise stands in a ledger of another kind")
    return l2 / (2 * width) + min((2 * l2 + 3 * l1) / (4 * width**2), 3 * l1 / (4 * width))


def of_pure(epsilon: Fraction) -> Fraction:
    """Half the squared mu of the Gaussian release that an epsilon-DP answer is at most as bad as."""
    if epsilon > 600:
        return 4 * epsilon
    odds = exp(-float(epsilon))
    return Fraction(2 * NormalDist().inv_cdf(odds / (1 + odds)) ** 2)


def within(spent: Fraction, budget: Record) -> bool:
    """Whether a total cost keeps the promise of a budget."""
    if budget["kind"] in ("pure", "zcdp"):
        return spent <= exact(budget["epsilon" if budget["kind"] == "pure" else "rho"])
    epsilon, delta, rho = float(exact(budget["epsilon"])), float(exact(budget["delta"])), float(spent)
    if budget["kind"] == "approximate":
        return hockey_stick(epsilon, sqrt(2 * rho)) <= delta * (1 + NEAR)
    need(budget["kind"] == "skellam", "the budget is of an unknown kind")
    orders = list(range(2, 256)) + [round(256 * 1.01**step) for step in range(1500)]
    return min(a * rho + log1p(-1 / a) - (log(delta) + log(a)) / (a - 1) for a in orders) <= epsilon * (1 + 0.01)


def hockey_stick(epsilon: float, mu: float) -> float:
    """The least delta for which a Gaussian release is (epsilon, delta)-DP, by integration: no term is negative.

    delta = E[(1 - e^(epsilon - L))^+] with the privacy loss L ~ N(mu^2/2, mu^2). With L = epsilon + mu t this is the
    integral over t > 0 of (1 - e^(-mu t)) times a normal density with mean mu/2 - epsilon/mu (Simpson's rule).
    """
    if mu == 0:
        return 0.0
    mean, steps = mu / 2 - epsilon / mu, 20_000
    start = max(0.0, mean - 40)
    end = max(mean, 0.0) + 40
    values = [
        exp(-((t - mean) ** 2) / 2) * -expm1(-mu * t)
        for t in (start + (end - start) * k / steps for k in range(steps + 1))
    ]
    total = values[0] + values[-1] + 4 * sum(values[1::2]) + 2 * sum(values[2:-1:2])
    return total * (end - start) / steps / 3 / sqrt(2 * pi)


# ---- the schema and the tables


def check_unit(folder: str) -> tuple[bool | None, str]:
    """The ledger protects whom the schema names, and charges how far one of them moves each answer."""
    schema, ledger = read(folder, "schema.json"), read(folder, "ledger.json")
    unit = schema.get("unit", {})
    rows, replace = unit.get("rows", 1), schema.get("neighbours", "add-remove") == "replace-one"
    person = unit.get("column") is not None
    who = (
        ("one person's row" if person else "one row")
        if rows == 1
        else (f"all rows of one person (at most {rows})" if person else f"any {rows} rows")
    )
    whom = f"{who}, {'replaced by any other' + ('' if rows == 1 else 's') if replace else 'added or removed'}"
    protects = ledger["protects"]
    need(
        protects == whom or protects.startswith(f"{whom}, at each of "),
        f"the ledger protects {protects!r}; the schema: {whom!r}",
    )
    need(f"protecting {protects}" in ledger["sentence"], "the sentence protects somebody else")
    observed = [one["name"] for one in schema["columns"] if one.get("domain_from") == "observed"]
    need(ledger["observed"] == observed, "the ledger lists other observed domains than the schema")
    reach = parts_of(unit) if parts_of(unit) > 1 else rows
    changes = reach * (2 if replace else 1)
    for number, event in enumerate(ledger["events"]):
        if event["event"] == "free":
            continue
        pairs = re.fullmatch(r"dependence of ([0-9]{1,9}) pairs of columns, in rows / 1024", event["question"])
        distances = re.fullmatch(
            r"distance of ([0-9]{1,9}) tables to those of a model, in rows / 1024", event["question"]
        )
        choice = re.fullmatch(r"one of [0-9]{1,9} sets of parents, by score ([RIF])", event["question"])
        if event["event"] == "choice":
            need(choice, f"event {number} is a choice of an unknown kind")
            add, exchange, rounding = SCORES[choice[1] if choice else ""]
            right = (
                exact(event["sensitivity"]) == ceil(reach * (max(add, exchange) if replace else add) * GRID) + rounding
            )
        elif pairs:
            step, count = 4 * changes * GRID + 1, int(pairs[1])
            right = norms(event) == (count * step, count * step**2)
        elif distances:
            step, count = changes * GRID, int(distances[1])
            right = norms(event) == (count * step, count * step**2)
        elif event["question"] == PERSONS and person:
            right = norms(event) == ((2, 2) if replace else (1, 1))
        else:
            need(event["question"].startswith("table "), f"event {number} asks an unknown question")
            right = norms(event) == ((2 * reach, 2 * reach**2) if replace else (reach, reach**2))
        need(right, f"event {number} charges another sensitivity than follows from the schema")
    return True, f"protects {protects}, as the schema says"


def parts_of(unit: Record) -> int:
    """Into how many parts a person is cut, where persons are counted."""
    return lcm(*range(1, min(unit.get("rows", 1), 12) + 1)) if unit.get("count", "rows") == "persons" else 1


def norms(event: Record) -> Any:
    """The L1 norm and the squared L2 norm that an event charges for."""
    return exact(event["sensitivity_l1"]), exact(event["sensitivity_l2_squared"])


def check_tables(folder: str) -> tuple[bool | None, str]:
    """Each noisy table was paid for by one event, of its columns and its width, and no event is without a table."""
    events, index = read(folder, "ledger.json")["events"], read(folder, "marginals/index.json")
    study = ", at each of " in read(folder, "ledger.json")["protects"]
    paid = {
        number
        for number, event in enumerate(events)
        if event["question"].startswith("table ") and event["event"] != "free"
    }
    unit = read(folder, "schema.json").get("unit", {})
    parts, person = parts_of(unit), unit.get("column") is not None
    persons = read(folder, "release.json").get("rows_per_person")
    counted = [number for number, event in enumerate(events) if event["question"] == PERSONS]
    ratios: list[float] = []
    for table in index["tables"]:
        number = table["event"]
        need(number in paid, f"table {table['file']!r} was not paid for, or its event pays for another table too")
        paid.discard(number)
        event = events[number]
        name = " × ".join(table["columns"]) or "of no column: the number of rows"
        name += f", in persons / {parts}" if parts > 1 else ""
        need(event["question"] == f"table {name}", f"event {number} is of other columns")
        need(os.path.isfile(os.path.join(folder, "marginals", table["file"])), f"table {table['file']!r} is missing")
        wanted = variance(event["event"], float(exact(event[WIDTHS[event["event"]]]))) / parts**2
        # Shares of noise from more parties than must be honest add up to more noise than is charged, never to less.
        wider = event["event"] != "gaussian" and table["variance"] > wanted
        right = (near(wanted, table["variance"]) or wider) and near(table["standard_deviation"] ** 2, table["variance"])
        need(right, f"table {table['file']!r} has other noise than was paid for")
        ratios.append(table["variance"] / wanted)
    need(study or not ratios or near(min(ratios), max(ratios)), "some tables have more noise than was paid for")
    if person and not (study or any(ratio > 1 + NEAR for ratio in ratios)):
        need(persons and counted == [persons["event"]], "the table of persons was not paid for by one event")
        event = events[counted[0]]
        wanted = variance(event["event"], float(exact(event[WIDTHS[event["event"]]])))
        need(near(wanted, persons["variance"]), "the table of persons has other noise than was paid for")
    else:  # nothing tells persons apart, or they may have rows at several parties
        need(persons is None and not counted, "persons were counted, and nothing tells them apart")
    lost = any(event["question"] == AGAIN for event in events)
    need(not paid or (study and lost), f"events {sorted(paid)[:5]} paid for tables that are not there")
    files = [table["file"] for table in index["tables"]] + ["index.json"]
    need(
        sorted(files) == sorted(os.listdir(os.path.join(folder, "marginals"))),
        "marginals/ holds other files than its index",
    )
    return True, f"{len(index['tables'])} tables, each paid for by one event, with the noise of that event"


def variance(kind: str, width: float) -> float:
    """The variance of integer noise."""
    if kind == "skellam":
        return width
    if kind == "laplace":
        return max(2 * exp(-1 / width) / expm1(-1 / width) ** 2, 1e-12)
    if width < 1:
        return max(sum((2 * k - 1) * erfc((k - 0.5) / (width * sqrt(2))) for k in range(1, 40)), 1e-12)
    return width**2 + 1 / 12 - exp(-2 * (pi * width) ** 2) * (4 * width**2 + 1 / pi**2)


# ---- small things


def read(folder: str, name: str) -> Any:
    """The JSON of a file."""
    with open(os.path.join(folder, *name.split("/")), encoding="utf-8") as file:
        return json.load(file)


def sha256(path: str) -> str:
    """The hash of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def exact(text: Any) -> Fraction:
    """A positive number as an exact fraction; its size is known before it is computed."""
    need(NUMBER.fullmatch(str(text)), "a number is not positive, or too long")
    value = Fraction(str(text))
    need(value > 0, "a number is not above 0")
    return value


def near(one: float, two: Any) -> bool:
    """Whether two numbers are the same up to rounding."""
    return type(two) in (int, float) and abs(one - two) <= NEAR * abs(one)


def need(condition: object, problem: str) -> None:
    """Refuse a release for a reason."""
    if not condition:
        raise Wrong(problem)


def main() -> int:
    """Check a folder and say what was found."""
    parser = argparse.ArgumentParser(description="Check a release of Sfumato.")
    parser.add_argument("folder", nargs="?", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--key", help="the public key of who must have signed: 64 hexadecimal digits")
    given = parser.parse_args()
    if not os.path.isfile(os.path.join(given.folder, "release.json")):
        print(f"error: {given.folder!r} is no release of Sfumato", file=sys.stderr)
        return 2
    found = check(given.folder, given.key)
    for name, passed, detail in found:
        word = {True: "passed", False: "FAILED", None: "not checked"}[passed]
        print(f"{word:<12}{name:<10} {ascii(detail)[1:-1]}")
    print("This can't show that noise was drawn, nor that this is the only release. `sfumato verify` repeats more.")
    return 4 if any(passed is False for _, passed, _ in found) else 0


if __name__ == "__main__":
    sys.exit(main())
