"""The AsyncAPI 3 document of all topics, built from the registry and the topics. Pure."""

from typing import Any

from event_schemas.codec import JSON_TYPE, MAX_DATA_BYTES
from event_schemas.envelope import COUNTERS, EXTENSIONS
from event_schemas.registry import REGISTRY, EventType
from event_schemas.topics import Topic, all_topics

Document = dict[str, Any]

_DIRECTIONS = {
    "alerts": ("receive",),
    "requests": ("receive",),
    "events": ("send", "receive"),
    "commands": ("send", "receive"),
    "completions": ("send",),
    "artifacts": ("send",),
    "dlq": ("send",),
}
_RAW = {
    "artifacts": ("artifact", "The bytes of one artifact; the key is their SHA-256."),
    "dlq": (
        "parked_record",
        "A record as it came, original key, headers and value, with `caseops-error-*` headers.",
    ),
}


def asyncapi_document(version: str) -> Document:
    """Return the AsyncAPI 3.0 document of release *version*."""
    topics = all_topics()
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "CaseOps",
            "version": version,
            "description": "At-least-once delivery, idempotent effects within declared boundaries.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": JSON_TYPE,
        "channels": {_channel_id(topic): _channel(topic) for topic in topics},
        "operations": dict(
            _operation(topic, action)
            for topic in topics
            for action in _DIRECTIONS[_family(topic)]
        ),
        "components": {
            "messages": {
                **{entry.name: _message(entry) for entry in REGISTRY},
                **{name: _raw_message(name, text) for name, text in _RAW.values()},
            },
            "schemas": {"CloudEventHeaders": _headers()},
        },
    }


def _family(topic: Topic) -> str:
    return topic.name.split(".")[0]


def _channel_id(topic: Topic) -> str:
    return topic.name.replace(".", "_")


def _names_on(topic: Topic) -> list[str]:
    family = _family(topic)
    if family in _RAW:
        return [_RAW[family][0]]
    return [entry.name for entry in REGISTRY if family in entry.topics]


def _channel(topic: Topic) -> Document:
    configs = topic.configs()
    return {
        "address": f"{{prefix}}.{topic.name}",
        "description": f"Carries {topic.carries}. Key: {topic.key}.",
        "parameters": {
            "prefix": {
                "default": "caseops",
                "description": "CASEOPS_TOPIC_PREFIX of the installation",
            }
        },
        "messages": {
            name: {"$ref": f"#/components/messages/{name}"} for name in _names_on(topic)
        },
        "bindings": {
            "kafka": {
                "partitions": topic.partitions,
                "topicConfiguration": {
                    "cleanup.policy": [configs["cleanup.policy"]],
                    "retention.ms": topic.retention_ms,
                    "max.message.bytes": topic.max_bytes,
                },
                "bindingVersion": "0.5.0",
            }
        },
    }


def _operation(topic: Topic, action: str) -> tuple[str, Document]:
    channel = f"#/channels/{_channel_id(topic)}"
    return f"{action}_{_channel_id(topic)}", {
        "action": action,
        "channel": {"$ref": channel},
        "summary": f"CaseOps {action}s {topic.carries}.",
        "messages": [{"$ref": f"{channel}/messages/{name}"} for name in _names_on(topic)],
    }


def _message(entry: EventType) -> Document:
    return {
        "name": entry.name,
        "title": entry.payload.__name__,
        "summary": (entry.payload.__doc__ or "").split("\n")[0],
        "contentType": JSON_TYPE,
        "headers": {
            "allOf": [
                {"$ref": "#/components/schemas/CloudEventHeaders"},
                {"properties": {"ce_type": {"const": entry.name}}},
            ]
        },
        "payload": {"$ref": f"json/{entry.name}.json"},
        "x-kind": entry.kind,
        "x-writer": entry.writer,
        "x-max-bytes": MAX_DATA_BYTES,
    }


def _raw_message(name: str, summary: str) -> Document:
    return {"name": name, "summary": summary, "contentType": "application/octet-stream"}


def _headers() -> Document:
    text: Document = {"type": "string", "minLength": 1}
    counter = {"type": "string", "pattern": "^[0-9]+$"}
    return {
        "type": "object",
        "description": "CloudEvents 1.0, Kafka binding, binary mode; structured mode is read too.",
        "required": ["ce_specversion", "ce_id", "ce_source", "ce_type"],
        "properties": {
            "ce_specversion": {"const": "1.0"},
            "ce_id": text,
            "ce_source": text,
            "ce_type": text,
            "ce_time": {"type": "string", "format": "date-time"},
            "content-type": {"const": JSON_TYPE},
            "ce_subject": text,
            "ce_dataschema": text,
            **{f"ce_{name}": counter if name in COUNTERS else text for name in EXTENSIONS},
        },
    }
