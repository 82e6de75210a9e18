//! Checks, before anything runs, whether a launch can succeed.

use ptx_matrix::launch::KernelInfo;

use super::{LaunchError, LaunchRequest};
use crate::module::KernelResources;
use crate::ptx::Entry;

/// A device's limits on launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// The maximum grid: blocks along x, y and z.
    pub grid: [u32; 3],
    /// The maximum number of threads in a block, along x.
    pub threads: u32,
    /// The maximum shared memory of a block in bytes, for a kernel that requests it.
    pub shared_bytes: u32,
}

/// Checks a launch against the kernel's declaration, its compiled resource usage and the device's
/// limits.
pub(super) fn check(
    request: &LaunchRequest<'_>,
    entry: &Entry,
    resources: &KernelResources,
    device: &DeviceLimits,
) -> Result<(), LaunchError> {
    check_params(request, entry)?;
    check_grid(request, device)?;
    check_cluster(request, entry)?;
    check_threads(request, entry, resources, device)?;
    check_shared(request, resources, device)
}

fn check_params(request: &LaunchRequest<'_>, entry: &Entry) -> Result<(), LaunchError> {
    if request.params.len() != entry.params.len() {
        return Err(LaunchError::ParamCount {
            kernel: request.kernel.to_owned(),
            expected: entry.params.len(),
            given: request.params.len(),
        });
    }
    for (index, (param, &expected)) in request.params.iter().zip(&entry.params).enumerate() {
        if param.len() != expected {
            return Err(LaunchError::ParamSize {
                kernel: request.kernel.to_owned(),
                index,
                expected,
                given: param.len(),
            });
        }
    }
    Ok(())
}

fn check_grid(request: &LaunchRequest<'_>, device: &DeviceLimits) -> Result<(), LaunchError> {
    let fits = |(&extent, &limit): (&u32, &u32)| (1..=limit).contains(&extent);
    if request.grid.iter().zip(&device.grid).all(fits) {
        return Ok(());
    }
    Err(LaunchError::Grid {
        kernel: request.kernel.to_owned(),
        grid: request.grid,
        limit: device.grid,
    })
}

fn check_cluster(request: &LaunchRequest<'_>, entry: &Entry) -> Result<(), LaunchError> {
    let Some(cluster) = entry.cluster else { return Ok(()) };
    if request.grid.iter().zip(cluster).all(|(&extent, cluster)| extent.is_multiple_of(cluster)) {
        return Ok(());
    }
    Err(LaunchError::Cluster { kernel: request.kernel.to_owned(), grid: request.grid, cluster })
}

/// Checks a kernel without a fingerprint: its clusters must be those that the program launches.
pub(crate) fn check_cluster_of(kernel: &KernelInfo, entry: &Entry) -> Result<(), LaunchError> {
    let ours = [kernel.cluster.x, kernel.cluster.y, kernel.cluster.z];
    let theirs = entry.cluster.unwrap_or([1; 3]);
    if ours == theirs {
        return Ok(());
    }
    let by = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
    let differences = vec![format!(
        "its clusters are {} in the PTX and {} in this program",
        by(theirs),
        by(ours)
    )];
    Err(LaunchError::OtherKernel { kernel: kernel.name.to_owned(), differences })
}

fn check_threads(
    request: &LaunchRequest<'_>,
    entry: &Entry,
    resources: &KernelResources,
    device: &DeviceLimits,
) -> Result<(), LaunchError> {
    if let Some(required) = entry.required_threads
        && required != [request.threads, 1, 1]
    {
        return Err(LaunchError::RequiredThreads {
            kernel: request.kernel.to_owned(),
            threads: request.threads,
            required,
        });
    }
    // A kernel needs all of its warps. The launch may spread them over the axes in any way.
    let declared = entry
        .max_threads
        .map(|extents| extents.iter().map(|&extent| u64::from(extent)).product::<u64>());
    if let Some(expected) = declared.filter(|&expected| expected != u64::from(request.threads)) {
        return Err(LaunchError::OtherThreads {
            kernel: request.kernel.to_owned(),
            threads: request.threads,
            expected,
        });
    }
    let limits = [("the device", device.threads), ("its use of registers", resources.max_threads)];
    for (limited_by, limit) in limits.map(|(limited_by, limit)| (limited_by, u64::from(limit))) {
        if !(1..=limit).contains(&request.threads.into()) {
            return Err(LaunchError::Threads {
                kernel: request.kernel.to_owned(),
                threads: request.threads,
                limit,
                limited_by,
            });
        }
    }
    Ok(())
}

fn check_shared(
    request: &LaunchRequest<'_>,
    resources: &KernelResources,
    device: &DeviceLimits,
) -> Result<(), LaunchError> {
    let needed = u64::from(resources.static_shared_bytes) + u64::from(request.dynamic_shared_bytes);
    if needed <= device.shared_bytes.into() {
        return Ok(());
    }
    Err(LaunchError::SharedMemory {
        kernel: request.kernel.to_owned(),
        needed,
        available: device.shared_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: DeviceLimits = DeviceLimits {
        grid: [2_147_483_647, 65_535, 65_535],
        threads: 1024,
        shared_bytes: 232_448,
    };
    const RESOURCES: KernelResources = KernelResources {
        max_threads: 640,
        static_shared_bytes: 1024,
        local_bytes: 0,
        registers: 96,
    };
    const REQUEST: LaunchRequest<'_> = LaunchRequest {
        kernel: "k",
        grid: [1, 1, 1],
        threads: 128,
        dynamic_shared_bytes: 0,
        dependent: false,
        params: &[&[0; 8], &[0; 4]],
    };

    fn entry() -> Entry {
        Entry {
            name: "k".to_owned(),
            params: vec![8, 4],
            max_threads: Some([32, 4, 1]),
            ..Entry::default()
        }
    }

    /// The message that refuses the request, or an empty string if it is accepted.
    fn refusal(request: LaunchRequest<'_>, entry: &Entry) -> String {
        check(&request, entry, &RESOURCES, &H200)
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn accepts_launches_at_the_limits() {
        assert_eq!(refusal(REQUEST, &entry()), "");
        let largest =
            LaunchRequest { grid: H200.grid, dynamic_shared_bytes: 232_448 - 1024, ..REQUEST };
        assert_eq!(refusal(largest, &entry()), "");
    }

    #[test]
    fn parameters_are_counted_and_measured() {
        let params: &[&[u8]] = &[&[0; 8]];
        let refused = refusal(LaunchRequest { params, ..REQUEST }, &entry());
        assert_eq!(refused, "kernel `k` takes 2 parameters and was given 1");
        let params: &[&[u8]] = &[&[0; 8], &[0; 8]];
        let refused = refusal(LaunchRequest { params, ..REQUEST }, &entry());
        assert_eq!(refused, "parameter 1 of kernel `k` has 4 bytes and was given 8");
    }

    #[test]
    fn empty_or_too_large_grid_is_refused() {
        for grid in [[0, 1, 1], [1, 1, 0], [1, 65_536, 1]] {
            let refused = refusal(LaunchRequest { grid, ..REQUEST }, &entry());
            assert!(refused.contains("2147483647x65535x65535"), "{refused}");
        }
    }

    #[test]
    fn grid_with_a_partial_cluster_is_refused() {
        let entry = Entry { cluster: Some([2, 1, 1]), ..entry() };
        assert_eq!(refusal(LaunchRequest { grid: [6, 3, 1], ..REQUEST }, &entry), "");
        assert_eq!(
            refusal(LaunchRequest { grid: [3, 2, 1], ..REQUEST }, &entry),
            "kernel `k`: a grid of 3x2x1 blocks; its clusters have 2x1x1, and each extent of the \
             grid must be a multiple of the cluster's"
        );
    }

    #[test]
    fn rejects_wrong_numbers_of_threads() {
        let with = |max_threads, threads| {
            let entry = Entry { max_threads, ..entry() };
            refusal(LaunchRequest { threads, ..REQUEST }, &entry)
        };
        assert_eq!(with(Some([32, 8, 1]), 256), "");
        for threads in [0, 32, 255, 257] {
            let expected = format!(
                "kernel `k`: a block of {threads} threads; the kernel is compiled for 256 \
                 (.maxntid)"
            );
            assert_eq!(with(Some([32, 8, 1]), threads), expected);
        }
        assert!(with(None, 641).contains("its use of registers allows from 1 to 640"));
        assert!(with(None, 1025).contains("the device allows from 1 to 1024"));
        assert!(with(None, 0).contains("a block of 0 threads"));
        assert_eq!(with(None, 640), "");
    }

    #[test]
    fn block_of_another_size_than_required_is_refused() {
        let required = |required_threads| {
            let entry = Entry { required_threads: Some(required_threads), ..entry() };
            refusal(REQUEST, &entry)
        };
        assert_eq!(required([128, 1, 1]), "");
        assert_eq!(
            required([64, 2, 1]),
            "kernel `k`: a block of 128x1x1 threads; the kernel requires 64x2x1 (.reqntid)"
        );
    }

    #[test]
    fn too_much_shared_memory_is_refused_with_both_sizes() {
        let refused = refusal(LaunchRequest { dynamic_shared_bytes: 232_448, ..REQUEST }, &entry());
        assert_eq!(
            refused,
            "kernel `k` needs 233472 bytes of shared memory in each block; this device has 232448"
        );
        let refused =
            refusal(LaunchRequest { dynamic_shared_bytes: u32::MAX, ..REQUEST }, &entry());
        assert!(refused.contains("4294968319"), "{refused}");
    }
}
