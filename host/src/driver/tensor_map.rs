//! `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col`, which `cust` does not declare.

use std::ffi::c_void;
use std::mem::transmute;
use std::sync::OnceLock;

use ptx_matrix::isa::{TensorAccess, TensorEncoding, TensorMapWords};

use super::DriverError;
use super::library::find;
use super::status::pass_on;

/// `CU_TENSOR_MAP_INTERLEAVE_NONE`.
const NOT_INTERLEAVED: u32 = 0;
/// `CU_TENSOR_MAP_L2_PROMOTION_L2_128B`: L2 fetches 128 bytes at once. On an H200, in GEMMs of
/// 4104^3, 256 bytes are no faster where rows start at multiples of 128 bytes. Where they do not,
/// 256 bytes take a fifth longer.
const PROMOTE_128_BYTES: u32 = 2;
/// `CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE`: out-of-bounds elements are zeros.
const ZEROS_BEYOND: u32 = 0;

/// Calls an encoding function of the driver. `$name` is the function. Each `$access` is an
/// argument, with its type, that describes the box or pixels of one copy. The other arguments are
/// the same for all functions. Before `$access`: the map, its type, rank and address, the sizes,
/// and all strides but the first. After it: steps, interleave, swizzle, L2 promotion, out-of-bounds
/// fill.
macro_rules! encode {
    ($name:literal $encoding:ident $words:ident: $($access:expr => $type:ty),*) => {{
        type Encode = unsafe extern "C" fn(
            *mut TensorMapWords, u32, u32, *mut c_void, *const u64, *const u64,
            $($type,)* *const u32, u32, u32, u32, u32,
        ) -> u32;
        static FUNCTION: OnceLock<Result<Encode, u32>> = OnceLock::new();
        let function = FUNCTION.get_or_init(|| {
            // SAFETY: the driver's function of this name has this type. It stays in place, because
            // the library is never closed.
            find($name).map(|address| unsafe { transmute::<*const c_void, Encode>(address) })
        });
        match function {
            // SAFETY: the map is aligned to 64 bytes. Each array has as many elements as the rank;
            // the strides have one fewer, and the corners of im2col mode two fewer.
            Ok(function) => unsafe {
                function(
                    &raw mut $words,
                    $encoding.data_type,
                    $encoding.rank as u32,
                    std::ptr::without_provenance_mut($encoding.address as usize),
                    $encoding.sizes.as_ptr(),
                    $encoding.strides[1..].as_ptr(),
                    $($access,)*
                    $encoding.steps.as_ptr(),
                    NOT_INTERLEAVED,
                    $encoding.swizzle,
                    PROMOTE_128_BYTES,
                    ZEROS_BEYOND,
                )
            },
            Err(status) => *status,
        }
    }};
}

/// Encodes a tensor map with the driver, which checks the parameters but not the memory.
pub(crate) fn encode(encoding: &TensorEncoding) -> Result<TensorMapWords, DriverError> {
    let mut words = TensorMapWords([0; 16]);
    let status = match &encoding.access {
        TensorAccess::Tiled { box_sizes } => {
            encode!("cuTensorMapEncodeTiled" encoding words: box_sizes.as_ptr() => *const u32)
        }
        TensorAccess::Im2col { lower, upper, channels, pixels } => {
            encode!("cuTensorMapEncodeIm2col" encoding words:
            lower.as_ptr() => *const i32, upper.as_ptr() => *const i32,
            *channels => u32, *pixels => u32)
        }
    };
    if pass_on(status) == 0 {
        Ok(words)
    } else {
        Err(DriverError::new(status, "encoding a tensor map"))
    }
}
