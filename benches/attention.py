"""Measures PyTorch's attention in bf16, with each of its backends: microseconds and TFLOP/s.

The results are medians of five runs of 100 ms. Usage:

    python3 benches/attention.py QUERIES HEADS FEATURES [causal]

Run it alternately with the example `time_attention` of `ptx-matrix-bench`."""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

queries, heads, features = (int(number) for number in sys.argv[1:4])
causal = "causal" in sys.argv
q, k, v = (torch.randn(1, heads, queries, features, device="cuda", dtype=torch.bfloat16) for _ in range(3))


def microseconds(attend, rounds=5, run=100_000):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def batch(count):
        start.record()
        for _ in range(count):
            attend()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) * 1e3 / count

    batch(3)
    count = max(1, int(run / batch(3)))
    return sorted(batch(count) for _ in range(rounds))[rounds // 2]


operations = 4 * heads * features * (queries * (queries + 1) // 2 if causal else queries**2)
for way in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
    with sdpa_kernel(way):
        attend = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        time = microseconds(attend)
    print(f"{way.name} {queries} {heads} {features} {causal}: {time:.1f} us, {operations / time / 1e6:.0f} TFLOP/s")
