//! `cuTensorMapEncodeTiled`, which `cust` does not declare.

use std::ffi::c_void;
use std::mem::transmute;
use std::sync::OnceLock;

use ptx_matrix::{TensorEncoding, TensorMapWords};

use super::DriverError;
use super::library::find;
use super::status::pass_on;

/// The driver's function: the map; its type, rank and address; sizes, strides but for the first, box, steps; interleave, swizzle,
/// promotion in the second-level cache, what is beyond the tensor.
type Encode = unsafe extern "C" fn(
    *mut TensorMapWords,
    u32,
    u32,
    *mut c_void,
    *const u64,
    *const u64,
    *const u32,
    *const u32,
    u32,
    u32,
    u32,
    u32,
) -> u32;

/// `CU_TENSOR_MAP_INTERLEAVE_NONE`.
const NOT_INTERLEAVED: u32 = 0;
/// `CU_TENSOR_MAP_L2_PROMOTION_L2_128B`: the second-level cache fetches so much at once. (256 bytes are no faster where lines start at
/// multiples of 128 bytes, and take a fifth longer where they do not, as an H200 showed in products of 4104^3.)
const PROMOTE_128_BYTES: u32 = 2;
/// `CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE`: zeros.
const ZEROS_BEYOND: u32 = 0;

/// Has the driver encode a tensor map. It looks at the parameters, and not at the memory.
pub(crate) fn encode(encoding: &TensorEncoding) -> Result<TensorMapWords, DriverError> {
    static FUNCTION: OnceLock<Result<Encode, u32>> = OnceLock::new();
    let function = FUNCTION.get_or_init(|| {
        // SAFETY: the driver's function of this name has this type, and stays where it is, because the library is never closed.
        find("cuTensorMapEncodeTiled").map(|address| unsafe { transmute::<*const c_void, Encode>(address) })
    });
    let mut words = TensorMapWords([0; 16]);
    let status = match function {
        // SAFETY: the map is aligned to 64 bytes, and each array has as many elements as the rank says, the strides one fewer.
        Ok(function) => unsafe {
            function(
                &raw mut words,
                encoding.data_type,
                encoding.rank as u32,
                std::ptr::without_provenance_mut(encoding.address as usize),
                encoding.sizes.as_ptr(),
                encoding.strides[1..].as_ptr(),
                encoding.box_sizes.as_ptr(),
                encoding.steps.as_ptr(),
                NOT_INTERLEAVED,
                encoding.swizzle,
                PROMOTE_128_BYTES,
                ZEROS_BEYOND,
            )
        },
        Err(status) => *status,
    };
    if pass_on(status) == 0 { Ok(words) } else { Err(DriverError::new(status, "encoding a tensor map")) }
}
