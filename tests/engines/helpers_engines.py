"""Every engine behind one way in: a table goes where the engine wants its rows, and an engine over it comes out."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.opening import open_engine

HERE = ("memory", "spool")
"""Engines that need nothing but this package."""

INSIDE = ("sql-duckdb", "sql-sqlite", "sql-postgresql")
"""Databases that count their rows themselves."""

ALL = (*HERE, "duckdb", "sqlite", "postgresql", *INSIDE, "spark")
"""All of them: `make test-engines` sets SFUMATO_TEST_ENGINES and has what they need."""

NAMES = ALL if os.environ.get("SFUMATO_TEST_ENGINES") else HERE


@contextmanager
def opened(name, table, schema, places):
    """An engine of this name over the rows of an Arrow table; closed at the end, whatever happens."""
    engine = open_engine(places.put(name, table), schema, SystemEntropy(), places.engine(name))
    try:
        yield engine
    finally:
        engine.close()


class Places:
    """Where the rows of tests lie. Servers are started when they are first wanted."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="engines-"))
        self.tables = 0
        self._spark = self._postgres = None

    def engine(self, name):
        """What to call the engine; databases are read into the spool, or count by themselves."""
        if name in INSIDE:
            return "sql"
        return name if name in HERE else "auto" if name == "spark" else "spool"

    def put(self, name, table: pa.Table):
        """The table as the engine's source."""
        self.tables += 1
        return table if name in HERE else getattr(self, f"_put_{name.removeprefix('sql-')}")(table, f"t{self.tables}")

    def close(self):
        if self._spark is not None:
            self._spark.stop()
        if self._postgres is not None:
            subprocess.run([*_unprivileged(), _program("pg_ctl"), "-D", str(self._postgres), "-m", "immediate", "stop"],
                           check=False, capture_output=True)  # fmt: skip
        shutil.rmtree(self.folder, ignore_errors=True)

    def _put_duckdb(self, table, name):
        import duckdb

        path = self.folder / f"{name}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("given", table)
            connection.execute("create table people as select * from given")
        return f"duckdb:///{path}?table=people"

    def _put_sqlite(self, table, name):
        kinds = {"bool": "BOOLEAN", "date32[day]": "DATE", "string": "TEXT", "int64": "BIGINT", "double": "DOUBLE"}
        path = self.folder / f"{name}.sqlite"
        connection = sqlite3.connect(path)
        columns = ", ".join(f'"{field.name}" {kinds[str(field.type)]}' for field in table.schema)
        connection.execute(f"create table people ({columns})")
        texts = [column.cast(pa.string()) if pa.types.is_date(column.type) else column for column in table.columns]
        rows = zip(*(column.to_pylist() for column in texts), strict=True)
        marks = ", ".join("?" * len(texts))
        connection.executemany(f"insert into people values ({marks})", rows)  # noqa: S608
        connection.commit()
        connection.close()
        return f"sqlite:///{path}?table=people"

    def _put_postgresql(self, table, name):
        import psycopg

        kinds = {
            "bool": "boolean",
            "date32[day]": "date",
            "string": "text",
            "int64": "bigint",
            "double": "double precision",
        }
        columns = ", ".join(f'"{field.name}" {kinds[str(field.type)]}' for field in table.schema)
        with psycopg.connect(host=str(self.postgres()), user="tester", dbname="postgres") as connection:
            connection.execute(f'create table "{name}" ({columns})')
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            with connection.cursor().copy(f'copy "{name}" from stdin') as copy:
                for row in rows:
                    copy.write_row(row)
        return f"postgresql:///postgres/{name}"

    def _put_spark(self, table, name):
        return (
            self.spark().createDataFrame(table.to_pandas(integer_object_nulls=True), self._types(table)).repartition(2)
        )

    def _types(self, table):
        kinds = {"bool": "boolean", "date32[day]": "date", "string": "string", "int64": "bigint", "double": "double"}
        return ", ".join(f"`{field.name}` {kinds[str(field.type)]}" for field in table.schema)

    def postgres(self):
        """The socket folder of a server of our own, with a password that comes from the environment."""
        if self._postgres is None:
            data = self.folder / "postgres"
            data.mkdir()
            self.folder.chmod(0o755)
            if os.getuid() == 0:
                shutil.chown(data, "postgres")

            def run(*command):
                subprocess.run([*_unprivileged(), *command], check=True, capture_output=True)

            (self.folder / "word").write_text("not a secret")
            (self.folder / "word").chmod(0o644)
            run(_program("initdb"), "-D", str(data / "d"), "-U", "tester", "-A", "scram-sha-256",
                "--pwfile", str(self.folder / "word"), "--no-sync", "-E", "UTF8")  # fmt: skip
            run(_program("pg_ctl"), "-D", str(data / "d"), "-w", "-l", str(data / "log"),
                "-o", f"-k {data} -c listen_addresses='' -c fsync=off", "start")  # fmt: skip
            self._postgres = data / "d"
            os.environ |= {"PGHOST": str(data), "PGUSER": "tester", "PGPASSWORD": "not a secret"}
        return self._postgres.parent

    def spark(self):
        """A local Spark of our own."""
        if self._spark is None:
            from pyspark.sql import SparkSession

            os.environ["PYSPARK_PYTHON"] = sys.executable
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every worker would compile the package anew
            settings = {
                "spark.ui.enabled": "false",
                "spark.driver.memory": "1g",
                "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.sql.shuffle.partitions": "2",
                "spark.default.parallelism": "2",
                # Small tables: what compiles code for large ones costs more than it saves.
                "spark.sql.codegen.wholeStage": "false",
                "spark.sql.adaptive.enabled": "false",
                "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
                "spark.local.dir": str(self.folder / "spark"),
                "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
                "spark.log.level": "OFF",
            }
            builder = SparkSession.builder.master("local[2]").appName("tests")
            for key, value in settings.items():
                builder = builder.config(key, value)
            self._spark = builder.getOrCreate()
        return self._spark


def _unprivileged():
    """A server does not run as root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []


def _program(name):
    """A program of the server, which packages put beside its version and not on the path."""
    found = shutil.which(name) or max(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), default=None)
    assert found, f"{name} is missing; install a PostgreSQL server (on Debian: apt-get install postgresql)"
    return found
