"""One thread for measurements, and a line where other programs disturbed them."""

import time

import torch

from course.kit import threads
from course.kit.threads import measuring, telling_load


def test_a_measurement_has_one_thread_and_puts_the_number_back():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with measuring():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_who_waited_for_a_processor_is_asked_to_measure_again(capsys):
    with measuring():
        time.sleep(0.2)
    printed = capsys.readouterr().out
    assert printed.startswith("This cell worked for 0.0 of 0.")
    assert "Run it again" in printed


def test_a_measurement_that_never_waited_says_nothing(capsys, monkeypatch):
    monkeypatch.setattr(threads.time, "thread_time", time.perf_counter)
    with measuring():
        time.sleep(0.01)
    assert capsys.readouterr().out == ""


def test_a_speed_for_the_ladder_keeps_its_threads_and_says_who_waited(capsys):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with telling_load():
            assert torch.get_num_threads() == 3
            time.sleep(0.2)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert capsys.readouterr().out.startswith("This cell worked for 0.0 of 0.")
