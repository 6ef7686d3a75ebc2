"""What a benchmark found: rows with every sample, and what they were made on."""

import datetime
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy

import smemkit

FORMAT = 1  # of the file; a reader refuses another one


@dataclass(frozen=True)
class Measurement:
    """One subject at one size: samples of time, or counters, or both.

    Attributes
    ----------
    family, variant : str
        Ours; or the family and the name of a peer ("cublas", "numpy", "memcpy").
    shape : tuple of int
        One length for each dimension of the family's signature, in its order.
    dtype : str
    machine : "cuda", "sim" or "cpu"
        What worked: the GPU, the simulator, or NumPy on the host.
    times_ms : tuple of float
        Every sample. On "cuda" by CUDA events, on "cpu" by the host's clock; the simulator has no
        clock: empty.
    host_times_ms : tuple of float
        What the call took on the host's clock, copies and simulation included: no GPU time.
    cache : "warm", "cold" or None
        Whether the operands may lie in the GPU's L2 cache when a sample begins.
    counters : dict
        Simulated counts by name (smemkit.counters()); empty where none were made.
    nbytes, flops : float or None
        That must move through memory, and operations that must be done.
    parameters : dict
        What else tells this row from others: {"op": "max"}, {"stride": 8}.
    """

    family: str
    variant: str
    shape: tuple
    dtype: str
    machine: str
    times_ms: tuple = ()
    host_times_ms: tuple = ()
    cache: str | None = None
    counters: dict = field(default_factory=dict)
    nbytes: float | None = None
    flops: float | None = None
    parameters: dict = field(default_factory=dict)

    def quantile_ms(self, q):
        """The q-quantile of the samples, NaN where there are none."""
        return float(numpy.quantile(self.times_ms, q)) if self.times_ms else float("nan")

    @property
    def median_ms(self):
        """Milliseconds, NaN where there are no samples."""
        return self.quantile_ms(0.5)

    @property
    def gb_per_s(self):
        """Bytes that must move over the median: 10^9 bytes a second, NaN where not known."""
        return float("nan") if self.nbytes is None else self.nbytes / self.median_ms / 1e6

    @property
    def gflop_per_s(self):
        """Operations over the median: 10^9 a second, NaN where not known."""
        return float("nan") if self.flops is None else self.flops / self.median_ms / 1e6

    @property
    def key(self):
        """What the same measurement of another run has in common with this one."""
        rest = tuple(sorted((name, str(value)) for name, value in self.parameters.items()))
        where = (self.dtype, self.machine, self.cache)
        return (self.family, self.variant, tuple(self.shape), *where, rest)


@dataclass
class Results:
    """Measurements of one run, with what they were made on (provenance)."""

    rows: list
    provenance: dict

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def select(self, **wanted):
        """The rows whose attributes or parameters have the wanted values, as Results."""

        def has(row, name, value):
            held = getattr(row, name, row.parameters.get(name))
            return held in value if isinstance(value, set | frozenset) else held == value

        rows = [r for r in self.rows if all(has(r, name, value) for name, value in wanted.items())]
        return Results(rows, self.provenance)

    def to_dict(self):
        """Everything, as JSON can hold it."""
        rows = [asdict(row) for row in self.rows]
        return {"format": FORMAT, "provenance": self.provenance, "rows": rows}

    def to_json(self):
        """The text that save writes: a line for each row, so that two of them can be compared."""
        data = self.to_dict()
        rows = ",\n  ".join(json.dumps(row) for row in data["rows"])
        provenance = json.dumps(data["provenance"], indent=1).replace("\n", "\n ")
        return (
            f'{{\n "format": {FORMAT},\n "provenance": {provenance},\n'
            f' "rows": [\n  {rows}\n ]\n}}\n'
        )

    @classmethod
    def from_dict(cls, data):
        """What to_dict wrote; ArgumentError where it is something else."""
        try:
            if data["format"] != FORMAT:
                raise smemkit.ArgumentError(
                    f"results of format {data['format']}; this version reads {FORMAT}"
                )
            rows = []
            for row in data["rows"]:
                tuples = {name: tuple(row[name]) for name in ("shape", "times_ms", "host_times_ms")}
                rows.append(Measurement(**{**row, **tuples}))
            return cls(rows, dict(data["provenance"]))
        except (KeyError, TypeError) as error:
            raise smemkit.ArgumentError(
                f"these are no results of a benchmark: {error!r}"
            ) from error

    def save(self, path):
        """Write to a JSON file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path):
        """Read a file that save wrote; ArgumentError where it is something else."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise smemkit.ArgumentError(f"{path} is no JSON: {error}") from error
        return cls.from_dict(data)

    def to_dataframe(self):
        """A pandas.DataFrame: a row each, with medians, quantiles and rates; units in the names."""
        import pandas

        return pandas.DataFrame(
            {
                "family": row.family,
                "variant": row.variant,
                "shape": row.shape,
                "dtype": row.dtype,
                "machine": row.machine,
                "cache": row.cache,
                "samples": len(row.times_ms),
                "median_ms": row.median_ms,
                "q20_ms": row.quantile_ms(0.2),
                "q80_ms": row.quantile_ms(0.8),
                "gb_per_s": row.gb_per_s,
                "gflop_per_s": row.gflop_per_s,
                **row.parameters,
                **row.counters,
            }
            for row in self.rows
        )

    def compare(self, before):
        """(row, row of the other run, ratio of their medians) for all that both have with times.

        A ratio above 1 says that this run was slower than `before`.
        """
        known = {row.key: row for row in before if row.times_ms}
        return [
            (row, known[row.key], row.median_ms / known[row.key].median_ms)
            for row in self.rows
            if row.times_ms and row.key in known
        ]


def describe_run(**more):
    """Provenance of a run made now: versions, date, and the device where there is one."""
    config = smemkit.show_config(mode="dict")
    facts = {
        "smemkit": config["smemkit"],
        "numpy": config["numpy"],
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "device": None,
        "cuda_driver": config["cuda_driver"],
        "cuda_runtime": config["cuda_runtime"],
    }
    if config["cuda_devices"]:
        device = smemkit.device_info(backend="cuda")
        facts["device"] = device["name"]
        facts["compute_capability"] = device["compute_capability"]
    return {**facts, **more}
