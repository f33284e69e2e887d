# Every target does all of its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
# Where the public benchmark data sets are (adult.csv.gz with adult.schema.json, and so on).
DATA ?= data

# How often `make test-stability` runs the suite.
RUNS ?= 20

# How many cases `make fuzz` tries.
CASES ?= 1000

# How much of a room its own tests run, branches too, in percent. A floor goes up with the tests, and never down.
FLOORS := data:99 privacy:95 reconcile:98
ROOMS := $(foreach floor,$(FLOORS),$(firstword $(subst :, ,$(floor))))

.PHONY: coverage demo docs test test-browser test-engines test-flower test-lowest test-stability test-tools mutants fuzz wheel lint bench reproduce-dpview reproduce-privsyn clean

demo: .venv/installed
	rm -rf demo-release demo-release-survey.*
	$(BIN)/sfumato demo --out demo-release

# The tests of three rooms run under `coverage`, and all others after them.
test: lint coverage
	$(BIN)/python -m pytest -n auto --dist loadgroup $(ROOMS:%=--ignore=tests/%)

coverage: .venv/tools
	$(BIN)/python -m pytest -n auto --dist loadgroup $(ROOMS:%=--cov=sfumato.%) --cov-branch --cov-report= $(ROOMS:%=tests/%)
	for floor in $(FLOORS); do $(BIN)/coverage report --include "src/sfumato/$${floor%:*}/*" --show-missing --skip-covered --fail-under "$${floor#*:}" || exit 1; done

# The web page in a real Chromium, which is installed from the system's packages where there is none.
test-browser: .venv/tools
	$(BIN)/python -m pip install --quiet --group browser
	command -v chromium chromium-browser google-chrome > /dev/null || (apt-get update -qq && apt-get install -y -qq chromium > /dev/null)
	SFUMATO_BROWSER=1 $(BIN)/python -m pytest tests/browser

# Every engine held to its duties: databases, a PostgreSQL server and a local Spark, started by the tests. The server and
# a Java are installed from the system's packages where there are none. What docs/how-to/database.md tells to run is run.
test-engines: .venv/engines
	command -v initdb > /dev/null || ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || (apt-get update -qq && apt-get install -y -qq postgresql > /dev/null)
	command -v java > /dev/null || (apt-get update -qq && apt-get install -y -qq default-jre-headless > /dev/null)
	SFUMATO_TEST_ENGINES=all $(BIN)/python -m pytest tests/engines
	$(BIN)/python -m pytest tests/docs/test_blocks.py -k database

# A whole study that Flower carries, in an environment of its own: Flower wants other versions than our tools do.
test-flower:
	python3 -m venv .venv-flower
	.venv-flower/bin/python -m pip install --quiet "flwr>=1.41" pytest hypothesis ".[parties]"
	SFUMATO_FLOWER=1 .venv-flower/bin/python -m pytest tests/flower

# The tools whose schemas we read and write, and whose reports run on our rows: each writes a file that we import, and
# reads what we export. SDV wants PyTorch (TORCH= names a build that is at hand); SDNist wants old versions of everything.
TORCH ?= torch
test-tools:
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip install --quiet --upgrade pip
	.venv-tools/bin/python -m pip install --quiet "$(TORCH)"
	.venv-tools/bin/python -m pip install --quiet --group tools .
	$(PYTHON) -m venv .venv-sdnist
	.venv-sdnist/bin/python -m pip install --quiet sdnist setuptools
	SFUMATO_TOOLS=1 SFUMATO_SDNIST=.venv-sdnist/bin/python .venv-tools/bin/python -m pytest -W default tests/tools

# The suite with the oldest versions of all packages that pyproject.toml allows. Old packages warn of what is now gone.
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet uv
	.venv-lowest/bin/uv pip compile --quiet --upgrade --resolution lowest-direct --extra app --extra parties --extra excel --extra evaluate --output-file .venv-lowest/lowest.txt pyproject.toml
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest --constraint .venv-lowest/lowest.txt --group test --editable ".[app,parties,excel,evaluate]"
	.venv-lowest/bin/python -m pytest -n auto --dist loadgroup -W default

# The site, into site/.
docs: .venv/tools
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/mkdocs build --strict --site-dir site

# The suite again and again, with other examples and on a busy machine; stops at the first failure and keeps its output.
test-stability: .venv/tools
	$(BIN)/python tests/stability.py --runs $(RUNS)

# One wheel for this platform and every Python from 3.11 on; fails if its tag says anything else.
wheel: .venv/installed
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	ls dist/sfumato-*-cp311-abi3-*.whl

# Random schemas and tables with bad values of every kind through `synthesize`; SFUMATO_FUZZ_SEED gives other ones.
fuzz: .venv/tools
	SFUMATO_FUZZ_CASES=$(CASES) $(BIN)/python -m pytest -n auto tests/test_fuzz.py

# Breaks the code in every way that tests/mutants.toml lists; the tests must notice each.
mutants: .venv/tools
	$(BIN)/python tests/mutants.py

lint: .venv/tools
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/tools
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python benchmarks/counting.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/privsyn.py --data $(DATA)
	$(BIN)/python benchmarks/picture.py

# The figures of the papers from our own runs, within an hour; a run that was interrupted goes on where it stopped.
reproduce-dpview reproduce-privsyn: reproduce-%: .venv/tools
	$(BIN)/python benchmarks/reproduce.py $* --data $(DATA) --out benchmarks/results/$*

clean:
	rm -rf .venv .venv-flower .venv-lowest .venv-sdnist .venv-tools demo-release demo-release-survey.* build dist

.venv/installed: pyproject.toml setup.py $(wildcard src/sfumato/kernels/*.[ch]) src/sfumato/kernels/build.py
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/tools: .venv/installed
	$(BIN)/python -m pip install --quiet --group test
	touch $@

.venv/engines: .venv/tools
	$(BIN)/python -m pip install --quiet --editable ".[sql,spark]"
	touch $@
