"""Which failed sends are the record's fault, and which only ask for patience; pure."""

from dataclasses import dataclass

from aiokafka import errors

PATIENCE = 5

# The broker's verdict on every record of the topic, not on this one.
_TOPIC = (
    errors.TopicAuthorizationFailedError,
    errors.InvalidTopicError,
    errors.UnknownTopicOrPartitionError,
)
_RECORD = (
    errors.MessageSizeTooLargeError,
    errors.RecordListTooLargeError,
    errors.InvalidTimestampError,
    errors.UnsupportedForMessageFormatError,
    errors.PolicyViolationError,
)
# What a producer that is out of sequence or fenced is told: a new one will do.
_PRODUCER = (
    errors.OutOfOrderSequenceNumber,
    errors.DuplicateSequenceNumber,
    errors.InvalidProducerEpoch,
    errors.InvalidProducerIdMapping,
    errors.UnknownProducerId,
    errors.ProducerFenced,
    errors.ClusterAuthorizationFailedError,
)


class Unsendable(Exception):
    """The row cannot be turned into a record at all."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a row will not be taken, and whether that holds for its whole topic."""

    reason: str
    whole_topic: bool


def refusal_of(error: BaseException, tries: int = 1) -> Refusal | None:
    """Return why *error* condemns the row that was sent alone, None when a retry may do.

    A broker's answer that nobody foresaw is a refusal when it came *tries* times in a row:
    one record must not hold up all others for ever.
    """
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, _TOPIC):
        return Refusal(reason, whole_topic=True)
    if isinstance(error, (Unsendable, *_RECORD)):
        return Refusal(reason, whole_topic=False)
    foreseen = isinstance(error, _PRODUCER) or getattr(error, "retriable", False)
    answered = isinstance(error, errors.BrokerResponseError)
    if answered and not foreseen and tries >= PATIENCE:
        return Refusal(reason, whole_topic=False)
    return None
