"""What the kernels about calls, branches, barriers and waiting must compute."""

import collections
import math

import numpy as np
from programs.program_cases import case, poisoned, truncated, wrap


@case
def flood(run, rng, machine):
    maze = (rng.random((3, 32, 32)) < 0.35).astype(np.uint8)
    maze[:, 5, 7] = 0
    maze[2, 5, 7] = 1  # a start inside a wall reaches nothing
    expected = np.full(maze.shape, -1, np.int32)
    for b in range(2):
        expected[b, 5, 7] = 0
        queue = collections.deque([(5, 7)])
        while queue:
            r, c = queue.popleft()
            for s, t in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
                if 0 <= s < 32 and 0 <= t < 32 and not maze[b, s, t] and expected[b, s, t] < 0:
                    expected[b, s, t] = expected[b, r, c] + 1
                    queue.append((s, t))
    out = poisoned(maze.shape, np.int32)
    run("flood", 3, 128, maze, 5 * 32 + 7, out)
    assert (out == expected).all()


@case
def device_functions(run, rng, machine):
    count = 70
    a = rng.integers(-90, 90, count, dtype=np.int32)
    b = rng.integers(1, 90, count, dtype=np.int32) * rng.choice([-1, 1], count).astype(np.int32)
    out = poisoned((count, 8), np.int64)
    run("device_functions", 3, 32, a, b, out, count)
    for i in range(count):
        x, y = int(a[i]), int(b[i])
        product = wrap(x, 8) * (y & 0xFFFF)
        expected = [
            *truncated(x, y),
            min(x, y),
            max(x, y),
            x + y,
            sum(wrap(x + k * y, 8) for k in range(5)),
            wrap(-product if i & 1 else product, 8),
            wrap((i << 33) * 3 + 2 * i + 4 * i, 64),
        ]
        assert out[i].tolist() == expected


@case
def recursion(run, rng, machine):
    n = 64
    factorials = poisoned(n, np.uint64)
    others = [poisoned(n, np.int32) for _ in range(3)]
    run("recursion", 1, n, factorials, *others)
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21]
    ackermann = {0: lambda y: y + 1, 1: lambda y: y + 2, 2: lambda y: 2 * y + 3}
    for i in range(n):
        assert factorials[i] == math.factorial(i % 13)
        assert others[0][i] == fibonacci[i % 9]
        assert others[1][i] == ackermann[i % 3](i % 4)
        assert others[2][i] == int(i % 11 % 2 == 0)


def interpret(code, at, value):
    """What switch_table's machine leaves in its accumulator."""
    stack, top, value = [0] * 16, 0, value & 0xFFFFFFFF
    for _ in range(200):
        operation = code[at]
        at += 1
        if operation == 0:
            return wrap(value)
        if operation in (1, 2, 3, 6):
            operand = int(code[at])
            at += 1
            value = {
                1: value + operand,
                2: value - operand,
                3: value * operand,
                6: value << (operand & 7),
            }[operation]
        elif operation == 4:
            stack[top & 15] = value
            top += 1
        elif operation == 5:
            top -= 1
            value ^= stack[top & 15]
        elif operation == 7:
            value >>= 3
        elif operation == 8:
            value = ~value
        elif operation == 9:
            at += int(code[at]) + 1 if value & 1 else 1
        elif operation == 10:
            value = abs(wrap(value))
        elif operation == 11:
            value += stack[(top - 1) & 15]
        elif operation == 12:
            value = truncated(wrap(value), 1000003)[1]
        else:
            value = -1
        value &= 0xFFFFFFFF
    return -2


@case
def switch_table(run, rng, machine):
    programs, length = 12, 60
    code = np.zeros((programs, length + 40), np.uint8)
    code[:, :length] = rng.integers(1, 15, (programs, length))
    code = code.reshape(-1)
    count = 100
    start = (rng.integers(0, programs, count) * (length + 40)).astype(np.int32)
    values = rng.integers(-(2**31), 2**31, count).astype(np.int32)
    out = poisoned(count, np.int32)
    run("switch_table", 4, 32, code, start, values, out, count)
    for i in range(count):
        assert out[i] == interpret(code, int(start[i]), int(values[i]))


@case
def function_table(run, rng, machine):
    def larger(a, b):
        while a > 100:
            a -= 7
        return max(a, b)

    table = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, larger]
    count = 80
    a, b = rng.integers(-300, 300, (2, count), dtype=np.int32)
    which = rng.integers(0, 4, count, dtype=np.int32)
    out = poisoned(count, np.int32)
    run("function_table", 3, 32, a, b, which, out, count)
    for i in range(count):
        x, y, w = int(a[i]), int(b[i]), int(which[i])
        next_one = table[(w + 1) & 3]
        assert out[i] == table[w](x, y) * 31 + next_one(next_one(x, y), 2) + 3 * i


@case
def virtual_shapes(run, rng, machine):
    out = poisoned(96, np.float64)
    run("virtual_shapes", 3, 32, out)
    for i in range(96):
        areas = [(i * i, 4), (3.0 * ((i + 2.0) ** 2 - i * i), 0), (0.5 * i * 3.0, 3)]
        area, corners = areas[i % 3]
        assert out[i] == area + 1000.0 * corners


@case
def early_exit(run, rng, machine):
    values = rng.integers(-1000, 1000, 256, dtype=np.int32)
    for stay in (33, 200, 256):
        out = poisoned(256, np.int32)
        run("early_exit", 1, 256, values, out, stay)
        value, shared = values[:stay].copy(), np.zeros(stay, np.int32)
        alive = np.ones(stay, bool)
        for turn in range(4):
            shared[alive] = value[alive]
            value[alive] += np.roll(shared, -1)[alive]
            if turn == 2:
                alive = np.arange(stay) % 64 != 63
        assert (out[:stay] == value).all()
        assert (out[stay:] == -1).all()


@case
def last_block(run, rng, machine):
    for count in (1, 1000, 3000):
        values = rng.integers(-(10**6), 10**6, count).astype(np.float64)
        parts, total = poisoned(5, np.float64), poisoned(1, np.float64)
        for _ in range(2):  # the count of finished blocks must have wrapped to zero
            total[0] = np.nan
            run("last_block", 5, 128, values, count, parts, total)
            assert total[0] == values.sum()


@case
def lookback(run, rng, machine):
    for blocks in (1, 9):
        count = 64 * blocks - 3
        values = rng.integers(-(10**6), 10**6, count, dtype=np.int32)
        out = poisoned(count, np.int32)
        run("lookback", blocks, 64, values, out, count, np.zeros(blocks, np.uint64))
        assert (out == np.cumsum(values)).all()


@case
def warp_flags(run, rng, machine):
    rounds = 9
    values = rng.integers(-1000, 1000, (rounds, 32), dtype=np.int32)
    out = poisoned(values.shape, np.int32)
    run("warp_flags", 1, 64, values, out, rounds)
    assert (out == values[:, ::-1] * 2 + np.arange(rounds)[:, None]).all()


@case
def spin_lock(run, rng, machine):
    blocks, rounds = 6, 5
    total, log = np.zeros(1, np.int32), poisoned(blocks * rounds, np.int32)
    run("spin_lock", blocks, 32, total, log, rounds)
    assert total[0] == blocks * rounds
    assert np.bincount(log, minlength=blocks).tolist() == [rounds] * blocks


@case
def queens(run, rng, machine):
    for n, expected in ((4, 2), (5, 10), (6, 4), (7, 40)):
        solutions = np.zeros(1, np.int32)
        run("queens", 1, 64, n, solutions)
        assert solutions[0] == expected


@case
def components(run, rng, machine):
    nodes, edges = 300, 220
    start, end = rng.integers(0, nodes, (2, edges), dtype=np.int32)
    label = poisoned(nodes, np.int32)
    run("components", 1, 256, start, end, edges, label, nodes)
    expected = np.arange(nodes)
    while True:
        before = expected.copy()
        np.minimum.at(expected, start, before[end])
        np.minimum.at(expected, end, before[start])
        if (before == expected).all():
            break
    assert (label == expected).all()


@case
def named_barriers(run, rng, machine):
    for rounds in (1, 6):
        values = rng.integers(-1000, 1000, (rounds, 64), dtype=np.int32)
        out, votes = poisoned(values.shape, np.int32), poisoned(128, np.int32)
        run("named_barriers", 1, 128, values, out, rounds, votes)
        assert (out == values[:, ::-1] * 3 + np.arange(rounds)[:, None]).all()
        assert (votes == 43 * 8 + 5).all()


def walk(value):
    """state_machine in words that Python has: the next label is a string."""
    half = lambda v: truncated(v, 2)[0]  # noqa: E731
    steps, path, label = 0, 0, "top"
    if value % 3 == 0:
        label = "halve"
    elif value % 5 == 0 and (value & 4 or value > 500):
        label = "grow"
    while True:
        if label == "top":
            steps += 1
            label = "finish" if steps > 60 or value == 1 else "grow" if value % 2 else "halve"
        elif label == "halve":
            value, path = half(value), path * 3 + 1
            if value % 7 == 3:
                label = "finish"
                continue
            label = "top"
            kind = value % 4
            if kind == 0:
                path = (path ^ 5) + 2
            elif kind == 1:
                path += 2
            elif kind == 3 and steps < 10:
                steps += 1
                label = "halve"
        elif label == "grow":
            value, path = value * 3 + 1, path * 3 + 2
            if value > 100000:
                return -value, wrap(path)
            label = "halve" if value % 8 == 0 else "top"
        else:
            return value * 100 + steps, wrap(path)
        path &= 0xFFFFFFFF


@case
def state_machine(run, rng, machine):
    count = 120
    values = rng.integers(0, 3000, count, dtype=np.int32)
    out, trail = poisoned(count, np.int32), poisoned(count, np.int32)
    run("state_machine", 4, 32, values, out, trail, count)
    for i in range(count):
        assert (out[i], trail[i]) == walk(int(values[i])), values[i]
