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
    if [[ $(uname -m) == x86_64 ]]; then # the files choose their instruction set by pragmas of gcc, which clang does not read
        case $2 in
        *_avx512.c) flags+=(-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mbmi -mbmi2) ;;
        *_avx2.c) flags+=(-mavx2 -mfma -mbmi -mbmi2) ;;
        esac
    fi
    clang "${flags[@]}" -c "$2" -o "$1/${2//\//_}.o"
}
export -f compile
find csrc/base csrc/ptx csrc/sim tests/fuzz/fuzz_ptx.c -name '*.c' -print0 |
    xargs -0 -P "$(nproc)" -I {} bash -c 'compile "$1" "$2"' compile "$objects" {}
mkdir -p "$(dirname "$program")"
clang -fsanitize=fuzzer,address,undefined "$objects"/*.o -o "$program" -lpthread -lm
