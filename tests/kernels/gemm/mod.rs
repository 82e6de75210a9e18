//! The matrix products on the simulator, in strict mode, against sums of small integers, which are
//! exact: every kernel of the list.

mod case;
mod epilogue;
mod groups;
mod hopper;
mod layouts;
mod parts;
mod tma;
