"""One object with EnvPool's methods in several threads: what is sent in one is received in another."""

import copy
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from counting import Counting

import kousoku as ks

SOON = 20.0
"""Seconds within which what a thread does is done, unless it hangs."""
NOTHING = "^recv: got 'nothing was sent'; call send"


@pytest.fixture
def threads():
    with ThreadPoolExecutor(4) as pool:
        yield pool


def pool_of(num_envs, batch_size):
    return ks.to_envpool(Counting(length=9), num_envs, batch_size=batch_size)


def received(pool, times):
    return [pool.recv() for _ in range(times)]


def numbers(told):
    return sorted(np.concatenate([one[4]["env_id"] for one in told]).tolist())


@pytest.mark.parametrize("first", ["reset", "async_reset"])
def test_a_thread_waits_for_what_another_one_sends(threads, first):
    pool = pool_of(4, 4)
    getattr(pool, first)()
    if first == "async_reset":
        pool.recv()
    waiting = threads.submit(pool.recv)
    time.sleep(0.05)
    assert not waiting.done()
    pool.send(np.zeros(2, int), np.array([3, 1]))
    obs, reward, _, _, info = waiting.result(SOON)
    assert (info["env_id"].tolist(), reward.tolist(), obs[:, 1].tolist()) == ([3, 1], [1, 1], [1, 1])


def test_a_thread_waits_for_the_first_reset(threads):
    pool = pool_of(2, 2)
    waiting = threads.submit(pool.recv)
    time.sleep(0.05)
    assert not waiting.done()
    pool.async_reset()
    assert waiting.result(SOON)[4]["env_id"].tolist() == [0, 1]


def test_a_sender_and_a_receiver(threads):
    pool, taken = pool_of(8, 4), queue.Queue()
    pool.async_reset()

    def send():
        for _ in range(60):
            ids = taken.get(timeout=SOON)
            pool.send(np.zeros(len(ids), int), ids)

    def receive():
        for _ in range(60):
            taken.put(pool.recv()[4]["env_id"])

    for job in [threads.submit(send), threads.submit(receive)]:
        job.result(SOON)
    assert numbers(received(pool, 2)) == list(range(8))


@pytest.mark.parametrize("batch_size", [1, 3, 4])
def test_workers_that_each_receive_and_then_send(threads, batch_size):
    pool = pool_of(8, batch_size)
    pool.async_reset()

    def work():
        rows = 0
        for _ in range(50):
            obs, reward, _, _, info = pool.recv()
            assert len(obs) == len(reward) == len(info["env_id"]) <= batch_size
            assert np.array_equal(obs[:, 1], info["count"])
            rows += len(obs)
            pool.send(np.zeros(len(obs), int), info["env_id"])
        return rows

    rows = sum(job.result(SOON) for job in [threads.submit(work) for _ in range(3)])
    left = received(pool, -(-8 // batch_size))
    assert numbers(left) == list(range(8))
    assert rows > 50


def test_threads_that_step_environments_of_their_own_get_what_these_told(threads):
    pool = pool_of(6, 6)
    pool.reset()

    def work(ids):
        for _ in range(40):
            assert pool.step(np.zeros(2, int), np.array(ids))[4]["env_id"].tolist() == ids

    for job in [threads.submit(work, ids) for ids in ([0, 1], [4, 2], [5, 3])]:
        job.result(SOON)


def test_in_one_thread_nothing_to_receive_is_told_at_once():
    pool = pool_of(3, 3)
    for begin in (lambda: None, pool.reset, lambda: (pool.async_reset(), pool.recv())):
        begin()
        with pytest.raises(ks.ConfigError, match=NOTHING):
            pool.recv()


def test_nothing_to_receive_is_told_where_the_others_have_ended_or_it_was_closed(threads):
    pool = pool_of(3, 3)
    sender = threading.Thread(target=pool.async_reset)
    sender.start()
    sender.join(SOON)
    assert len(received(pool, 1)) == 1
    with pytest.raises(ks.ConfigError, match=NOTHING):
        pool.recv()
    pool.reset()
    waiting = threads.submit(pool.recv)
    time.sleep(0.05)
    pool.close()
    with pytest.raises(ks.ConfigError, match=NOTHING):
        waiting.result(SOON)


def test_a_thread_that_waits_is_told_when_the_one_that_might_have_sent_ends():
    pool, told = pool_of(3, 3), []
    pool.reset()
    sent, going = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: (pool.send(np.zeros(3, int)), sent.set(), going.wait(SOON)))
    other.start()
    assert sent.wait(SOON)
    pool.recv()
    threading.Timer(0.1, going.set).start()
    with pytest.raises(ks.ConfigError, match=NOTHING):
        told.append(pool.recv())
    assert not other.is_alive()


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda pool: pool], ids=["copy", "deepcopy", "itself"])
def test_a_thread_that_has_only_just_begun_may_send(again):
    pool = pool_of(3, 3)
    pool.reset()
    pool = again(pool)
    late = threading.Thread(target=lambda: (time.sleep(0.05), pool.send(np.ones(3, int))))
    late.start()
    assert pool.recv()[1].tolist() == [0, 0, 0]
    with pytest.raises(ks.ConfigError, match=NOTHING):
        pool.recv()
    assert not late.is_alive()


def test_a_thread_that_was_there_before_may_send_once_it_has_used_the_object(threads):
    go, going = threading.Event(), threading.Event()
    made = []
    old = threads.submit(lambda: (go.wait(SOON), made[0].send(np.zeros(3, int)), going.wait(SOON)))
    pool = pool_of(3, 3)
    made.append(pool)
    pool.reset()
    with pytest.raises(ks.ConfigError, match=NOTHING):
        pool.recv()
    assert not old.done()
    late = threading.Thread(target=going.wait, args=(SOON,))
    late.start()
    go.set()
    assert len(received(pool, 1)) == 1
    going.set()
    late.join(SOON)


@pytest.mark.parametrize("others", [1, 3])
def test_where_all_wait_for_each_other_one_is_told(threads, others):
    pool = pool_of(4, 1)
    pool.reset()
    waiting = [threads.submit(pool.recv) for _ in range(others)]
    until = time.monotonic() + SOON
    while len(pool._threads._waiting) < others and time.monotonic() < until:
        time.sleep(0.005)
    for _ in range(2):
        with pytest.raises(ks.ConfigError, match=NOTHING):
            pool.recv()
    assert not any(job.done() for job in waiting)
    pool.send(np.zeros(others, int), np.arange(others))
    assert numbers([job.result(SOON) for job in waiting]) == list(range(others))


@pytest.mark.parametrize("first", ["reset", "async_reset"])
def test_a_pool_that_was_closed_takes_actions_and_waits_again_after_a_reset(threads, first):
    pool = pool_of(3, 3)
    pool.reset()
    pool.close()
    assert pool.closed
    told = r"^send: got 'it was closed'; call reset\(\) or async_reset\(\) first$"
    for call in (pool.send, pool.step):
        with pytest.raises(ks.ConfigError, match=told):
            call(np.zeros(3, int))
    getattr(pool, first)()
    assert not pool.closed
    if first == "async_reset":
        pool.recv()
    waiting = threads.submit(pool.recv)
    time.sleep(0.05)
    assert not waiting.done()
    pool.send(np.zeros(3, int))
    assert numbers([waiting.result(SOON)]) == [0, 1, 2]


def test_a_copy_has_what_waits_and_belongs_to_the_thread_that_made_it(threads):
    pool = pool_of(3, 2)
    pool.reset()
    pool.send(np.zeros(3, int))
    other = threads.submit(copy.deepcopy, pool).result(SOON)
    for one in (pool, other):
        assert numbers(threads.submit(received, one, 2).result(SOON)) == [0, 1, 2]
