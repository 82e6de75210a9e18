//! Tests of the API on the simulator.

mod copy;
mod fill;
mod fragments;
mod held;
mod kernels;
mod lane_values;
mod layers;
mod parameters;
mod root_names;
mod runs;
mod shared_layout;
mod soundness_page;
mod with_lane;
