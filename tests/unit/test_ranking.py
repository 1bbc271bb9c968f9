"""The fusion of suspicions into causes and a verdict."""

import json
from typing import Any

from consumers.supervisor.ranking import rank


def _voice(service: str, score: float, **more: Any) -> dict[str, Any]:
    defaults = {
        "service": service,
        "category": "code",
        "type": "code_exception",
        "score": score,
        "modality": "logs",
        "why": "because",
    }
    return defaults | more


def _claim(claim_id: str, specialist: str, *voices: dict[str, Any]) -> dict[str, Any]:
    return {
        "claim_id": claim_id,
        "key": f"cause_candidates.{specialist}",
        "value": list(voices),
        "subject": None,
    }


def test_no_claims_leave_the_case_open() -> None:
    """Silence is no proof of health."""
    assert ("inconclusive", ()) == (rank([]).verdict, rank([]).causes)


def test_a_strong_suspicion_is_a_cause() -> None:
    """The best suspicion carries type, category, onset and its claims."""
    verdict = rank([_claim("c1", "logs", _voice("a", 0.8, onset="2026-01-01T00:00:00Z"))])

    assert ("root_cause", "a", ("c1",)) == (
        verdict.verdict,
        verdict.causes[0].service,
        verdict.causes[0].claim_ids,
    )
    assert "2026-01-01T00:00:00Z" == verdict.onset


def test_weak_suspicions_stay_inconclusive() -> None:
    """Insufficient evidence beats a confident wrong answer."""
    verdict = rank([_claim("c1", "metrics", _voice("a", 0.3))])

    assert ("inconclusive", "a") == (verdict.verdict, verdict.causes[0].service)


def test_next_to_nothing_is_no_fault() -> None:
    """All was read and hardly anything moved."""
    assert "no_fault" == rank([_claim("c1", "metrics", _voice("a", 0.05))]).verdict


def test_two_kinds_of_data_strengthen_each_other() -> None:
    """The same service seen in logs and metrics is more likely than in either."""
    both = rank(
        [
            _claim("c1", "logs", _voice("a", 0.6)),
            _claim("c2", "metrics", _voice("a", 0.4, modality="metrics")),
        ]
    )

    assert both.causes[0].score > 0.6
    assert ("c1", "c2") == both.causes[0].claim_ids


def test_the_same_data_twice_counts_once() -> None:
    """Two suspicions from one modality are one observation (EVI-07)."""
    twice = rank([_claim("c1", "logs", _voice("a", 0.6), _voice("a", 0.5, type="x"))])

    assert 0.6 == twice.causes[0].score


def test_a_change_without_a_service_explains_a_symptom() -> None:
    """Metrics know where, the change log knows what: together they name the kind."""
    change = _voice(
        "", 0.5, category="config", type="p_change", change_ref={"target": "p", "ts": "t"}
    )
    symptom = _voice("a", 0.8, category="service", type="availability_degraded")
    verdict = rank([_claim("c1", "metrics", symptom), _claim("c2", "changes", change)])

    assert ("config", "config_error_setting") == (
        verdict.causes[0].category,
        verdict.causes[0].type,
    )
    assert {"target": "p", "ts": "t"} == verdict.change_ref


def test_a_change_does_not_rename_a_cause_that_is_known() -> None:
    """Code that demonstrably fails is not turned into configuration by coincidence."""
    change = _voice("", 0.5, category="config", type="p_change", change_ref={})
    verdict = rank(
        [_claim("c1", "logs", _voice("a", 0.8)), _claim("c2", "changes", change)]
    )

    assert "code_exception" == verdict.causes[0].type


def test_a_direct_claim_comes_first_among_the_claims_of_a_cause() -> None:
    """Readers see the strongest claim first."""
    direct = {
        "claim_id": "c0",
        "key": "primary_cause",
        "value": "code_exception",
        "subject": "a",
    }
    verdict = rank([_claim("c1", "logs", _voice("a", 0.8)), direct])

    assert ("c0", "c1") == verdict.causes[0].claim_ids


def test_a_value_that_travelled_as_text_is_read_too() -> None:
    """A store may keep the list as JSON text."""
    claim = _claim("c1", "logs", _voice("a", 0.8))

    assert rank([claim]) == rank([claim | {"value": json.dumps(claim["value"])}])


def test_the_order_of_claims_does_not_matter() -> None:
    """Same facts, any order, same verdict."""
    claims = [
        _claim("c1", "logs", _voice("a", 0.6), _voice("b", 0.6)),
        _claim("c2", "metrics", _voice("b", 0.4, modality="metrics")),
    ]

    assert rank(claims).causes == rank(claims[::-1]).causes
