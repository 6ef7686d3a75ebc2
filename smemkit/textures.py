"""Textures and surfaces: arrays that kernels read and write through the texture unit."""

from __future__ import annotations

import typing

import numpy

from . import _core

if typing.TYPE_CHECKING:
    import numpy.typing

_MODES = ("wrap", "clamp", "mirror", "border")  # in the order of CUDA's numbers
_KINDS = {"u": 0, "i": 1, "f": 2}
_TYPES = "uint8, uint16, uint32, int8, int16, int32, float16 and float32"
_FACES = 6


def _find_sizes(
    shape: tuple[int, ...], channels: int, layered: bool, cube: bool
) -> tuple[list[int], int]:
    """The texels along x, y and z, and the number of layers (0: not layered)."""
    left = list(shape)
    if channels > 1:
        if not left or left.pop() != channels:
            raise _core.ShapeError(
                f"Texture: channels is {channels}, and the last axis of texels must have that many;"
                f" its shape is {tuple(shape)}"
            )
    layers = 0
    if layered:
        layers = left.pop(0) if left else 0
    if cube:
        if len(left) != 3 or left[0] != _FACES or left[1] != left[2]:
            raise _core.ShapeError(
                f"Texture: a cube has {_FACES} square faces, (6, n, n) behind its layers; the shape"
                f" of texels is {tuple(shape)}"
            )
        left = left[1:]
    if not 1 <= len(left) <= (2 if layered else 3) or 0 in left or (layered and not layers):
        raise _core.ShapeError(
            f"Texture: texels have 1 to {2 if layered else 3} axes beside channels and layers, none"
            f" of them empty; the shape is {tuple(shape)}"
        )
    return left[::-1], layers


def _find_modes(address: str | typing.Sequence[str]) -> list[int]:
    words = [address] * 3 if isinstance(address, str) else list(address)
    words += ["clamp"] * (3 - len(words))
    for word in words:
        if word not in _MODES:
            raise _core.ArgumentError(
                f"Texture: address is {word!r}; one of {', '.join(_MODES)}, or one for each axis"
            )
    return [_MODES.index(word) for word in words]


def _find_border(border: float | typing.Sequence[float]) -> tuple[float, ...]:
    values = (
        numpy.broadcast_to(numpy.asarray(border, "float32").ravel(), (4,)).tolist()
        if (numpy.size(border) in (1, 4))
        else [*numpy.asarray(border, "float32").ravel().tolist(), 0.0, 0.0, 0.0][:4]
    )
    return tuple(values)


class Texture:
    """Texels in the memory of a texture unit, and how it reads them.

    A kernel gets it where its parameter is a cudaTextureObject_t or, with ``surface=True``, a
    cudaSurfaceObject_t: pass the Texture itself. The texels are copied when it is made; the object
    must stay as long as kernels use it. The simulator filters as an H200 does, bit for bit (see
    Notes).

    Parameters
    ----------
    texels : array_like
        Shape ``(w,)``, ``(h, w)`` or ``(d, h, w)``; with layers ``(layers, w)`` or ``(layers, h,
        w)``; of a cube ``(6, n, n)`` or ``(layers, 6, n, n)``; behind that the channels. Elements
        of uint8, uint16, uint32, int8, int16, int32, float16 or float32.
    channels : int
        1, 2 or 4. With more than one, the last axis of texels has that many.
    layered, cube : bool
        What the first axes of texels are.
    filter : str
        ``"point"`` reads the nearest texel, ``"linear"`` mixes those around the coordinate; floats
        alone, or integers that are read as floats.
    address : str or sequence of str
        What a coordinate outside reads: ``"clamp"`` the nearest texel, ``"border"`` `border`,
        ``"wrap"`` and ``"mirror"`` the texture again (these two need normalized coordinates). One
        for all axes, or one for each of x, y and z.
    normalized : bool
        Coordinates go from 0 to 1, and not to the number of texels.
    as_floats : bool
        Integers of 8 and 16 bits are read as floats from 0, or -1, to 1.
    border : float or sequence of float
        The colour of the border, for all channels or for each.
    surface : bool
        A surface: kernels read and write it by byte offset (surf2Dread, surf2Dwrite).
    device, backend : optional
        Where it is made; as for `empty`.

    Shapes
    ------
    As above; `shape` is that of texels.

    Returns
    -------
    Texture

    Raises
    ------
    ShapeError (ValueError), ArgumentError (ValueError), ArgumentTypeError (TypeError),
    OutOfMemoryError (MemoryError), BackendError (RuntimeError), CudaError (RuntimeError).

    Notes
    -----
    What the CUDA guide leaves open was measured on an H100 and an H200: weights are 256ths, floats
    are added as integers with four more bits. Of filtered reads these may differ from the
    hardware's: int8 texels read as floats (by one 32767th, one in 25), three axes (in the last bit,
    one in 100) and mirrored coordinates (by one 256th of a weight, one in 50). Cubes are filtered
    inside one face.

    Example
    -------
    >>> import numpy, smemkit
    >>> image = numpy.arange(12, dtype="float32").reshape(3, 4)
    >>> texture = smemkit.Texture(image, filter="linear", backend="sim")
    >>> texture
    Texture(shape=(3, 4), dtype=float32, filter='linear', address='clamp', device='sim')
    >>> texture.asnumpy().tolist() == image.tolist()
    True
    """

    def __init__(
        self,
        texels: numpy.typing.ArrayLike | _core.DeviceArray,
        *,
        channels: int = 1,
        layered: bool = False,
        cube: bool = False,
        filter: str = "point",
        address: str | typing.Sequence[str] = "clamp",
        normalized: bool = False,
        as_floats: bool = False,
        border: float | typing.Sequence[float] = 0.0,
        surface: bool = False,
        device: typing.Any = None,
        backend: str | None = None,
    ) -> None:
        held = _core.asnumpy(texels) if isinstance(texels, _core.DeviceArray) else texels
        values = numpy.asarray(held, order="C")
        kind = _KINDS.get(values.dtype.kind, -1)
        if kind < 0 or values.dtype.itemsize > 4 or not values.dtype.isnative:
            raise _core.ArgumentTypeError(f"Texture: texels of {values.dtype}; it takes {_TYPES}")
        if channels not in (1, 2, 4):
            raise _core.ArgumentError(f"Texture: channels is {channels!r}; it is 1, 2 or 4")
        if filter not in ("point", "linear"):
            raise _core.ArgumentError(f"Texture: filter is {filter!r}; one of point, linear")
        sizes, layers = _find_sizes(values.shape, channels, layered, cube)
        modes = _find_modes(address)
        if not normalized and not cube and any(_MODES[m] in ("wrap", "mirror") for m in modes):
            raise _core.ArgumentError(
                "Texture: address='wrap' and 'mirror' need normalized=True; without it the unit"
                " clamps"
            )
        self.shape: tuple[int, ...] = values.shape
        self.dtype = values.dtype
        self.channels = channels
        self.filter = filter
        self.address = address
        self._object = _core._TextureObject(
            values.reshape(-1).view("uint8"),
            device,
            backend,
            (*sizes, 1, 1)[:3],
            layers,
            len(sizes),
            int(cube),
            channels,
            8 * values.dtype.itemsize,
            kind,
            tuple(modes),
            int(filter == "linear"),
            int(normalized or cube),
            int(as_floats),
            int(surface),
            _find_border(border),
        )

    @property
    def device(self) -> str:
        """Where it lives, as ``"sim"`` or ``"cuda:0"``."""
        return self._object.device

    def __index__(self) -> int:
        """The object that kernels get."""
        return self._object.value

    def asnumpy(self) -> numpy.ndarray[typing.Any, typing.Any]:
        """The texels, with what kernels have written to a surface."""
        texels = numpy.empty(self.shape, self.dtype)
        self._object.read(texels.reshape(-1).view("uint8"))
        return texels

    def __repr__(self) -> str:
        return (
            f"Texture(shape={self.shape}, dtype={self.dtype}, filter={self.filter!r},"
            f" address={self.address!r}, device={self.device!r})"
        )
