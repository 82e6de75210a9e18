//! Every GEMM kernel on the simulator in strict mode. Sums of small integers are exact, and are
//! compared with the same sums in integers.

mod case;
mod epilogue;
mod groups;
mod hopper;
mod layouts;
mod parts;
mod tma;
