//! A policy applies to a fraction of the bytes of a copy, at most 100 percent.
use ptx_matrix::copy::{CachePolicy, Priority, RestPriority};

fn main() {
    CachePolicy::of_part::<101>(Priority::EvictLast, RestPriority::EvictFirst);
}
//~? ERROR evaluation panicked: a policy is for 1 to 100 percent of what a copy touches
