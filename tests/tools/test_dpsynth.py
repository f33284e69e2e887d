"""dpsynth: it reads the domain that we export, makes rows by it, and writes a domain that we import.

It is on no registry and wants another Python than we do. SFUMATO_DPSYNTH names a Python that has it:
`python3.12 -m venv dpsynth && dpsynth/bin/pip install git+https://github.com/google/dpsynth etils fancyflags`.
"""

import json
import os
import subprocess

import pytest

PYTHON = os.environ.get("SFUMATO_DPSYNTH")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="SFUMATO_DPSYNTH names no Python that has dpsynth")

ROWS = """
import sys
import numpy as np, pandas as pd, dpsynth
domain = dpsynth.domain.from_yaml_file(sys.argv[1])
whole = dpsynth.TabularSynthesizer(domains=domain, discrete_mechanism=dpsynth.discrete_mechanisms.MSTConfig())
rows = pd.read_csv(sys.argv[2])[list(domain)]
made = whole.configure(zcdp_rho=100.0)(np.random.default_rng(0), rows).synthetic_data
dpsynth.domain.to_yaml_file(domain, sys.argv[3])
made.to_json(sys.argv[4])
"""


def test_dpsynth_makes_rows_by_the_domain_that_we_export(send_out, bring_in, visits, tmp_path):
    file, said = send_out("dpsynth")
    assert "column 'born': there are no dates" in said
    visits.to_csv(tmp_path / "visits.csv", index=False)
    paths = [file, tmp_path / "visits.csv", tmp_path / "written.yaml", tmp_path / "made.json"]
    done = subprocess.run([PYTHON, "-c", ROWS, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = {name: list(by_row.values()) for name, by_row in json.loads(paths[3].read_text()).items()}
    for name, real in (("sex", visits["sex"]), ("grade", visits["grade"]), ("smokes", visits["smokes"])):
        for value, share in real.value_counts(normalize=True).items():
            assert made[name].count(value) / len(made[name]) == pytest.approx(share, abs=0.1), (name, value)
    gaps = sum(value is None for value in made["weight"]) / len(made["weight"])
    assert gaps == pytest.approx(visits["weight"].isna().mean(), abs=0.05)
    columns, _ = bring_in(paths[2], "dpsynth")
    assert columns["smokes"]["type"] == "boolean"
    assert (columns["age"]["min"], columns["age"]["max"], columns["age"]["outside"]) == (0, 120, "clip")
    assert columns["weight"]["nullable"]
