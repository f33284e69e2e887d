"""private-pgm (mbi): its domains as `domain.json`, both ways, and our codes as its data set."""

import json

import numpy as np
import pyarrow as pa
from mbi import Dataset, Domain

from sfumato.intake.codec import SchemaCodec
from sfumato.schema.schema import Schema


def test_a_domain_of_private_pgm(bring_in, tmp_path):
    sizes = Domain(("age", "sex"), (100, 2))
    (tmp_path / "domain.json").write_text(json.dumps(sizes.config))
    columns, _ = bring_in(tmp_path / "domain.json", "domain-json")
    assert (columns["age"]["min"], columns["age"]["max"], columns["age"]["bins"]) == (0, 99, 100)
    labelled = Domain(("sex", "grade"), (2, 3), labels=(("f", "m"), ("low", "middle", "high")))
    (tmp_path / "labels.json").write_text(json.dumps(labelled.labels_config))
    columns, _ = bring_in(tmp_path / "labels.json", "domain-json")
    assert columns["grade"]["categories"] == ["low", "middle", "high"]


def test_private_pgm_holds_our_codes_in_the_domain_that_we_export(send_out, visits):
    file, said = send_out("domain-json")
    domain = Domain.fromdict(json.loads(file.read_text()))
    schema = Schema.parse(json.loads((file.parent / "visits.schema.json").read_text()))
    records = SchemaCodec(schema).encode(pa.Table.from_pandas(visits, preserve_index=False))
    assert dict(zip(records.domain.names, records.domain.shape, strict=True)) == domain.config
    dataset = Dataset({name: np.asarray(records[name]) for name in domain.attributes}, domain)
    assert float(dataset.project(("sex", "age")).values.sum()) == len(visits)
    assert "the values that the codes stand for" in said
