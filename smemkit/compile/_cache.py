"""A cache of compiled kernels on disk.

The key of an entry holds everything that its PTX depends on. An entry is one file: its name is the
SHA-256 of the key, its first bytes are the SHA-256 of the bytes that follow. A writer fills a
temporary file and renames it, so that other processes read whole entries only. A read sets the
file's modification time, by which the least recently used entries are removed when all entries
together exceed the limit. The cache never fails a compilation: an entry that is unreadable or
damaged counts as missing, and where the folder cannot be written nothing is stored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FORMAT = 1  # in the key: entries of another format are not found
OFF = ("none", "0")
DEFAULT_LIMIT_MB = 256
KEPT_PART = 0.8  # of the limit, after a removal; so the next entries fit without another one
ENTRY = re.compile(r"[0-9a-f]{64}\.ptx\.z")
TEMPORARY = re.compile(r"tmp-.+\.ptx\.z")
ABANDONED_S = 3600  # the age at which the writer of a temporary file is taken to have died
DIGEST_BYTES = 32


def _find_folder() -> Path | None:
    named = os.environ.get("SMEMKIT_CACHE", "")
    if named in OFF:
        return None
    if named:
        return Path(os.path.expanduser(named)).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification: ignore relative paths
        base = os.path.expanduser("~/.cache")
    return Path(base, "smemkit") if os.path.isabs(base) else None


def _get_limit() -> int:
    text = os.environ.get("SMEMKIT_CACHE_MB") or str(DEFAULT_LIMIT_MB)
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise _core.ArgumentError(
            f"the environment variable SMEMKIT_CACHE_MB is {text!a:.100}; a whole number is needed"
        )
    return 10**6 * int(text)


def open_cache() -> Cache | None:
    """The cache that the environment names, or None where it is switched off.

    ArgumentError where SMEMKIT_CACHE_MB is not a number.
    """
    folder, limit = _find_folder(), _get_limit()
    return Cache(folder, limit) if folder and limit else None


def make_key(parts: Any) -> str:
    """The name of the entry for those parts (anything that JSON can hold)."""
    text = json.dumps([FORMAT, parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Cache:
    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit  # bytes of all entries

    def _get_path(self, key: str) -> Path:
        return self.folder / f"{key}.ptx.z"

    def read(self, key: str) -> tuple[str, str] | None:
        """(PTX, which compiler has made it) of the entry, or None."""
        path = self._get_path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        body = data[DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != data[:DIGEST_BYTES]:
            return None  # damaged; the next write replaces it
        with contextlib.suppress(OSError):
            os.utime(path)
        ptx, origin = json.loads(zlib.decompress(body))
        return ptx, origin

    def write(self, key: str, ptx: str, origin: str) -> None:
        """Stores the entry; removes others where it does not fit."""
        body = zlib.compress(json.dumps([ptx, origin]).encode(), 3)
        data = hashlib.sha256(body).digest() + body
        if len(data) > self.limit:
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix="tmp-", suffix=".ptx.z", dir=self.folder)
            try:
                with open(handle, "wb") as file:
                    file.write(data)
                os.replace(name, self._get_path(key))
            except BaseException:
                os.unlink(name)
                raise
            self._make_room()

    def _list_files(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
        """(time of the last use, bytes, path) of the files whose names match."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if pattern.fullmatch(entry.name):
                    with contextlib.suppress(FileNotFoundError):  # another process has removed it
                        facts = entry.stat(follow_symlinks=False)
                        yield facts.st_mtime_ns, facts.st_size, entry.path

    def _make_room(self) -> None:
        """Removes abandoned temporary files, and least recently used entries over the limit."""
        oldest = time.time_ns() - ABANDONED_S * 10**9
        for used, _, path in self._list_files(TEMPORARY):
            if used < oldest:
                _remove(path)
        files = sorted(self._list_files(ENTRY))
        total = sum(size for _, size, _ in files)
        if total <= self.limit:
            return
        for _, size, path in files[:-1]:  # the last one has just been written
            if total <= KEPT_PART * self.limit:
                break
            _remove(path)
            total -= size

    def describe(self) -> str:
        """The folder and what it holds, in words."""
        sizes = []
        with contextlib.suppress(OSError):
            sizes = [size for _, size, _ in self._list_files(ENTRY)]
        used, limit = sum(sizes) / 1e6, self.limit // 10**6
        return f"{self.folder} ({len(sizes)} kernels, {used:.1f} of {limit} MB)"


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
