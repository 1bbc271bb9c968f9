"""Settings: the only reader of the environment."""

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "CASEOPS_"


class Settings(BaseSettings):
    """Everything an installation can set, as `CASEOPS_<NAME>` or in `.env`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=".env", extra="ignore", frozen=True
    )

    kafka_bootstrap: str | None = Field(
        None, description="Kafka bootstrap servers, host:port"
    )
    database_url: SecretStr | None = Field(
        None, description="postgresql:// URL of the store"
    )
    topic_prefix: str = Field(
        "caseops", pattern=r"^[A-Za-z0-9._-]{1,100}$", description="prefix of all topics"
    )
    data_dir: Path = Field(
        Path(".caseops"), description="where local mode and artifact files live"
    )
    instance: str | None = Field(
        None,
        description="name of this member in its consumer groups; keeps its partitions over a"
        " restart, and must be unique per running process of a service",
    )
    replication: int = Field(1, ge=1, description="replication factor of created topics")
    partitions: int | None = Field(
        None, ge=1, description="partitions of created topics (default: per topic)"
    )
    http_host: str = Field(
        "127.0.0.1", description="address of metrics and health endpoints"
    )
    http_port: int = Field(
        0, ge=0, le=65535, description="port of the endpoints; 0 picks one"
    )
    log_level: str = Field("INFO", description="DEBUG, INFO, WARNING or ERROR")
    log_format: str = Field("json", pattern="^(json|text)$", description="json or text")
    allowed_tenants: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="comma list of tenants to accept; empty: all in local mode, else none",
    )
    local_mode: bool = Field(
        default=False,
        description="accept every tenant when none is listed, and read case folders;"
        " `caseops up` and `caseops demo` set it for their own services",
    )
    prometheus_url: str | None = Field(None, description="metric source, http://host:9090")
    loki_url: str | None = Field(None, description="log source, http://host:3100")
    start_new_consumers_at: str | None = Field(
        None,
        pattern="^(earliest|latest)$",
        description="where a new decider starts on a log that already holds events",
    )
    stuck_after_seconds: float = Field(
        60.0, gt=0, description="lag without progress for this long restarts a consumer"
    )
    lease_seconds: float = Field(30.0, gt=0, description="how long a worker holds a task")

    def __init__(self, **values: Any) -> None:  # noqa: ANN401 - pydantic's own signature
        tenants = values.get("allowed_tenants", os.environ.get(f"{PREFIX}ALLOWED_TENANTS"))
        if isinstance(tenants, str):
            values["allowed_tenants"] = tuple(
                t.strip() for t in tenants.split(",") if t.strip()
            )
        super().__init__(**values)


def sources() -> dict[str, str]:
    """Return for each setting where its value comes from: `environment` or `default`."""
    return {
        name: "environment" if f"{PREFIX}{name.upper()}" in os.environ else "default"
        for name in Settings.model_fields
    }


def child_environment(**values: str) -> dict[str, str]:
    """Return this process's environment with *values* (setting names) set for a child."""
    return {
        **os.environ,
        **{f"{PREFIX}{name.upper()}": text for name, text in values.items()},
    }
