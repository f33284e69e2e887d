"""One function runs every method: encode, learn, reconcile; a release then synthesizes as often as it likes.

The first two stages take a holder and a purse; what comes after them takes neither, and so cannot see rows or spend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sfumato import parts
from sfumato.data.coding import Level
from sfumato.data.constraints import Constraints
from sfumato.data.domain import Domain
from sfumato.data.marginal import Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Recoding
from sfumato.data.records import Records
from sfumato.data.selection import Selection
from sfumato.encode import Encode
from sfumato.errors import BudgetError, MethodError
from sfumato.exact import exact_number
from sfumato.intake.attributes import Attributes
from sfumato.intake.ruled import Ruled
from sfumato.learn import Known, Learn
from sfumato.models.tree_model import Evidence
from sfumato.privacy.holder import Holder
from sfumato.privacy.ledger import Ledger, Purse
from sfumato.privacy.ruled_holder import RuledHolder
from sfumato.reconcile.pooling import reconciled_pooled
from sfumato.schema.schema import Schema


class Reconcile(Protocol):
    """Stage 3: make noisy tables agree."""

    def __call__(self, domain: Domain, measurements: Sequence[Measurement], selection: Selection) -> Marginals:
        """Tables that agree with each other."""
        ...


class Synthesize(Protocol):
    """Stage 4: rows again."""

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """Rows whose marginals come close to the given ones."""
        ...


@runtime_checkable
class Pooling(Protocol):
    """A reconciler that pools tables itself, and so wants each of them in the codes it was measured in."""

    def from_measured(
        self,
        recoding: Recoding,
        measurements: Sequence[Measurement],
        selection: Selection,
        constraints: Constraints | None = None,
    ) -> Marginals:
        """Tables over merged codes that agree with each other; `constraints` say which cells may hold rows."""
        ...


@runtime_checkable
class Limited(Protocol):
    """A synthesizer that cannot serve every selection, and knows so before the tables are measured."""

    def check(self, domain: Domain, selection: Selection) -> None:
        """Refuse a selection, in public words."""
        ...


@runtime_checkable
class Conditional(Protocol):
    """A synthesizer that draws rows with given codes by itself, where others must draw and reject."""

    def sample_given(
        self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator, given: Evidence
    ) -> Records:
        """Rows of the conditional distribution given that some attributes have allowed codes."""
        ...


class Guarantee(Enum):
    """What a method promises: pure DP, approximate DP, or either, as the budget says."""

    PURE = "epsilon"
    APPROXIMATE = "(epsilon, delta)"
    EITHER = "epsilon or (epsilon, delta)"


STAGES = ("encode", "learn", "reconcile", "synthesize")


@dataclass(frozen=True)
class Recipe:
    """A named method: four parts, as data.

    Args:
        name: what users call it.
        summary: one line for lists of methods.
        guarantee: which budgets it can spend.
        encode: stage 1.
        encode_part: the part of the budget that stage 1 may spend; what it leaves goes to stage 2.
        learn: stage 2.
        reconcile: stage 3.
        synthesize: stage 4.
        needs: questions besides measuring that a holder must be able to answer.
        takes_views: whether a user may give the views to measure, instead of those the method would choose.

    >>> from dataclasses import replace
    >>> from sfumato.recipes import RECIPES
    >>> replace(RECIPES["dpview"], name="mine", encode_part=Fraction(1, 10)).name
    'mine'
    """

    name: str
    summary: str
    guarantee: Guarantee
    encode: Encode
    encode_part: Fraction
    learn: Learn
    reconcile: Reconcile
    synthesize: Synthesize
    needs: tuple[str, ...] = ()
    takes_views: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.encode_part < 1:
            raise BudgetError(
                f"recipe {self.name!r} gives {self.encode_part} of the budget to encode; give a part from 0 to below 1"
            )

    def to_dict(self) -> dict[str, Any]:
        """This recipe as JSON, every part with its parameters."""
        return {
            "name": self.name,
            "summary": self.summary,
            "guarantee": self.guarantee.value,
            "encode_part": str(self.encode_part),
            **{stage: parts.to_data(getattr(self, stage)) for stage in STAGES},
            "needs": list(self.needs),
            "takes_views": self.takes_views,
        }

    def parameters(self) -> dict[str, str]:
        """The parts of this recipe in readable form."""
        shares = f"encode at most {self.encode_part}, learn the rest"
        return {"shares": shares, **{stage: repr(getattr(self, stage)) for stage in STAGES}}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], known: Mapping[str, type]) -> Recipe:
        """Read a recipe back, with its parts from `known` classes; a part of another class is there but cannot run."""
        try:
            stages = {stage: _part(record[stage], known) for stage in STAGES}
            return cls(
                name=_text(record["name"]),
                summary=_text(record["summary"]),
                guarantee=Guarantee(record["guarantee"]),
                encode_part=exact_number(record["encode_part"]),
                needs=tuple(map(_text, record["needs"])),
                takes_views=bool(record["takes_views"]),
                **stages,
            )
        except (KeyError, TypeError, ValueError):
            raise MethodError("a recipe cannot be read; wanted the keys that Sfumato writes") from None


@dataclass(frozen=True)
class Model:
    """What a run learned, free of rows: it can be sampled for ever."""

    recoding: Recoding
    selection: Selection
    measurements: tuple[Measurement, ...]
    marginals: Marginals


Progress = Callable[[str], None]


def run(
    recipe: Recipe, holder: Holder, schema: Schema, ledger: Ledger, progress: Progress = lambda stage: None
) -> Model:
    """Spend the ledger's budget on the rows of `holder`, which are in attributes of `schema`, as the recipe says."""
    constraints = Ruled(schema).constraints
    if constraints.items:
        holder = RuledHolder(holder, constraints)
    progress("encode")
    ledger.stage = "encode"
    encoded = recipe.encode(holder, schema, Purse(ledger, recipe.encode_part).left)
    recoding = encoded.recoding
    holder = holder.through(recoding.step)

    progress("learn")
    ledger.stage = "learn"
    attributes = Attributes(schema)
    check = recipe.synthesize.check if isinstance(recipe.synthesize, Limited) else _no_limit
    known = Known(
        tables=encoded.tables,
        constraints=constraints if constraints.items else None,
        levels=_levels(attributes, recoding),
        ordered=_ordered(attributes, recoding),
        apart=attributes.parts,
        check=check,
    )
    learned = recipe.learn(holder, known, Purse(ledger))

    # ------------- below this line nothing can see private rows -------------
    progress("reconcile")
    ledger.stage = "reconcile"
    ledger.note("make the noisy tables agree", "post-processing of noisy tables")
    tables = (*encoded.tables, *learned.tables)
    agreed = reconciled(recipe, recoding, tables, learned.selection, constraints)
    return Model(recoding, learned.selection, tables, agreed)


def reconciled(
    recipe: Recipe,
    recoding: Recoding,
    measurements: Sequence[Measurement],
    selection: Selection,
    constraints: Constraints | None = None,
) -> Marginals:
    """Stage 3 on the tables of a run; the same tables give the same model, so anybody can repeat it."""
    if isinstance(recipe.reconcile, Pooling):
        return recipe.reconcile.from_measured(recoding, measurements, selection, constraints)
    return reconciled_pooled(recipe.reconcile, recoding, measurements, selection)


def _no_limit(domain: Domain, selection: Selection) -> None:
    """For synthesizers that can serve every selection."""


def _part(record: Any, known: Mapping[str, type]) -> Any:
    """A part of a recipe; a plain value in its place could not run."""
    part = parts.from_data(record, known)
    if not callable(part):
        raise TypeError
    return part


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _ordered(attributes: Attributes, recoding: Recoding) -> dict[str, int]:
    """How many merged codes of each attribute have an order: merging keeps the ordered codes first, in runs."""
    return {
        one.name: int(merging.to[: one.ordered].max()) + 1 if one.ordered else 0
        for one, merging in zip(attributes.all, recoding.mergings, strict=True)
    }


def _levels(attributes: Attributes, recoding: Recoding) -> tuple[Level, ...]:
    """The levels that the schema declares, as coarser versions of merged codes; of two with equally many codes one."""
    found = [
        Level(name, tuple(recoding.coarsen(name, level).tolist()))
        for name, levels in attributes.levels.items()
        for level in levels
    ]
    return tuple({level.name: level for level in found}.values())
