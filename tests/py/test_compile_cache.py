"""The cache of compiled kernels: its keys, damaged and removed entries, and many processes."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import children

import smemkit
from smemkit import compile
from smemkit.compile import _cache, _dependencies, _toolchain

SOURCE = 'extern "C" __global__ void set(float *x) { x[0] = FACTOR; }\n'
OPTIONS = ("-DFACTOR=2", "-arch=compute_80")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("SMEMKIT_CACHE", str(path))
    return path


@pytest.fixture
def compiled(folder, monkeypatch):
    """The sources that were compiled and not found; the compiler is a stand-in."""
    sources = []

    def stand_in(nvrtc, nvcc, source, options):
        sources.append(source)
        return f"// {len(sources)} {options}", "a compiler"

    library = folder.parent / "lib" / "libnvrtc.so"
    library.parent.mkdir()
    library.write_bytes(b"1")
    monkeypatch.setattr(compile, "_compile", stand_in)
    monkeypatch.setattr(compile, "find_nvrtc", lambda: library)
    monkeypatch.setattr(compile, "find_nvcc", lambda: None)
    monkeypatch.chdir(folder.parent)
    return sources


def list_entries(folder):
    return sorted(path for path in folder.iterdir() if _cache.ENTRY.fullmatch(path.name))


def ask(source=SOURCE, options=OPTIONS):
    return compile.compile_by(source, options)


def test_a_real_compiler_runs_once(folder, monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    if compile.find_nvrtc() is None and compile.find_nvcc() is None:
        pytest.skip("no compiler here")
    first = ask()
    monkeypatch.setattr(compile, "_compile", None)
    assert ask() == first and ".visible .entry set(" in first[0]
    kernel = smemkit.RawKernel(SOURCE, "set", options=OPTIONS)
    assert kernel.name == "set"


def test_found_again(compiled, folder):
    first = ask()
    assert ask() == first and len(compiled) == 1
    assert ask(SOURCE, [*OPTIONS]) == first
    assert len(list_entries(folder)) == 1 and oct(folder.stat().st_mode)[-3:] == "700"


def test_not_found_for_anything_else(compiled, monkeypatch):
    calls = [
        lambda: ask(),
        lambda: ask(SOURCE + " "),
        lambda: ask(options=("-DFACTOR=3", "-arch=compute_80")),
        lambda: ask(options=("-DFACTOR=2", "-arch=compute_75")),
    ]
    for count, call in enumerate(calls, 1):
        assert call() == call()
        assert len(compiled) == count
    ask()
    assert len(compiled) == len(calls)
    library = compile.find_nvrtc()
    library.write_bytes(b"another")
    ask()
    assert len(compiled) == len(calls) + 1
    wheels = {"nvidia-cuda-cccl": "13.0.85"}
    monkeypatch.setattr(_toolchain, "list_wheels", lambda folder: wheels)
    for version in ("13.0.85", "13.0.86"):
        wheels["nvidia-cuda-cccl"] = version
        ask()
    assert len(compiled) == len(calls) + 3
    monkeypatch.setattr(compile._headers, "HEADERS", {"stdint.h": "// newer\n"})
    ask()
    assert len(compiled) == len(calls) + 4
    monkeypatch.setattr(_cache, "FORMAT", _cache.FORMAT + 1)
    ask()
    assert len(compiled) == len(calls) + 5


def test_headers_of_one_s_own(compiled):
    """Their text is in the key, at any depth, and so is a new header that precedes another."""
    Path("own/deep").mkdir(parents=True)
    Path("own/one.h").write_text('#  include "deep/two.h"\n')
    Path("own/deep/two.h").write_text('#include "three.h" // beside it\n')
    Path("own/deep/three.h").write_text("#define FACTOR 1\n")
    source, options = "/* */ #include <one.h> \n" + SOURCE, ("-Iown", "-arch=compute_80")
    count = 0

    def expect_new():
        nonlocal count
        count += 1
        assert ask(source, options) == ask(source, options)
        assert len(compiled) == count

    expect_new()
    for name in ("one.h", "deep/two.h", "deep/three.h"):
        with open(f"own/{name}", "a") as file:
            file.write("// longer\n")
        expect_new()
    Path("first").mkdir()
    options = ("-Ifirst", *options)
    expect_new()
    Path("first/one.h").write_text("#define FACTOR 9\n")
    expect_new()
    Path("other.h").write_text("")
    ask(source, options)
    assert len(compiled) == count
    options = ("-include=other.h", *options)
    expect_new()
    Path("other.h").write_text("//\n")
    expect_new()


@pytest.mark.parametrize(
    "line",
    [
        "#define H <one.h>\n#include H",
        "#if __has_include(<one.h>)\n#endif",
        "#ifdef __has_\\\ninclude\n#endif",
        "const char *now = __TIME__;",
        "#incl\\\nude H",
        "%: include H",
    ],
)
def test_what_a_text_does_not_tell_is_not_kept(compiled, folder, line):
    for _ in range(2):
        ask(line + "\n" + SOURCE)
    assert len(compiled) == 2 and not folder.exists()
    Path("one.h").write_text(line + "\n")
    ask('#include "one.h"\n' + SOURCE)
    assert not folder.exists()


@pytest.mark.parametrize("option", ["--time=x.csv", "-pch", "-optf", "@file", "--keep", "-MD"])
def test_options_that_touch_files_are_not_kept(compiled, folder, option):
    ask(options=(*OPTIONS, option))
    assert len(compiled) == 1 and not folder.exists()


def test_includes_in_a_circle(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.h").write_text('#include "b.h"\n#include <cub/cub.cuh>\n')
    Path("b.h").write_text('#include "a.h"\n')
    found = _dependencies.find_headers('#include "a.h"\n#include <b.h>\n', [])
    assert sorted(path.name for path in found) == ["a.h", "b.h"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:40],
        lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
        lambda data: b"x" * len(data),
    ],
)
def test_a_damaged_entry_is_compiled_anew(compiled, folder, damage):
    ask()
    (entry,) = list_entries(folder)
    entry.write_bytes(damage(entry.read_bytes()))
    again = ask()
    assert len(compiled) == 2
    assert ask() == again and len(compiled) == 2


def test_folders_that_cannot_be_used(compiled, folder, monkeypatch):
    """A file in place of the folder, a folder in place of the entry, and an unwritable folder."""
    folder.write_text("a file")
    ask()
    ask()
    assert len(compiled) == 2 and folder.read_text() == "a file"
    folder.unlink()
    ask()
    (entry,) = list_entries(folder)
    entry.unlink()
    entry.mkdir()
    ask()
    assert len(compiled) == 4 and [*folder.iterdir()] == [entry]
    monkeypatch.setenv("SMEMKIT_CACHE", "/proc/nowhere/cache")
    ask()
    assert len(compiled) == 5


def test_a_disk_that_is_full(compiled, folder, monkeypatch):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert ask()[1] == "a compiler"
    assert [*folder.iterdir()] == []


def test_the_least_recently_used_go_first(folder):
    texts = [os.urandom(100_000).hex() for _ in range(12)]  # each some 100 kB when compressed
    cache = _cache.Cache(folder, 10**6)
    for number, text in enumerate(texts):
        cache.write(f"{number:064x}", text, "")
        path = folder / f"{number:064x}.ptx.z"
        if path.exists():
            os.utime(path, (1000 + number, 1000 + number))
        if number == 7:
            assert cache.read(f"{0:064x}") == (texts[0], "")  # used: now the youngest
    kept = [n for n in range(12) if (folder / f"{n:064x}.ptx.z").exists()]
    assert 0 in kept and 11 in kept and 1 not in kept
    sizes = [path.stat().st_size for path in list_entries(folder)]
    assert 0.6e6 < sum(sizes) <= 1e6
    cache.write("f" * 64, os.urandom(10**6).hex(), "")  # more than all that there may be
    assert cache.read("f" * 64) is None and len(list_entries(folder)) == len(sizes)


def test_only_its_own_files_go(folder):
    folder.mkdir()
    old, young = folder / "tmp-old.ptx.z", folder / "tmp-young.ptx.z"
    others = [folder / name for name in ("precious", "tmp-", "a.ptx.z")]
    for path in (old, young, *others):
        path.write_bytes(bytes(2000))
    long_ago = time.time() - 2 * _cache.ABANDONED_S
    for path in (old, *others):
        os.utime(path, (long_ago, long_ago))
    cache = _cache.Cache(folder, 1000)
    for key in "ab":
        cache.write(key * 64, os.urandom(600).hex(), "")
    assert not old.exists() and young.exists() and all(path.exists() for path in others)
    assert [path.name[0] for path in list_entries(folder)] == ["b"]


def test_variables(compiled, folder, monkeypatch, tmp_path):
    for word in ("none", "0"):
        monkeypatch.setenv("SMEMKIT_CACHE", word)
        ask()
        assert smemkit.show_config("dict")["kernel_cache"] == "off"
    assert len(compiled) == 2
    monkeypatch.delenv("SMEMKIT_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    ask()
    assert len(list_entries(tmp_path / "home/.cache/smemkit")) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    ask()
    assert len(list_entries(tmp_path / "xdg/smemkit")) == 1
    text = smemkit.show_config("dict")["kernel_cache"]
    assert text == f"{tmp_path}/xdg/smemkit (1 kernels, 0.0 of 256 MB)"
    monkeypatch.setenv("SMEMKIT_CACHE", "~/mine")
    monkeypatch.setenv("SMEMKIT_CACHE_MB", "5")
    assert smemkit.show_config("dict")["kernel_cache"].startswith(f"{tmp_path}/home/mine (0 ker")
    monkeypatch.setenv("SMEMKIT_CACHE_MB", "0")
    assert smemkit.show_config("dict")["kernel_cache"] == "off"
    for wrong in ("-1", "2 GB", "1e3"):
        monkeypatch.setenv("SMEMKIT_CACHE_MB", wrong)
        with pytest.raises(smemkit.ArgumentError, match=f"SMEMKIT_CACHE_MB is '{wrong}'"):
            ask()
        assert "SMEMKIT_CACHE_MB" in smemkit.show_config("dict")["kernel_cache"]


WRITER = """
import os, sys
from pathlib import Path
from smemkit.compile import _cache
cache = _cache.Cache(Path(sys.argv[1]), 300_000)
for turn in range(60):
    key = f"{turn % 10:064x}"
    found = cache.read(key)
    assert found is None or found == (key * 500, "who"), found
    cache.write(key, key * 500, "who")
    cache.write(f"{os.getpid()}{turn:02}".zfill(64), os.urandom(10_000).hex(), "")
"""


def test_many_processes(folder):
    """They write, read and remove the same entries at the same time."""
    command = [sys.executable, "-c", WRITER, str(folder)]
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(children.started(command, stderr=subprocess.PIPE)) for _ in range(4)
        ]
        for writer in writers:
            _, log = writer.communicate()
            assert writer.returncode == 0, log
    assert all(_cache.ENTRY.fullmatch(path.name) for path in folder.iterdir())
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert 0 < sum(sizes) < 400_000
