"""Prints the results of compare.py as Markdown: means over repeats.

python benchmarks/table.py results.jsonl
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean

COLUMNS = (
    "1-way",
    "2-way",
    "3-way",
    "range",
    "decision tree",
    "logistic regression",
    "support vector machine",
    "LightGBM",
)


def main() -> None:
    """Group the lines by data set, epsilon and method."""
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    groups = defaultdict(list)
    for row in rows:
        groups[row["set"], float(row["epsilon"] or 1e9), row["method"]].append(row)
    print("| data | ε | method | " + " | ".join(COLUMNS) + " | CPU s | GB |\n|" + "---|" * (len(COLUMNS) + 5))
    for (name, epsilon, method), runs in sorted(groups.items()):
        cells = [f"{mean(run[c] for run in runs):.3f}" if c in runs[0] else "" for c in COLUMNS]
        cost = [f"{max(run[c] for run in runs):.1f}" if c in runs[0] else "" for c in ("cpu_seconds", "peak_gigabytes")]
        label = "" if epsilon == 1e9 else f"{epsilon:g}"
        note = f" (majority {runs[0]['majority']:.3f})" if "majority" in runs[0] else ""
        print(f"| {name} | {label} | {method}{note} | " + " | ".join([*cells, *cost]) + " |")


if __name__ == "__main__":
    main()
