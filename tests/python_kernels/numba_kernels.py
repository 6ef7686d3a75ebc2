"""Kernels of Numba, each beside one with a fault: a barrier or guard less, an atomic made plain."""

from numba import cuda, float32, int32

TILE = 16
THREADS = 128
BINS = 32


@cuda.jit
def matmul(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        left[y, x] = 0
        right[y, x] = 0
        if row < a.shape[0] and start + x < a.shape[1]:
            left[y, x] = a[row, start + x]
        if start + y < b.shape[0] and column < b.shape[1]:
            right[y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def matmul_faulty(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        left[y, x] = 0
        right[y, x] = 0
        if row < a.shape[0] and start + x < a.shape[1]:
            left[y, x] = a[row, start + x]
        if start + y < b.shape[0] and column < b.shape[1]:
            right[y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[y, k] * right[k, x]  # <- race: no barrier behind the loop
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def total(x, out):
    part = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit
def total_faulty(x, out):
    part = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]  # <- race: no barrier in the loop
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit
def histogram(x, counts):
    own = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(own, x[i], 1)
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, own[t])


@cuda.jit
def histogram_faulty(x, counts):
    own = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        own[x[i]] += 1  # <- race: no atomic
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, own[t])


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def add_faulty(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] + y[i]  # <- out_of_bounds: no guard


@cuda.jit
def shift(x, by, pair, flag, turn):
    i = cuda.grid(1)
    if i < x.size:
        value = x[i] + by * pair[0] + pair[1]
        x[i] = turn.real * value if flag else turn.imag * value


@cuda.jit
def rows(x, out):
    row = cuda.grid(1)
    if row < x.shape[0]:
        total = float32(0)
        for column in range(x.shape[1]):
            total += x[row, column]
        out[row] = total


@cuda.jit(device=True)
def square(value):
    return value * value


@cuda.jit
def squares(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = square(x[i])


@cuda.jit
def halves(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * x[i] + x[i]


@cuda.jit
def reverse(x):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    value = x[x.size - 1 - i]
    grid.sync()
    x[i] = value


def doubled(x):
    i = cuda.grid(1)
    own = cuda.shared.array(0, float32)
    if i < x.size:
        own[cuda.threadIdx.x] = x[i]
        x[i] = 2 * own[cuda.threadIdx.x]
