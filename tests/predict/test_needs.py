"""What instructions of PTX need of a card, beside what ptxas says of each form."""

import re
import subprocess

import pytest
from support.form_texts import BODY, choose_each, read_forms, write_instructions

import smemkit
from smemkit.compile import find_ptxas
from smemkit.predict import machine_code
from smemkit.predict.fit import read_capability
from smemkit.predict.needs import find_need

COPY = """.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 from) {
    .reg .b64 %rd<2>; .reg .b32 %r<2>;
    .shared .align 16 .b8 s[64];
    ld.param.u64 %rd1, [from];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, s;
    INSTRUCTION
    ret;
}
"""
REFUSED = re.compile(r"line (\d+); error\s*: .*(?:requires \.target sm_|not supported on \.target)")


def list_instructions():
    forms = [form for form in read_forms() if form[3] != "!"]
    return [line for form in forms for line in write_instructions(form, choose_each)]


@pytest.mark.parametrize("capability", ["7.5", "8.0", "8.6", "8.9"])
def test_ptxas_refuses_what_is_said_to_need_more(capability, tmp_path):
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas; the extra [test] brings it")
    lines = list_instructions()
    target = "sm_" + capability.replace(".", "")
    body = re.sub(r"\.target \w+", f".target {target}", BODY)
    text = tmp_path / "forms.ptx"
    text.write_text(body + "\n".join(lines) + "\nret; }\n.visible .entry k() { call f_; ret; }\n")
    done = subprocess.run(
        [str(ptxas), f"-arch={target}", str(text), "-o", str(tmp_path / "forms.cubin")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    first = body.count("\n") + 1
    refused = {lines[int(line) - first] for line in REFUSED.findall(done.stdout + done.stderr)}
    assert len(refused) > 1000
    has = read_capability(capability)
    ours = set()
    for line in lines:
        needed, _ = find_need([{"ptx": line}])
        if needed and read_capability(needed) > has:
            ours.add(line)
    assert ours == refused


def predict_copy(instruction, card, monkeypatch):
    def find_nothing():
        return None

    monkeypatch.setattr(machine_code, "find_ptxas", find_nothing)
    copy = smemkit.RawModule(code=COPY.replace("INSTRUCTION", instruction)).get_function("copy")
    x = smemkit.empty(64, dtype="float32", backend="sim")
    return copy.predict((1,), (1,), (x,), device=card)


def test_an_older_card_is_refused_without_ptxas(monkeypatch):
    words = "copy cannot run on T4, which has compute capability 7.5: it needs .*8.0, for cp.async"
    with pytest.raises(smemkit.BackendError, match=words):
        predict_copy("cp.async.ca.shared.global [%r1], [%rd1], 4;", "t4", monkeypatch)


@pytest.mark.parametrize(
    ("instruction", "card"),
    [
        ("cp.async.ca.shared.global [%r1], [%rd1], 4;", "a100"),
        ("ld.global.u32 %r1, [%rd1];", "t4"),
    ],
)
def test_a_card_that_has_the_instruction_is_predicted(instruction, card, monkeypatch):
    found = predict_copy(instruction, card, monkeypatch)
    assert found.time_ms > 0
    assert any("PTX stands for it" in note for note in found.notes)
