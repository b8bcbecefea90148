from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.clef.circuit import CircuitBreaker
from apps.clef.errors import (
    ClefError,
    EndpointBusy,
    EndpointMisconfigured,
    InvalidReply,
    QuotaExhausted,
    RequestRefused,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def circuit(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(pause_s=30, clock=clock)


def fail(circuit: CircuitBreaker, times: int = 1, error: ClefError | None = None) -> None:
    for _ in range(times):
        circuit.failed(error or EndpointBusy("busy"))


def test_it_works(circuit: CircuitBreaker, clock: Clock) -> None:
    fail(circuit, 5)
    assert (circuit.admits(), circuit.state) == (False, "open")
    clock.now += 30
    assert (circuit.state, circuit.admits(), circuit.admits()) == ("half-open", True, False)
    circuit.succeeded()
    assert (circuit.state, circuit.admits()) == ("closed", True)


def test_four_failures_do_not_open_it(circuit: CircuitBreaker) -> None:
    fail(circuit, 4)
    circuit.succeeded()
    fail(circuit, 4)
    assert circuit.admits()


@pytest.mark.parametrize(
    "error", [EndpointMisconfigured("refused", http_status=401), QuotaExhausted("used up", http_status=429)]
)
def test_what_no_retry_cures_opens_it_at_once(circuit: CircuitBreaker, error: ClefError) -> None:
    fail(circuit, error=error)
    assert not circuit.admits()


def test_replies_that_cannot_be_read_open_it_too(circuit: CircuitBreaker) -> None:
    fail(circuit, 5, InvalidReply("?", http_status=200))
    assert circuit.state == "open"


def test_a_failed_probe_opens_it_again(circuit: CircuitBreaker, clock: Clock) -> None:
    fail(circuit, 5)
    clock.now += 30
    assert circuit.admits()
    fail(circuit)
    clock.now += 29
    assert not circuit.admits()
    clock.now += 1
    assert circuit.admits()


def test_a_longer_wait_the_server_asked_for_is_kept(circuit: CircuitBreaker, clock: Clock) -> None:
    fail(circuit, 5, EndpointBusy("busy", retry_after_s=50))
    clock.now += 49
    assert not circuit.admits()
    clock.now += 1
    assert circuit.admits()


def test_a_probe_that_never_reports_is_replaced(circuit: CircuitBreaker, clock: Clock) -> None:
    fail(circuit, 5)
    clock.now += 30
    assert circuit.admits()
    clock.now += 29
    assert not circuit.admits()
    clock.now += 1
    assert circuit.admits()


def test_a_late_answer_from_before_does_not_close_it(circuit: CircuitBreaker) -> None:
    fail(circuit, 5)
    circuit.succeeded()
    circuit.failed(RequestRefused("no", http_status=422))
    assert circuit.state == "open"


def test_a_server_that_refuses_an_item_is_well(circuit: CircuitBreaker, clock: Clock) -> None:
    fail(circuit, 5)
    clock.now += 30
    assert circuit.admits()
    circuit.failed(RequestRefused("no", http_status=422))
    assert circuit.state == "closed"


def test_a_refusal_of_our_own_proves_nothing(circuit: CircuitBreaker, clock: Clock) -> None:
    fail(circuit, 5)
    clock.now += 30
    assert circuit.admits()
    circuit.failed(RequestRefused("never sent"))
    assert (circuit.state, circuit.admits()) == ("half-open", True)


def test_of_many_threads_one_is_the_probe(circuit: CircuitBreaker, clock: Clock) -> None:
    fail(circuit, 5)
    clock.now += 30
    with ThreadPoolExecutor(8) as pool:
        admitted = list(pool.map(lambda _: circuit.admits(), range(200)))
    assert admitted.count(True) == 1
