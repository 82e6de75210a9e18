//! Structs whose layout may differ between host and device, or with bytes that are no values.

use ptx_matrix::prelude::*;

#[derive(Clone, Copy, KernelArgs)]
struct Any {
    //~^ ERROR host and device lay a kernel's arguments out alike only if the struct is `#[repr(C)]`
    _rows: u32,
}

#[derive(Clone, Copy, KernelArgs)]
#[repr(C, packed)]
//~^ ERROR the fields of a kernel's arguments are aligned: leave `packed` away
struct Packed {
    _rows: u32,
}

#[derive(Clone, Copy, KernelArgs)]
enum Order {
    //~^ ERROR a kernel's arguments are a struct: of an enum, not every number is a value, so hand
    //~> over a number or a `bool`
    _Rows,
}

#[derive(Clone, Copy, KernelArgs)]
union Bits {
    //~^ ERROR a kernel's arguments are a struct: what a union holds, nobody can check
    _number: u32,
}

#[derive(Clone, Copy, KernelArgs)]
struct Empty;
//~^ ERROR a kernel's arguments without fields: PTX has no such parameter

#[derive(Clone, Copy, KernelArgs)]
struct Two<'a, 'b> {
    //~^ ERROR a kernel's arguments have one lifetime, during which the kernel runs
    _a: Global<'a, f32>,
    _b: Global<'b, f32>,
}

fn main() {}
