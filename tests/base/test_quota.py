"""What control groups and affinity leave of a machine: folders made by hand, cores for real."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import smemkit
from smemkit import _core

GB = 1 << 30
NO_LIMIT_1 = 9223372036854771712  # what version 1 says where there is none

CGROUP_2 = "0::/user.slice/job\n"
MOUNT_2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
CGROUP_1 = "12:cpu,cpuacct:/docker/1a2b\n9:memory:/docker/1a2b\n1:name=systemd:/docker/1a2b\n"
MOUNT_1 = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:13 - cgroup cgroup rw,cpu,cpuacct
37 25 0:33 / /sys/fs/cgroup/memory rw shared:17 - cgroup cgroup rw,memory
"""


@pytest.fixture
def machine(tmp_path):
    """A function that makes a root folder of files and says what it allows."""

    def read(cgroup, mountinfo, files):
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(cgroup)
        (tmp_path / "proc/self/mountinfo").write_text(mountinfo)
        for name, text in files.items():
            path = tmp_path / "sys/fs/cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        return _core._quota(str(tmp_path))

    return read


def test_no_files_no_limit(tmp_path):
    assert _core._quota(str(tmp_path)) == (None, None)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, (None, None)),
        ({"user.slice/job/memory.max": 2 * GB}, (2 * GB, None)),
        ({"user.slice/job/memory.max": "max", "user.slice/memory.max": GB}, (GB, None)),
        ({"user.slice/job/memory.max": 2 * GB, "user.slice/memory.max": GB}, (GB, None)),
        ({"user.slice/job/memory.max": GB, "user.slice/memory.max": 2 * GB}, (GB, None)),
        ({"memory.max": 3 * GB}, (3 * GB, None)),  # of the root: a container has one there
        ({"user.slice/other/memory.max": GB}, (None, None)),
        ({"user.slice/job/cpu.max": "max 100000"}, (None, None)),
        ({"user.slice/job/cpu.max": "100000 100000"}, (None, 1)),
        ({"user.slice/job/cpu.max": "150000 100000"}, (None, 2)),
        ({"user.slice/job/cpu.max": "1000 100000"}, (None, 1)),
        ({"user.slice/job/cpu.max": "800000 100000", "user.slice/cpu.max": "3 1"}, (None, 3)),
        ({"user.slice/job/cpu.max": "nonsense", "user.slice/job/memory.max": ""}, (None, None)),
        ({"user.slice/job/cpu.max": "5 0"}, (None, None)),
    ],
)
def test_version_2(machine, files, expected):
    assert machine(CGROUP_2, MOUNT_2, files) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, (None, None)),
        ({"memory/docker/1a2b/memory.limit_in_bytes": 2 * GB}, (2 * GB, None)),
        ({"memory/docker/1a2b/memory.limit_in_bytes": NO_LIMIT_1}, (None, None)),
        (
            {
                "memory/docker/1a2b/memory.limit_in_bytes": NO_LIMIT_1,
                "memory/docker/memory.limit_in_bytes": GB,
            },
            (GB, None),
        ),
        (
            {
                "memory/docker/1a2b/memory.limit_in_bytes": NO_LIMIT_1,
                "memory/docker/1a2b/memory.stat": f"cache 5\nhierarchical_memory_limit {GB}\nrss 3",
            },
            (GB, None),
        ),
        (
            {
                "cpu,cpuacct/docker/1a2b/cpu.cfs_quota_us": 250000,
                "cpu,cpuacct/docker/1a2b/cpu.cfs_period_us": 100000,
            },
            (None, 3),
        ),
        (
            {
                "cpu,cpuacct/docker/1a2b/cpu.cfs_quota_us": -1,
                "cpu,cpuacct/docker/1a2b/cpu.cfs_period_us": 100000,
            },
            (None, None),
        ),
    ],
)
def test_version_1(machine, files, expected):
    assert machine(CGROUP_1, MOUNT_1, files) == expected


def test_both_versions_at_once(machine):
    """The controllers of version 1, and a hierarchy of version 2 that has others."""
    mounts = MOUNT_1 + MOUNT_2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ")
    files = {
        "memory/docker/1a2b/memory.limit_in_bytes": 4 * GB,
        "unified/user.slice/cpu.max": "200000 100000",
    }
    assert machine(CGROUP_1 + CGROUP_2, mounts, files) == (4 * GB, 2)


@pytest.mark.parametrize("seen", ["/docker/1a2b", "/docker/1a2b/inner"])
def test_a_container_that_sees_its_own_group_as_the_root(machine, seen):
    """The mounted group is named as the host names it, and so is the process's."""
    cgroup = f"9:memory:{seen}\n"
    mount = MOUNT_1.replace("0:33 / ", "0:33 /docker/1a2b ")
    files = {
        "memory/memory.limit_in_bytes": 2 * GB,
        "memory/inner/memory.limit_in_bytes": GB,
        "memory/docker/1a2b/memory.limit_in_bytes": 77,  # another one's, of the same name
    }
    expected = GB if seen.endswith("inner") else 2 * GB
    assert machine(cgroup, mount, files) == (expected, None)


@pytest.mark.parametrize("own", ["/../other", "/elsewhere"])
def test_a_group_outside_of_what_is_mounted(machine, own):
    mount = MOUNT_2.replace("0:26 / ", "0:26 /mine ")
    assert machine(f"0::{own}\n", mount, {"memory.max": GB, "elsewhere/memory.max": 5}) == (
        GB,
        None,
    )


def test_a_folder_with_a_blank_and_lines_of_any_length(machine):
    mounts = (
        f"1 1 0:1 / /overlay rw - overlay overlay rw,lowerdir={'x' * 50_000}\n"
        + MOUNT_2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/of\\040mine ")
    )
    deep = "/".join(["deep"] * 60)
    assert machine(f"0::/{deep}\n", mounts, {f"of mine/{deep}/memory.max": GB}) == (GB, None)


def test_what_this_machine_allows_is_told():
    facts = smemkit.show_config("dict")
    memory, cores = _core._quota("")
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts["simulator_memory_bytes"] == min(physical, memory or physical) // 4 * 3
    present = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if "SMEMKIT_THREADS" not in os.environ:
        assert facts["simulator_threads"] == min(present, cores or present)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="as Linux counts what is read")
def test_files_are_read_once():
    """Each allocation asks how much memory there is; the answer stays."""

    def count_reads():
        return int(re.search(r"syscr: (\d+)", Path("/proc/self/io").read_text())[1])

    smemkit.show_config("dict")
    before = count_reads()
    for _ in range(100):
        smemkit.show_config("dict")
    assert count_reads() - before < 100


def test_files_are_closed(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    for name, text in (("cgroup", CGROUP_1), ("mountinfo", MOUNT_1)):
        (tmp_path / "proc/self" / name).write_text(text)
    present = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        _core._quota(str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) < present + 50


def test_a_group_beside_the_mounted_one_is_not_below_it(machine):
    """What is mounted is /job; the process is in /job2, of which nothing can be seen."""
    mounted = MOUNT_2.replace(" / /sys", " /job /sys")
    files = {"memory.max": 3 * GB, "2/memory.max": GB}
    assert machine("0::/job2\n", mounted, files) == (3 * GB, None)


ON_ONE_CORE = """
import os, numpy, smemkit
core = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {core})
a = numpy.ones((256, 256), numpy.float32)
smemkit.gemm(a, a, backend="sim", variant="naive")
print(smemkit._core._run_stats()["threads"], smemkit.show_config("dict")["simulator_threads"])
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_a_process_on_one_core_has_one_thread():
    environment = {key: text for key, text in os.environ.items() if key != "SMEMKIT_THREADS"}
    process = subprocess.run(
        [sys.executable, "-c", ON_ONE_CORE],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parent,
    )
    assert process.stdout.split() == ["1", "1"], process.stderr
