"""Measures PyTorch's GEMM functions for 8-bit elements, `_scaled_mm` and `_int_mm`: TFLOP/s.

The results are medians of runs of 300 ms. Usage:

    python3 benches/pytorch.py [SIZE ..]    # M = N = K; 4096 and 8192 without sizes

Run it alternately with the same sizes of

    cargo xtask bench --type e4m3 --type e4m3-fast --type s8 --layout nt --config "gemm auto" --batch 300"""

import sys

import torch


def milliseconds(multiply, rounds=3, run=300):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def batch(count):
        start.record()
        for _ in range(count):
            multiply()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / count

    batch(5)
    count = max(1, int(run / batch(5)))
    return sorted(batch(count) for _ in range(rounds))[rounds // 2]


for n in [int(size) for size in sys.argv[1:]] or [4096, 8192]:
    # A row-major, B column-major.
    floats = [torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2)]
    bytes_ = [(torch.randn(n, n, device="cuda") * 32).round().clamp(-128, 127).to(torch.int8) for _ in range(2)]
    one = torch.ones((), device="cuda")
    b = floats[1].t()
    scaled = lambda fast: torch._scaled_mm(
        floats[0], b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast
    )
    contestants = {
        "_scaled_mm": lambda: scaled(False),
        "_scaled_mm, fast": lambda: scaled(True),
        "_int_mm": lambda: torch._int_mm(bytes_[0], bytes_[1].t()),
    }
    for name, multiply in contestants.items():
        print(f"{name} {n}: {2 * n**3 / milliseconds(multiply) / 1e9:.0f} TFLOP/s")
