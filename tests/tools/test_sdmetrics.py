"""SDMetrics: its reports run on a release, with the metadata that we export."""

import json

import pandas as pd
from sdmetrics.reports.single_table import DiagnosticReport, QualityReport


def test_both_reports_of_sdmetrics_read_a_release(send_out, release, visits):
    metadata = json.loads(send_out("sdv")[0].read_text())
    rows = pd.read_csv(release / "synthetic.csv")
    real, synthetic = (table.assign(born=pd.to_datetime(table["born"])) for table in (visits, rows))
    quality, diagnosis = QualityReport(), DiagnosticReport()
    quality.generate(real, synthetic, metadata, verbose=False)
    assert 0.75 < quality.get_score() <= 1
    assert not quality.get_details("Column Shapes")["Score"].isna().any()
    diagnosis.generate(real, synthetic, metadata, verbose=False)
    assert diagnosis.get_properties().set_index("Property").loc["Data Structure", "Score"] == 1
    details = diagnosis.get_details("Data Validity").set_index("Column")["Score"]
    assert (details[["sex", "grade", "smokes"]] == 1).all()
