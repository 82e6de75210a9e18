//! The table of cases.

use ptx_matrix::launch::Device;
use ptx_matrix::sim::Misuse;
use ptx_matrix_fuzz_kernels::misuses::{convergence, copies, lanes, memory, warps};

/// A finding of the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// A race.
    Race,
    /// An access while a copy to the same place is in flight.
    InFlight,
    /// A read of unwritten shared memory.
    UnwrittenShared,
    /// A read of unwritten global memory.
    UnwrittenGlobal,
    /// A row or an element outside of shared memory or of a slice.
    OutOfBounds,
    /// A row address that is not a multiple of 16.
    Misaligned,
    /// Warps that do not reach a `sync`.
    Deadlock,
    /// Lanes that do not reach a collective, or reach another one.
    Divergence,
}

impl From<&Misuse> for Found {
    fn from(misuse: &Misuse) -> Self {
        match misuse {
            Misuse::Race { .. } => Found::Race,
            Misuse::CopyInFlight { .. } => Found::InFlight,
            Misuse::SharedUnwritten { .. } => Found::UnwrittenShared,
            Misuse::GlobalUnwritten { .. } => Found::UnwrittenGlobal,
            Misuse::SharedOutOfBounds { .. } | Misuse::GlobalOutOfBounds { .. } => {
                Found::OutOfBounds
            }
            Misuse::RowMisaligned { .. } => Found::Misaligned,
            Misuse::Deadlock { .. } => Found::Deadlock,
            Misuse::Divergence { .. } => Found::Divergence,
            other => panic!("no case is about this: {other}"),
        }
    }
}

/// A kernel with a misuse that a parameter corrects.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The kernel's name.
    pub name: &'static str,
    pub blocks: u32,
    /// The finding of the simulator. The corrected kernel has none.
    pub found: Found,
    /// Whether a GPU may fault or hang. Such a case runs in its own process.
    pub alone: bool,
    /// The reason if compute-sanitizer's messages differ from the simulator's findings.
    pub differs: Option<&'static str>,
}

/// The reasons for differences between compute-sanitizer and the simulator.
mod why {
    pub const GLOBAL: &str = "racecheck looks at shared memory only";
    pub const STMATRIX: &str = "racecheck does not see what `stmatrix` writes";
    pub const UNWRITTEN: &str = "initcheck looks at global memory only";
    pub const ENDED: &str =
        "a warp, or a lane, that has ended counts as one that waits, on this GPU";
    pub const PRODUCT: &str = "no tool looks at which lanes come to an `mma`";
}

macro_rules! cases {
    ($($module:ident::$kernel:ident x $blocks:literal, $found:ident $alone:ident
        $differs:expr;)*) => {
        /// All cases.
        pub const CASES: &[Case] = &[$(Case {
            name: stringify!($kernel),
            blocks: $blocks,
            found: Found::$found,
            alone: $alone,
            differs: $differs,
        },)*];

        /// Launches the kernel of a case.
        pub(super) fn launch<D: Device>(
            case: &Case,
            device: &D,
            a: &D::Buffer<u32>,
            d: &mut D::Buffer<u32>,
            nothing: &D::Buffer<u32>,
            mended: bool,
        ) -> Result<D::Report, D::Error> {
            match case.name {
                $(stringify!($kernel) => {
                    $module::$kernel::launch(device, case.blocks, a, d, nothing, mended.into())
                })*
                other => unreachable!("{other} is a kernel of the table"),
            }
        }
    };
}

cases! {
    lanes::lanes_read_after_write x 1, Race false None;
    lanes::lanes_write_after_read x 1, Race false None;
    lanes::lanes_write_one_element x 1, Race false None;
    lanes::lanes_write_the_same x 1, Nothing false None;
    lanes::uniform_then_lane x 1, Race false None;
    lanes::fill_then_ldmatrix x 1, Race false None;
    lanes::ldmatrix_then_fill x 1, Race false None;
    lanes::stmatrix_then_ldmatrix x 1, Race false Some(why::STMATRIX);
    lanes::stmatrix_then_read x 1, Race false Some(why::STMATRIX);
    lanes::fill_then_stmatrix x 1, Race false Some(why::STMATRIX);
    lanes::product_then_ldmatrix x 1, Race false None;
    lanes::lanes_read_after_write_global x 1, Race false Some(why::GLOBAL);
    warps::warps_read_after_write x 1, Race false None;
    warps::warp_sync_between_warps x 1, Race false None;
    warps::warps_write_after_read x 1, Race false None;
    warps::warps_write_after_write x 1, Race false None;
    warps::second_barrier x 1, Race false None;
    warps::sum_by_halves x 1, Race false None;
    warps::ldmatrix_of_another_warp x 1, Race false None;
    warps::read_of_anothers_stmatrix x 1, Race false Some(why::STMATRIX);
    warps::stmatrix_over_anothers_ldmatrix x 1, Race false Some(why::STMATRIX);
    warps::stmatrix_over_anothers_stmatrix x 1, Race false Some(why::STMATRIX);
    warps::warps_read_after_write_global x 1, Race false Some(why::GLOBAL);
    copies::read_before_wait x 1, InFlight false None;
    copies::wait_without_commit x 1, InFlight false None;
    copies::wait_for_too_few x 1, InFlight false None;
    copies::wait_without_warp_sync x 1, Race false None;
    copies::wait_without_block_sync x 1, Race false None;
    copies::ldmatrix_before_wait x 1, InFlight false None;
    copies::write_in_flight x 1, InFlight false None;
    copies::copy_in_flight x 1, InFlight false None;
    copies::copy_over_anothers_read x 1, Race false None;
    copies::pipeline x 1, Race false None;
    memory::blocks_write_one_element x 4, Race false Some(why::GLOBAL);
    memory::blocks_read_anothers x 4, Race false Some(why::GLOBAL);
    memory::unwritten_shared x 1, UnwrittenShared false Some(why::UNWRITTEN);
    memory::unwritten_ldmatrix x 1, UnwrittenShared false Some(why::UNWRITTEN);
    memory::unwritten_global x 1, UnwrittenGlobal false None;
    memory::unwritten_copy x 1, UnwrittenGlobal false None;
    memory::ldmatrix_out_of_bounds x 1, OutOfBounds true None;
    memory::stmatrix_out_of_bounds x 1, OutOfBounds true None;
    memory::ldmatrix_misaligned x 1, Misaligned true None;
    memory::element_out_of_bounds x 1, OutOfBounds true None;
    memory::global_out_of_bounds x 1, OutOfBounds true None;
    memory::sync_not_reached x 1, Deadlock true Some(why::ENDED);
    memory::sync_too_often x 1, Deadlock true Some(why::ENDED);
    convergence::block_barrier_for_half_a_warp x 1, Divergence true None;
    convergence::block_barrier_at_two_places x 1, Divergence true None;
    convergence::warp_barrier_for_half_a_warp x 1, Divergence true Some(why::ENDED);
    convergence::product_by_half_a_warp x 1, Divergence true Some(why::PRODUCT);
}
