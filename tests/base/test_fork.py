"""Locks that a fork waits for and a child finds free (csrc/base/fork.c in small programs)."""

import os
import shlex
import subprocess
import sysconfig

import pytest
from support.paths import ROOT

PATIENCE_S = 30

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

BEGINNING = r"""
#include "base/fork.h"
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static smk_fork_lock locks[3];

static bool create_all(void)
{
    return smk_fork_lock_create(&locks[0]) && smk_fork_lock_create(&locks[1]) &&
           smk_fork_lock_create(&locks[2]);
}

/* The exit status of a child: 7 where it could take the locks of the mask, -1 where it hung. */
static int fork_child(unsigned present)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(5);
        for (unsigned i = 0; i < 3; i++) {
            if (present >> i & 1) {
                smk_fork_lock_take(&locks[i]);
                smk_fork_lock_give(&locks[i]);
            }
        }
        _exit(7);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
"""

# The lock that is held was created among others: the fork has to find it.
HELD = r"""
static int guarded = 1;

static void *change(void *held)
{
    smk_fork_lock_take(&locks[1]);
    guarded = 2; /* half of a change */
    (void)write(*(int *)held, "x", 1);
    (void)nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    guarded = 3;
    smk_fork_lock_give(&locks[1]);
    return NULL;
}

int main(void)
{
    int ends[2];
    char byte;
    pthread_t thread;
    if (!create_all() || pipe(ends) != 0 || pthread_create(&thread, NULL, change, &ends[1]) != 0) {
        return 1;
    }
    (void)read(ends[0], &byte, 1);
    pid_t child = fork();
    if (child == 0) {
        _exit(guarded); /* what the child has is whole, */
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    (void)pthread_join(thread, NULL);
    printf("%d %d\n", WEXITSTATUS(status), fork_child(7)); /* and it can take the locks */
    return 0;
}
"""

# Whichever lock goes first, a fork goes through what is left.
ANY_ORDER = r"""
int main(void)
{
    for (unsigned first = 0; first < 3; first++) {
        unsigned present = 7;
        if (!create_all()) {
            return 1;
        }
        for (unsigned i = 0; i < 3; i++) {
            present &= ~(1u << (first + i) % 3);
            smk_fork_lock_destroy(&locks[(first + i) % 3]);
            printf("%d\n", fork_child(present));
        }
    }
    return 0;
}
"""


@pytest.fixture
def run(tmp_path):
    """A function that compiles a program and says what it prints."""

    def call(program):
        source, binary = tmp_path / "program.c", tmp_path / "program"
        source.write_text(BEGINNING + program)
        compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
        words = ["-std=gnu11", "-O1", "-pthread", f"-I{ROOT / 'csrc'}"]
        files = [str(source), str(ROOT / "csrc/base/fork.c"), "-o", str(binary)]
        subprocess.run([*compiler, *words, *files], check=True, timeout=120)
        result = subprocess.run(
            [str(binary)], check=True, timeout=PATIENCE_S, stdout=subprocess.PIPE, text=True
        )
        return result.stdout.split()

    return call


def test_a_fork_waits_for_what_holds_a_lock(run):
    assert run(HELD) == ["3", "7"]


def test_locks_come_and_go_in_any_order(run):
    assert run(ANY_ORDER) == ["7"] * 9
