"""SDNist reads a release. It pins old versions of everything, so it has an environment of its own and gets two files.

Its *report* takes only the three tables that NIST publishes, by name; its scores take any two tables.
"""

import os
import subprocess

import pandas as pd

SCORES = """
import sys
import pandas as pd
import sdnist.report
from sdnist.metrics.kmarginal import KMarginal
from sdnist.metrics.unique_exact_matches import unique_exact_matches
real, synthetic = (pd.read_csv(file) for file in sys.argv[1:])
print(KMarginal(real, synthetic).compute_score(), KMarginal(real, real).compute_score())
print(unique_exact_matches(real, synthetic))
"""


def test_the_scores_of_sdnist_read_a_release(release, visits, tmp_path):
    kept = ["sex", "grade", "smokes", "age"]
    visits[kept].to_csv(tmp_path / "real.csv", index=False)
    pd.read_csv(release / "synthetic.csv")[kept].to_csv(tmp_path / "synthetic.csv", index=False)
    done = subprocess.run(
        [os.environ["SFUMATO_SDNIST"], "-c", SCORES, tmp_path / "real.csv", tmp_path / "synthetic.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ours, best = map(float, done.stdout.splitlines()[-2].split())
    assert 500 < ours < best == 1000
