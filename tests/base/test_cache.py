"""The local cache: a result is found again by its key, and by nothing else."""

import os
import threading
import time

import pytest

from autograder.base import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_result_is_found_by_kind_name_and_key(folder):
    assert cache.load("kind", "name", "key") is None
    cache.store("kind", "name", "key", b"content")
    assert cache.load("kind", "name", "key") == b"content"
    for other in (("other", "name", "key"), ("kind", "other", "key"), ("kind", "name", "other")):
        assert cache.load(*other) is None


def test_a_key_changes_with_each_part():
    keys = {cache.key(), cache.key(1), cache.key("1"), cache.key(1, 2), cache.key((1, 2)), cache.key(12)}
    assert len(keys) == 6
    assert cache.key("a", 1) == cache.key("a", 1)


def test_old_entries_make_room_for_new_ones_of_their_name(folder):
    cache.store("kind", "other", "key", b"")
    for number in range(4):
        cache.store("kind", "name", str(number), b"", most=2)
        os.utime(folder / "kind" / f"name-{number}", (number, number))
    assert [cache.load("kind", "name", str(number)) is not None for number in range(4)] == [False, False, True, True]
    assert cache.load("kind", "other", "key") == b""


def test_it_can_be_switched_off_and_a_folder_that_cannot_be_written_costs_time_only(folder, monkeypatch, tmp_path):
    cache.store("kind", "name", "key", b"content")
    monkeypatch.setenv(cache.VARIABLE, cache.OFF)
    cache.store("kind", "name", "key", b"content")
    assert cache.load("kind", "name", "key") is None
    with cache.alone("kind", "name"):
        pass
    (tmp_path / "file").touch()
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file"))
    cache.store("kind", "name", "key", b"content")
    assert cache.load("kind", "name", "key") is None
    with cache.alone("kind", "name"):
        pass


def test_it_lies_in_a_folder_that_git_ignores(monkeypatch):
    monkeypatch.delenv(cache.VARIABLE)
    assert cache.folder() == cache.ROOT / "build" / "cache"


def test_of_two_that_want_one_result_the_second_waits(folder):
    order = []

    def want(name: str) -> None:
        with cache.alone("kind", "name"):
            order.append(f"{name} begins")
            time.sleep(0.1)
            order.append(f"{name} ends")

    both = [threading.Thread(target=want, args=(name,)) for name in "ab"]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert order in (["a begins", "a ends", "b begins", "b ends"], ["b begins", "b ends", "a begins", "a ends"])
