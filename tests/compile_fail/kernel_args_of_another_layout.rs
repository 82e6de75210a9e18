//! Structs whose layout may differ between host and device, or with bytes that are no values.

use ptx_matrix::prelude::*;

#[derive(Clone, Copy, KernelArgs)]
struct Any {
    //~^ ERROR host and device lay a kernel's arguments out alike only if the struct is `#[repr(C)]`
    _rows: u32,
}

#[derive(Clone, Copy, KernelArgs)]
#[repr(C, packed)]
//~^ ERROR the fields of kernel arguments must be aligned: remove `packed`
struct Packed {
    _rows: u32,
}

#[derive(Clone, Copy, KernelArgs)]
enum Order {
    //~^ ERROR kernel arguments cannot be an enum, because not every number is a value: pass a
    //~> number or a `bool`
    _Rows,
}

#[derive(Clone, Copy, KernelArgs)]
union Bits {
    //~^ ERROR kernel arguments cannot be a union: use a struct
    _number: u32,
}

#[derive(Clone, Copy, KernelArgs)]
struct Empty;
//~^ ERROR a struct of kernel arguments needs at least one field

#[derive(Clone, Copy, KernelArgs)]
struct Two<'a, 'b> {
    //~^ ERROR a struct of kernel arguments may have only one lifetime
    _a: Global<'a, f32>,
    _b: Global<'b, f32>,
}

fn main() {}
