"""The feature query on Spark gives what it gives on DuckDB."""

from __future__ import annotations

import shutil
from pathlib import Path

import ibis
import pandas as pd
import pytest

from codecpilot.eligibility.features import DEVICE_KEYS, call_features, device_features
from codecpilot.eligibility.schema import arrow_schema
from codecpilot.eligibility.store import Store

from .rows import many_rows


@pytest.mark.parametrize("features", [device_features, call_features])
def test_the_query_compiles_to_spark_sql(features):
    telemetry = ibis.table(ibis.Schema.from_pyarrow(arrow_schema()), name="telemetry")

    # Databricks' dialect is Spark's own, and needs no Spark at hand.
    sql = ibis.to_sql(features(telemetry), dialect="databricks")

    assert "GROUP BY" in sql
    # Spark would fail a whole query for one row.
    assert " / " not in sql


@pytest.mark.slow
def test_spark_and_duckdb_agree(tmp_path: Path):
    pytest.importorskip("pyspark", reason="needs the spark extra")
    if not shutil.which("java"):
        pytest.skip("needs Java 17 or later")
    store = Store(tmp_path / "store")
    for seed in (1, 2):
        store.append(many_rows(3_000, seed=seed, models=23))
    on_duckdb = _ordered(device_features(store.connect()).to_pandas())

    on_spark = _ordered(_on_spark(store, tmp_path))

    assert len(on_spark) > 20
    pd.testing.assert_frame_equal(on_spark, on_duckdb, check_dtype=False, rtol=1e-9)


def _on_spark(store: Store, tmp_path: Path) -> pd.DataFrame:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", False)
        .config("spark.sql.shuffle.partitions", 1)
        .config("spark.sql.warehouse.dir", str(tmp_path / "warehouse"))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    try:
        session.conf.set("spark.sql.session.timeZone", "UTC")
        session.read.parquet(*map(str, store.parts())).createOrReplaceTempView("telemetry")
        telemetry = ibis.pyspark.connect(session).table("telemetry")
        return device_features(telemetry).to_pandas()
    finally:
        session.stop()


def _ordered(features: pd.DataFrame) -> pd.DataFrame:
    # Nulls are NaN here and None there.
    return (
        features.sort_values(list(DEVICE_KEYS))
        .reset_index(drop=True)
        .fillna({"os": "", "soc": "", "device_brand": ""})
    )
