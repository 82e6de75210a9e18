use ptx_matrix::raw::{
    mma_sp_ordered_metadata_sync_aligned_m16n8k64_row_col_s32_s8_s8_s32 as multiply,
};
//~? ERROR evaluation panicked: the selector of this form is below 1

fn main() {
    unsafe { multiply::<1>([0; 4], [0; 4], [0; 4], 0) };
}
