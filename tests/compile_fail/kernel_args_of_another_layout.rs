//! Structs whose layout may differ between host and device, or with bytes that are no values.

use ptx_matrix::prelude::*;

#[derive(Clone, Copy, KernelArgs)]
struct Any {
    //~^ ERROR host and device give this struct the same layout only if it is `#[repr(C)]`
    _rows: u32,
}

#[derive(Clone, Copy, KernelArgs)]
#[repr(C, packed)]
//~^ ERROR the fields of kernel arguments are aligned: remove `packed`
struct Packed {
    _rows: u32,
}

#[derive(Clone, Copy, KernelArgs)]
enum Order {
    //~^ ERROR kernel arguments are a struct: an enum does not have a value for every number, so
    //~> pass a number or a `bool`
    _Rows,
}

#[derive(Clone, Copy, KernelArgs)]
union Bits {
    //~^ ERROR kernel arguments are a struct: nothing can check the contents of a union
    _number: u32,
}

#[derive(Clone, Copy, KernelArgs)]
struct Empty;
//~^ ERROR a struct of kernel arguments needs a field: PTX has no parameter without bytes

#[derive(Clone, Copy, KernelArgs)]
struct Two<'a, 'b> {
    //~^ ERROR a struct of kernel arguments has at most one lifetime, during which the kernel runs
    _a: Global<'a, f32>,
    _b: Global<'b, f32>,
}

fn main() {}
