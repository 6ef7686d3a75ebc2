"""Reads of registers by the bank they lie in, and operands that stay in their cache."""

from smemkit.predict.opcode_classes import matrix_clocks, pipe_clocks
from smemkit.predict.register_reads import OperandCache


def test_banks_are_those_of_even_and_odd_numbers():
    cache = OperandCache()
    assert cache.read("FFMA", "fma", "R0, R2, R4, R0") == (3, 0)
    assert cache.read("FFMA", "fma", "R1, R2, R3, R1") == (1, 2)
    assert cache.read("IMAD", "imad", "R1, R2, c[0x0][0x4], RZ") == (1, 0)
    assert cache.read("ISETP.GE.AND", "alu", "P0, PT, R3, UR4, PT") == (0, 1)
    assert cache.read("LDS", "load.shared", "R3, [R5]") == (0, 0)


def test_an_operand_that_is_reused_is_not_read_again():
    cache = OperandCache()
    assert cache.read("FFMA", "fma", "R44, R67, R75.reuse, R44") == (1, 2)
    assert cache.read("FFMA", "fma", "R43, R70, R75.reuse, R43") == (1, 1)
    assert cache.read("FFMA", "fma", "R42, R75, R69, R42") == (1, 2)  # at another place


def test_both_banks_hold_halves_of_64_bits():
    cache = OperandCache()
    assert cache.read("DFMA", "double", "R94, R168, R178.reuse, R94") == (3, 3)
    assert cache.read("DFMA", "double", "R90, R170, R178, R90") == (2, 2)
    assert cache.read("IMAD.WIDE.U32", "imad", "R2, R5, R4, R6") == (2, 2)


def test_rates_of_halves_and_of_matrices():
    assert pipe_clocks("90")["half"] == pipe_clocks("90")["half_mma"] == 2.0
    assert matrix_clocks("HMMA.16816.F32.BF16", "80") == 8.0
    assert matrix_clocks("IMMA.16832.S8.S8", "80") == 8.0
    assert matrix_clocks("MOVM.16.MT88", "80") == 1.0
