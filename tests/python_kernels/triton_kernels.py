"""Kernels of Triton, each beside one with a fault: a mask left out, an atomic made plain."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    a = tl.load(x + i, mask=inside)
    b = tl.load(y + i, mask=inside)
    tl.store(out + i, a + b, mask=inside)


@triton.jit
def add_faulty(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i)  # <- out_of_bounds: no mask
    b = tl.load(y + i, mask=i < n)
    tl.store(out + i, a + b, mask=i < n)


@triton.jit
def normalize(row):
    top = tl.exp(row - tl.max(row, axis=0))
    return top / tl.sum(top, axis=0)


@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    start = tl.program_id(0) * stride
    row = tl.load(x + start + i, mask=i < columns, other=-float("inf"))
    tl.store(out + start + i, normalize(row), mask=i < columns)


@triton.jit
def softmax_faulty(x, out, stride, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    start = tl.program_id(0) * stride
    row = tl.load(x + start + i, mask=i < columns, other=-float("inf"))
    tl.store(out + start + i, normalize(row), mask=i <= columns)  # <- global_race: <= for <


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < columns
    start = tl.program_id(0) * columns
    row = tl.load(x + start + i, mask=inside, other=0.0)
    mean = tl.sum(row, axis=0) / columns
    away = tl.where(inside, row - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(away * away, axis=0) / columns + epsilon)
    w = tl.load(weight + i, mask=inside)
    b = tl.load(bias + i, mask=inside)
    tl.store(out + start + i, away * scale * w + b, mask=inside)


@triton.jit
def layer_norm_faulty(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < columns
    start = tl.program_id(0) * columns
    row = tl.load(x + start + i, mask=inside, other=0.0)
    mean = tl.sum(row, axis=0) / columns
    away = tl.where(inside, row - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(away * away, axis=0) / columns + epsilon)
    w = tl.load(weight + i)  # <- out_of_bounds: no mask
    b = tl.load(bias + i, mask=inside)
    tl.store(out + start + i, away * scale * w + b, mask=inside)


@triton.jit
def matmul(
    a, b, c, m, n, k,
    a_row, a_column, b_row, b_column, c_row, c_column,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    left = a + rows[:, None] * a_row + inner[None, :] * a_column
    right = b + inner[:, None] * b_row + columns[None, :] * b_column
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        x = tl.load(left, mask=(rows[:, None] < m) & (inner[None, :] < k - start), other=0.0)
        y = tl.load(right, mask=(inner[:, None] < k - start) & (columns[None, :] < n), other=0.0)
        total = tl.dot(x, y, total)
        left += K * a_column
        right += K * b_row
    where = c + rows[:, None] * c_row + columns[None, :] * c_column
    tl.store(where, total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul_faulty(
    a, b, c, m, n, k,
    a_row, a_column, b_row, b_column, c_row, c_column,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    left = a + rows[:, None] * a_row + inner[None, :] * a_column
    right = b + inner[:, None] * b_row + columns[None, :] * b_column
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        x = tl.load(left, mask=(rows[:, None] < m) & (inner[None, :] < k - start), other=0.0)
        y = tl.load(right, mask=columns[None, :] < n, other=0.0)  # <- out_of_bounds: not by k
        total = tl.dot(x, y, total)
        left += K * a_column
        right += K * b_row
    where = c + rows[:, None] * c_row + columns[None, :] * c_column
    tl.store(where, total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + i, mask=i < n, other=0), axis=0)
    tl.atomic_add(out, part)


@triton.jit
def total_faulty(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + i, mask=i < n, other=0), axis=0)
    tl.store(out, tl.load(out) + part)  # <- global_race: no atomic


@triton.jit
def histogram(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    counts = tl.histogram(tl.load(x + i, mask=inside, other=0), BINS, mask=inside)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def histogram_faulty(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    counts = tl.histogram(tl.load(x + i, mask=inside, other=0), BINS, mask=inside)
    where = out + tl.arange(0, BINS)
    tl.store(where, tl.load(where) + counts)  # <- global_race: no atomic


@triton.jit
def attention(q, k, v, out, length, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    depth = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + depth[None, :], mask=rows[:, None] < length, other=0.0)
    best = tl.full((M,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((M,), dtype=tl.float32)
    total = tl.zeros((M, D), dtype=tl.float32)
    for start in range(0, length, N):
        keys = start + tl.arange(0, N)
        near = keys[:, None] * D + depth[None, :]
        key = tl.load(k + near, mask=keys[:, None] < length, other=0.0)
        score = tl.dot(query, tl.trans(key)) * scale
        score = tl.where(keys[None, :] < length, score, -float("inf"))
        top = tl.maximum(best, tl.max(score, axis=1))
        share = tl.exp(score - top[:, None])
        old = tl.exp(best - top)
        weight = weight * old + tl.sum(share, axis=1)
        value = tl.load(v + near, mask=keys[:, None] < length, other=0.0)
        total = total * old[:, None] + tl.dot(share.to(value.dtype), value)
        best = top
    where = out + rows[:, None] * D + depth[None, :]
    tl.store(where, total / weight[:, None], mask=rows[:, None] < length)


@triton.jit
def attention_faulty(
    q, k, v, out, length, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    depth = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + depth[None, :], mask=rows[:, None] < length, other=0.0)
    best = tl.full((M,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((M,), dtype=tl.float32)
    total = tl.zeros((M, D), dtype=tl.float32)
    for start in range(0, length, N):
        keys = start + tl.arange(0, N)
        near = keys[:, None] * D + depth[None, :]
        key = tl.load(k + near, mask=keys[:, None] < length, other=0.0)
        score = tl.dot(query, tl.trans(key)) * scale
        score = tl.where(keys[None, :] < length, score, -float("inf"))
        top = tl.maximum(best, tl.max(score, axis=1))
        share = tl.exp(score - top[:, None])
        old = tl.exp(best - top)
        weight = weight * old + tl.sum(share, axis=1)
        value = tl.load(v + near)  # <- out_of_bounds: no mask
        total = total * old[:, None] + tl.dot(share.to(value.dtype), value)
        best = top
    where = out + rows[:, None] * D + depth[None, :]
    tl.store(where, total / weight[:, None], mask=rows[:, None] < length)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 128}, num_warps=1), triton.Config({"BLOCK": 256})], key=["n"]
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def scale(x, factor, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x + i, tl.load(x + i) * factor)
    else:
        tl.store(x + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@triton.jit
def options(x, bias, factor, flag, n, BLOCK: tl.constexpr = 128):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n) * factor
    if bias is not None:
        value += tl.load(bias + i, mask=i < n)
    tl.store(x + i, tl.where(flag, -value, value), mask=i < n)


@triton.jit
def count_up(x, n):
    tl.store(x + tl.program_id(0) * n, tl.program_id(0) + n)


@triton.jit
def fill(x, half, brain):
    tl.store(x, half.to(tl.float32))
    tl.store(x + 1, brain.to(tl.float32))
