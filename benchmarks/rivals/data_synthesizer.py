"""DataSynthesizer: its Bayesian network with one parent for each column (two parents do not end in reasonable time).

Pure epsilon. Its description file, which we throw away, would cost as much again if it were published.
"""

import json
import tempfile
from pathlib import Path

import pandas as pd
from contract import answer, request
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator


def main() -> None:
    """Describe the codes as categories of the public domain, and draw rows."""
    asked = request()
    with tempfile.TemporaryDirectory() as scratch:
        domain, description, made = (Path(scratch) / name for name in ("domain.json", "described.json", "made.csv"))
        domain.write_text(json.dumps({name: list(range(size)) for name, size in asked.sizes.items()}))
        describer = DataDescriber()
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(asked.train),
            k=1,
            epsilon=asked.epsilon,
            attribute_to_datatype=dict.fromkeys(asked.sizes, "Integer"),
            attribute_to_is_categorical=dict.fromkeys(asked.sizes, True),
            attribute_to_is_candidate_key=dict.fromkeys(asked.sizes, False),
            categorical_attribute_domain_file=str(domain),
            seed=asked.seed,
        )
        describer.save_dataset_description_to_file(str(description))
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(len(asked.rows), str(description), seed=asked.seed)
        generator.save_synthetic_data(str(made))
        answer(asked, pd.read_csv(made))


if __name__ == "__main__":
    main()
