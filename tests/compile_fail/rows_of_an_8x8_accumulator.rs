use ptx_matrix::fragment::M8N8K4;
use ptx_matrix::mma::RowParts;
use ptx_matrix::prelude::*;

#[kernel(threads = 32, target = "sm_80")]
fn fold(block: &Block) {
    let acc = Accumulator::<M8N8K4, f64>::zero();
    acc.fold_rows(block.warp(), &RowParts::splat(0.0), |acc, element| acc + element);
}

fn main() {
    fold::simulate(1).unwrap();
}
//~? ERROR only of accumulators of 16 x 8 are rows folded
