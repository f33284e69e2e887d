"""What the way in makes of a table: the codes that an engine counts."""

import numpy as np

from sfumato.data.records import Records
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine


def records_of(data, schema):
    """The rows that would be counted, in codes of attributes, in the order of the table."""
    engine = open_engine(data, schema, SystemEntropy())
    blocks = engine._blocks
    return Records(engine.domain, [_joined([block[name] for block in blocks]) for name in engine.domain])


def codes_of(data, schema):
    """The codes of every row that would be counted."""
    return np.stack(records_of(data, schema).columns, axis=1).tolist()


def _joined(parts):
    """One column of all blocks; a table without rows may have none."""
    return np.concatenate([np.zeros(0, np.int64), *parts], dtype=np.int64)
