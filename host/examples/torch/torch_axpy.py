"""Launches a Rust kernel on PyTorch's tensors, in PyTorch's current stream.

python3 torch_axpy.py LIBRARY FOLDER
LIBRARY is libtorch_example.so; FOLDER has the PTX of `example-kernels`, in a folder for each target.
"""

import ctypes
import sys

import torch
from torch.utils.dlpack import to_dlpack

library = ctypes.CDLL(sys.argv[1])
folder = sys.argv[2].encode()
library.enqueue_axpy.argtypes = [
    ctypes.c_char_p, ctypes.c_void_p, ctypes.c_float,
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t,
]  # fmt: skip
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype = ctypes.c_void_p
get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def axpy(a, x, y):
    """y += a x, enqueued in the current stream. x and y are contiguous f32 tensors of one GPU."""
    if x.device != y.device:
        raise ValueError(f"x is on {x.device}, y on {y.device}: move x with `x.to(y.device)`")
    message = ctypes.create_string_buffer(1000)
    capsules = [to_dlpack(x), to_dlpack(y)]  # They keep the memory during the call.
    pointers = [get_pointer(capsule, b"dltensor") for capsule in capsules]
    with torch.cuda.device(y.device):
        stream = torch.cuda.current_stream().cuda_stream
        if library.enqueue_axpy(folder, stream, a, *pointers, message, len(message)) != 0:
            raise RuntimeError(message.value.decode(errors="replace"))


def error_of(*arguments):
    try:
        axpy(*arguments)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("a bad tensor was accepted")


print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
for stream in [torch.cuda.default_stream(), torch.cuda.Stream()]:
    with torch.cuda.stream(stream):
        x = torch.randn(1000, 100, device="cuda")
        y = torch.randn(1000, 100, device="cuda")
        expected = torch.addcmul(y, x, torch.tensor(4.0, device="cuda"))
        y *= 2  # PyTorch's kernel, ours, and PyTorch's again.
        axpy(8.0, x, y)
        y /= 2
        # The slice starts in the middle of an allocation.
        axpy(1.0, x[1:2], y[1:2])
        expected[1] += x[1]
        torch.testing.assert_close(y, expected)
        print(f"stream {stream.cuda_stream:#x}: all {y.numel()} elements are right")

message = error_of(1.0, x.t(), y.t())
assert "pass `x.contiguous()`" in message, message
message = error_of(1.0, x.half(), y)
assert "convert it" in message, message
print("bad tensors are refused:", message)
