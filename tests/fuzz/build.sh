#!/usr/bin/env bash
# Builds the fuzz target of the PTX front end and the simulator with clang's libFuzzer: tests/fuzz/build.sh PROGRAM
set -euo pipefail
program=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

flags=(-g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
    -ffp-contract=off -fno-math-errno -DSMK_FUZZ_EXECUTE -w)
for source in csrc/base/*.c csrc/ptx/*.c csrc/sim/*.c tests/fuzz/fuzz_ptx.c; do
    vector=() # the files choose their instruction set by pragmas of gcc, which clang does not read
    if [[ $(uname -m) == x86_64 ]]; then
        case $source in
        *_avx512.c) vector=(-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mbmi -mbmi2) ;;
        *_avx2.c) vector=(-mavx2 -mfma -mbmi -mbmi2) ;;
        esac
    fi
    clang "${flags[@]}" "${vector[@]}" -c "$source" -o "$objects/${source//\//_}.o"
done
mkdir -p "$(dirname "$program")"
clang -fsanitize=fuzzer,address,undefined "$objects"/*.o -o "$program" -lpthread -lm
