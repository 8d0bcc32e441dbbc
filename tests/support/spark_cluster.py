"""A Spark cluster of the tests' own on loopback: a master, two workers of one core, a Connect server in the driver."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["HAS_SPARK", "REASON", "Cluster", "cluster"]

_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 180
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Java machines that live for minutes compile quickly, not well: most of their time would be spent on it."""


def _has_java() -> bool:
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    return shutil.which(java) is not None


def _has_pyspark() -> bool:
    from importlib.util import find_spec

    return find_spec("pyspark") is not None and find_spec("grpc") is not None


HAS_SPARK = _has_java() and _has_pyspark()
REASON = "missing tool: Java 17 with pyspark"


@dataclass(frozen=True)
class Cluster:
    """Where it is: sessions of both kinds, addresses of the master, Connect and the driver's page, the workers."""

    spark: Any
    remote: Any
    master: str
    address: str
    page: str
    workers: tuple[subprocess.Popen[bytes], ...]
    folder: Path

    def executors(self) -> list[int]:
        """Process ids of the running executors."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                is_executor = b"CoarseGrainedExecutorBackend" in (process / "cmdline").read_bytes()
                if is_executor and (process / "cwd").resolve().is_relative_to(self.folder.resolve()):
                    found.append(int(process.name))
            except OSError:
                continue
        return found


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Start it, and stop it by process id."""
    import pyspark
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    home = Path(pyspark.__file__).parent
    port, page, remote = _free_port(), _free_port(), _free_port()
    master = f"spark://127.0.0.1:{port}"
    processes: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="hedgerow-spark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)

        def start(kind: str, *words: str) -> None:
            command = [
                str(home / "bin" / "spark-class"),
                f"org.apache.spark.deploy.{kind}",
                "--host",
                "127.0.0.1",
                *words,
            ]
            places = {"SPARK_HOME": str(home), "SPARK_LOCAL_DIRS": str(folder / "local")}
            environment = {**os.environ, **places, "SPARK_DAEMON_JAVA_OPTS": _JAVA, "SPARK_DAEMON_MEMORY": "256m"}
            with (folder / f"log-{len(processes)}").open("wb") as log:
                processes.append(
                    subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                )

        try:
            start("master.Master", "--port", str(port), "--webui-port", str(page))
            for number in range(2):
                place = str(folder / f"worker-{number}")
                start(
                    "worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", place, master
                )
            _wait_for_workers(page, processes)
            builder = SparkSession.builder.master(master).appName("hedgerow tests")
            for setting, value in _settings(remote, folder).items():
                builder = builder.config(setting, value)
            spark = builder.getOrCreate()
            spark.sparkContext.setLogLevel("ERROR")
            address = f"sc://127.0.0.1:{remote}"
            far = RemoteSession.builder.remote(address).create()
            try:
                yield Cluster(spark, far, master, address, spark.sparkContext.uiWebUrl, tuple(processes[1:]), folder)
            finally:
                far.stop()  # first: without a server it would try for many minutes
                spark.stop()
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(30)


def _settings(remote: int, folder: Path) -> dict[str, str]:
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(remote),
        "spark.executor.memory": "700m",
        "spark.driver.extraJavaOptions": _JAVA,
        "spark.executor.extraJavaOptions": _JAVA,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.port": "0",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        # Not all of the driver's path: old versions of IPython put a folder there that has a package `tests`.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(str, (_ROOT / "src", _ROOT))),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for_workers(page: int, processes: list[subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        if any(process.poll() is not None for process in processes):
            raise RuntimeError("a process of the Spark cluster ended while it started")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
                workers = json.load(answer)["workers"]
        except (OSError, ValueError):  # no page yet, or one that is not written whole
            workers = []
        if sum(worker["state"] == "ALIVE" for worker in workers) == 2:
            return
        time.sleep(0.2)
    raise RuntimeError("the Spark cluster did not start in time")
