"""Training jobs: nothing goes on when its visitor or its server has gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil

from attnviz.training.jobs.jobs import LEASE, Jobs
from tests.unit.training.test_jobs import SLOW, Clock, plan

ROOT = Path(__file__).resolve().parents[3]


def test_a_training_ends_when_its_visitor_has_gone() -> None:
    here, clock = {"b"}, Clock()
    jobs = Jobs(is_here=here.__contains__, clock=clock)
    try:
        gone, stays = (jobs.start(name, plan(3000), speed=SLOW) for name in "ab")
        clock.now = LEASE - 1
        jobs.look()
        assert gone.view.status == "running"
        clock.now = LEASE + 1
        jobs.look()
        assert (gone.view.status, gone.view.can_continue, jobs.job("a")) == ("stopped", False, None)
        assert (stays.view.status, jobs.job("b")) == ("running", stays)
        here.clear()
        clock.now = 3 * LEASE
        jobs.look()
        assert jobs.job("b") is None
        assert jobs.counts()[:2] == (0, 0)
    finally:
        processes = jobs.processes()
        jobs.close()
    assert processes
    assert not [one for one in processes if psutil.pid_exists(one)]
    assert jobs.start("a", plan()).view.status == "failed"


def test_a_process_ends_with_its_server() -> None:
    code = (
        "import sys, time\nfrom tests.unit.training.test_jobs import *\njobs = Jobs()\n"
        f"job = jobs.start('a', plan(3000), speed={SLOW})\nuntil(lambda: job.view.step)\n"
        "print(*jobs.processes(), flush=True)\nsys.stdin.read()"
    )
    killed, exits = (
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    )
    with killed, exits:
        found = []
        for server in (killed, exits):
            assert server.stdout is not None
            found += [psutil.Process(int(one)) for one in server.stdout.readline().split()]
        assert len(found) == 2
        assert all(one.is_running() for one in found)
        killed.kill()
        assert exits.stdin is not None
        exits.stdin.close()
        assert psutil.wait_procs(found, timeout=30)[1] == []
