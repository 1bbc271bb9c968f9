"""Conservation: what counts as what, and when a record is unaccounted for."""

from caseops.conservation import audit, differs
from infra.accounts import Account
from projections.projection import FOLDED

READERS = {"alerts": ("intake",), "events": ("supervisor", "case_view")}


def test_a_balanced_topic_adds_up() -> None:
    """The sum: records = effects + dead letters + skips + waiting, over all partitions."""
    ends = {"x.alerts": {0: (0, 10), 1: (2, 7)}}
    account = Account({0: 9, 1: 7}, claims=11, letters=2, skips={"duplicate": 3})
    found = audit("x", READERS, ends, {("intake", "x.alerts"): account})["x.alerts"]

    assert (17, 2, 11, 2, {"duplicate": 3}, 1, 0) == (
        found["records"],
        found["deleted"],
        found["effects"],
        found["dead_letters"],
        found["skipped"],
        found["waiting"],
        found["unaccounted"],
    )


def test_folded_events_are_the_effects_of_a_projector() -> None:
    """A projector claims nothing: what it folded is its effect, and no skip."""
    ends = {"x.events": {0: (0, 5)}}
    accounts = {
        ("case_view", "x.events"): Account({0: 5}, skips={FOLDED: 4, "duplicate": 1}),
        ("supervisor", "x.events"): Account({0: 5}, claims=2, skips={"other_type": 3}),
    }
    found = audit("x", READERS, ends, accounts)["x.events"]

    assert (4, {"duplicate": 1}, 0) == (
        found["effects"],
        found["skipped"],
        found["unaccounted"],
    )


def test_one_lost_record_of_any_reader_shows() -> None:
    """Losses of two readers add up and never cancel out."""
    ends = {"x.events": {0: (0, 5)}}
    accounts = {
        ("case_view", "x.events"): Account({0: 5}, skips={FOLDED: 6}),
        ("supervisor", "x.events"): Account({0: 5}, claims=4),
    }
    found = audit("x", READERS, ends, accounts)

    assert 2 == found["x.events"]["unaccounted"]
    assert differs(found)


def test_a_reader_that_has_not_begun_is_only_waiting() -> None:
    """Records nobody handled yet are late, not lost."""
    found = audit("x", READERS, {"x.alerts": {0: (0, 4)}}, {})

    assert (4, 0) == (found["x.alerts"]["waiting"], found["x.alerts"]["unaccounted"])
    assert not differs(found)
