"""Look: every setting, its value, where that comes from, what it means."""

from caseops import output
from caseops.cli.options import AsJson


def config(*, as_json: AsJson = False) -> int:
    """List all settings with value, source and meaning; secrets are not shown."""
    from pydantic import SecretStr

    from infra.settings import PREFIX, Settings, sources

    settings, origins = Settings(), sources()
    rows = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        rows.append(
            {
                "name": f"{PREFIX}{name.upper()}",
                "value": "********" if isinstance(value, SecretStr) else value,
                "source": origins[name],
                "meaning": field.description,
            }
        )
    if as_json:
        output.document(rows)
        return output.DONE
    columns = ("name", "value", "source", "meaning")
    output.table("Settings", columns, [[row[name] for name in columns] for row in rows])
    return output.DONE
