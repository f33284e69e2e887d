"""Uses of the API that a type checker must accept, with the types that it must see; `test_typing` runs it on them."""

from pathlib import Path
from typing import Any, assert_type

import polars
import pyarrow as pa

import sfumato
from sfumato import Release


def frames(table: pa.Table, frame: polars.DataFrame, lazy: polars.LazyFrame, stream: Any, keys: dict[str, Any]) -> None:
    assert_type(sfumato.fit(frame, keys, epsilon=1), Release[polars.DataFrame])
    assert_type(sfumato.fit(frame, keys, epsilon=1).sample(rows=5), polars.DataFrame)
    assert_type(sfumato.fit(frame, keys, epsilon=1).marginal("age"), polars.DataFrame)
    assert_type(sfumato.fit(lazy, keys, epsilon=1).sample(), polars.DataFrame)
    assert_type(sfumato.fit("people.csv", keys, epsilon="1", delta="1e-9").sample(), pa.Table)
    assert_type(sfumato.fit(Path("people.csv"), keys, epsilon=1), Release[pa.Table])
    assert_type(Release.load("folder").sample(), pa.Table)
    assert_type(Release.load("folder", "polars").sample(), polars.DataFrame)
    sfumato.draft(lazy)
    sfumato.check(frame, keys)
    sfumato.evaluate("real.csv", frame, keys)


def refused(keys: dict[str, Any]) -> None:
    sfumato.fit(42, keys, epsilon=1)  # type: ignore[call-overload]
    sfumato.draft([1, 2])  # type: ignore[arg-type]
    Release.load("folder", "spark")  # type: ignore[call-overload]
