//! The place of a tensor in a buffer.

use crate::element::Element;
use crate::isa::{TensorAccess, TensorEncoding, TensorMapError};
use std::vec;
use std::vec::Vec;

/// The place of a tensor in a buffer, for any copy mode.
#[derive(Debug, Clone, Copy)]
pub(super) struct TensorPlace<const RANK: usize> {
    /// The index of its first element.
    pub start: usize,
    /// The size along each dimension, in elements.
    pub sizes: [usize; RANK],
    /// The distance between neighbours along each dimension, in elements.
    pub strides: [usize; RANK],
}

/// Extends `of` to five dimensions by `other`.
pub(super) fn each<const RANK: usize, T: Copy>(of: &[T; RANK], other: T) -> [T; 5] {
    core::array::from_fn(|dimension| of.get(dimension).copied().unwrap_or(other))
}

impl<const RANK: usize> TensorPlace<RANK> {
    /// A packed tensor at the buffer's start.
    pub fn dense(sizes: [usize; RANK]) -> Self {
        let mut strides = [1usize; RANK];
        for dimension in 1..RANK {
            strides[dimension] = strides[dimension - 1].saturating_mul(sizes[dimension - 1]);
        }
        TensorPlace { start: 0, sizes, strides }
    }

    /// Describes a map of the tensor, if the hardware can encode it. A value that is too large for
    /// its field gets the error of that field.
    pub fn encoding<T: Element>(
        &self,
        buffer: *mut T,
        steps: &[usize; 5],
        swizzle: u32,
        access: TensorAccess,
    ) -> Result<TensorEncoding, TensorMapError> {
        if let Some((dimension, &step)) = steps.iter().enumerate().find(|&(_, &step)| step > 8) {
            return Err(TensorMapError::Step { dimension, step: step as u64 });
        }
        let element_bytes = size_of::<T>();
        let encoding = TensorEncoding {
            data_type: T::TENSOR_DATA_TYPE,
            element_bytes,
            rank: RANK,
            address: (buffer.expose_provenance() as u64).wrapping_add(self.start_bytes::<T>()),
            sizes: each(&self.sizes, 1).map(|size| size as u64),
            strides: each(&self.strides, 0)
                .map(|stride| (stride as u64).saturating_mul(element_bytes as u64)),
            steps: steps.map(|step| step as u32),
            swizzle,
            access,
        };
        encoding.check()?;
        Ok(encoding)
    }

    /// Checks that the elements along dimension 0 are adjacent.
    pub fn check_neighbours(&self) -> Result<(), TensorMapError> {
        match self.strides[0] {
            1 => Ok(()),
            stride => Err(TensorMapError::Apart { stride: stride as u64 }),
        }
    }

    /// Checks that the tensor starts at a multiple of 16 bytes, and that a buffer of `len` elements
    /// contains it.
    pub fn check_in_buffer<T: Element>(
        &self,
        encoding: &TensorEncoding,
        len: usize,
    ) -> Result<(), TensorMapError> {
        let bytes = self.start_bytes::<T>();
        if !bytes.is_multiple_of(16) {
            return Err(TensorMapError::Start { bytes });
        }
        let needed = self.start as u128 + encoding.span();
        if needed > len as u128 {
            return Err(TensorMapError::Buffer { needed, len: len as u64 });
        }
        Ok(())
    }

    /// Checks that dimension 0 has a multiple of 16 bytes. An H200 stores whole 16 bytes, and would
    /// also overwrite the bytes after a shorter row.
    pub fn check_written_lines<T: Element>(&self) -> Result<(), TensorMapError> {
        let bytes = (self.sizes[0] as u64).saturating_mul(size_of::<T>() as u64);
        if !bytes.is_multiple_of(16) {
            return Err(TensorMapError::WrittenLine { bytes });
        }
        Ok(())
    }

    /// Checks that no two coordinates are the same element: of two values stored there, the
    /// hardware keeps either. The sizes and strides are those of an [`encoding`](Self::encoding).
    pub fn check_apart(&self) -> Result<(), TensorMapError> {
        // Dimensions of size 1 do not count. The others, in the order of their strides: each stride
        // is at least the extent of all before it.
        let mut dimensions: Vec<usize> =
            (0..RANK).filter(|&dimension| self.sizes[dimension] > 1).collect();
        dimensions.sort_by_key(|&dimension| self.strides[dimension]);
        let mut extent = 1_u128;
        let mut overlapping = None;
        for dimension in dimensions {
            let (size, stride) = (self.sizes[dimension] as u128, self.strides[dimension] as u128);
            if stride < extent {
                let before = |dimension: usize| {
                    (self.sizes[dimension].max(1) as u128 - 1) * self.strides[dimension] as u128
                };
                let needed = extent.max((0..dimension).map(before).sum::<u128>() + 1) as u64;
                overlapping =
                    Some(TensorMapError::Overlap { dimension, stride: stride as u64, needed });
            }
            extent += (size - 1) * stride;
        }
        match overlapping {
            // Dimensions may interleave without overlap: one in the gaps of another.
            Some(error) if !self.lines_are_apart() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether no two rows along dimension 0 overlap, by their starts. For more than 2^20 rows the
    /// answer is `false`.
    fn lines_are_apart(&self) -> bool {
        const MOST: usize = 1 << 20;
        if self.sizes[1..]
            .iter()
            .try_fold(1, |lines: usize, &size| lines.checked_mul(size))
            .is_none_or(|all| all > MOST)
        {
            return false;
        }
        let mut starts = vec![0_u128];
        for (&size, &stride) in self.sizes.iter().zip(&self.strides).skip(1) {
            let of_each =
                |start: u128| (0..size as u128).map(move |index| start + index * stride as u128);
            starts = starts.into_iter().flat_map(of_each).collect();
        }
        starts.sort_unstable();
        starts.windows(2).all(|pair| pair[1] - pair[0] >= self.sizes[0] as u128)
    }

    fn start_bytes<T>(&self) -> u64 {
        self.start.saturating_mul(size_of::<T>()) as u64
    }
}
