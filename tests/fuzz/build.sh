#!/usr/bin/env bash
# Builds the fuzz target of the PTX front end and the simulator with clang's libFuzzer: tests/fuzz/build.sh PROGRAM
set -euo pipefail
program=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

compile() {
    local flags=(-g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
        -ffp-contract=off -fno-math-errno -iquote csrc -DSMK_FUZZ_EXECUTE -w
        -Werror=incompatible-pointer-types -Werror=int-conversion -Werror=implicit-function-declaration)
    read -ra own < <(sed -n "s/^${2##*/} //p" "$1/flags") || true
    flags+=("${own[@]}")
    clang "${flags[@]}" -c "$2" -o "$1/${2//\//_}.o"
}
export -f compile
PYTHONPATH=csrc/kernels python3 csrc/compile_c.py > "$objects/flags" # of files for one instruction set
find csrc/base csrc/ptx csrc/sim tests/fuzz/fuzz_ptx.c -name '*.c' -print0 |
    xargs -0 -P "$(nproc)" -I {} bash -c 'compile "$1" "$2"' compile "$objects" {}
mkdir -p "$(dirname "$program")"
clang -fsanitize=fuzzer,address,undefined "$objects"/*.o -o "$program" -lpthread -lm
