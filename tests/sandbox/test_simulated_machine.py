"""The made-up machine: a right stopwatch gives its rates, local and remote alike, and the real clocks are back afterwards."""

import threading
import time
import timeit

import pytest

from autograder.base.course_table import solution_source
from autograder.sandbox.measure.simulated_machine import SimulatedMachine
from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent

PEAK, BANDWIDTH = 3e11, 2e10


def namespace(*more: str) -> dict:
    names: dict = {}
    for source in (solution_source("costs"), *more):
        exec(source, names)
    return names


def test_the_reference_measures_the_made_up_machine_local_and_remote():
    remote = RemoteStudent("costs", [Cell("reference", solution_source("costs"))], {})
    try:
        for student in (LocalStudent(namespace()), remote):
            with student.simulated_machine(peak_flops=PEAK, bandwidth=BANDWIDTH) as work:
                machine = student.measure_machine(256, 2**20, 5)
            assert (machine.peak_flops, machine.bandwidth) == (pytest.approx(PEAK), pytest.approx(BANDWIDTH, rel=1e-4))
            assert work.clock_reads == 20
            assert work.flops == 5 * 2 * 256**3
    finally:
        remote.close()


def test_a_clock_under_a_name_of_its_own_is_exchanged_and_given_back():
    names = namespace("from time import perf_counter as now")
    clocks = (time.perf_counter, time.time_ns, names["now"], timeit.timeit.__defaults__)
    with SimulatedMachine(names, peak_flops=PEAK, bandwidth=BANDWIDTH):
        assert names["now"] is time.perf_counter is timeit.default_timer is not clocks[0]
        first, second = time.perf_counter(), time.perf_counter()
        assert second > first, "no clock stands still for ever: numpy's work is not seen"
        there = []
        other = threading.Thread(target=lambda: there.append(time.perf_counter()))
        other.start()
        other.join()
        assert abs(there[0] - clocks[0]()) < 60, "another thread reads the real clock"
    assert (time.perf_counter, time.time_ns, names["now"], timeit.timeit.__defaults__) == clocks


def test_the_clocks_are_given_back_after_an_exception():
    before = time.perf_counter
    with pytest.raises(ZeroDivisionError), SimulatedMachine({}, peak_flops=PEAK, bandwidth=BANDWIDTH):
        1 / 0  # noqa: B018
    assert time.perf_counter is before
