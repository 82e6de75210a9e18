//! Vectors: adjacent elements that one load or store moves.

use super::{Coordinate, Global, GlobalMut, Order, SharedTile, Swizzle, Window, check_known};
use crate::element::{Element, Moved, Width};
use crate::lane::{AccessKind, Lane, Site};
use bytemuck::{Pod, Zeroable};
use core::marker::PhantomData;

/// 16 bytes with their alignment: the largest vector.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(16))]
pub(super) struct Chunk(pub(super) [u32; 4]);

/// A window of `N` elements along the contiguous dimension of a tile.
pub(crate) struct Vector<Tile, const N: usize>(PhantomData<Tile>);

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order, const N: usize> Window
    for Vector<SharedTile<T, ROWS, COLS, S, O>, N>
{
    const TILE_ROWS: usize = ROWS;
    const TILE_COLS: usize = COLS;
    const ROWS: usize = if O::ROW_MAJOR { 1 } else { N };
    const COLS: usize = if O::ROW_MAJOR { N } else { 1 };
    const ROW_STEP: usize = Self::ROWS;
    const COL_STEP: usize = Self::COLS;
}

/// The bytes of `N` elements, if one instruction moves as many.
const fn bytes<T: Element, const N: usize>() -> usize {
    let bytes = N * T::Width::BYTES;
    assert!(matches!(bytes, 2 | 4 | 8 | 16), "a vector has 2, 4, 8 or 16 bytes");
    bytes
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// Reads the `N` elements from `at` on, along the contiguous dimension, by one load.
    ///
    /// They have 2, 4, 8 or 16 bytes: `ld.shared.b16`, `.b32`, `.b64` or `.v4.b32` (PTX ISA, `ld`;
    /// sm_75). The coordinate along the contiguous dimension is a multiple of `N`. Another one, or
    /// one out of bounds, stops the kernel; another size does not compile.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Widens bytes, eight in each lane.
    /// #[kernel(threads = 32)]
    /// fn widen(
    ///     block: &Block,
    ///     #[shared] tile: SharedTile<u8, 4, 64, Swizzle64>,
    ///     a: Global<u8>,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     tile.fill(block, |row, col| a.get(row * 64 + col));
    ///     block.sync();
    ///     block.warp().each(|lane| {
    ///         let (row, col) = (lane.id() / 8, lane.id() % 8 * 8);
    ///         let bytes: [u8; 8] = tile.get_vector(lane, (row, col));
    ///         for half in 0..2 {
    ///             let wide: [u32; 4] = core::array::from_fn(|i| bytes[half * 4 + i].into());
    ///             d.set_vector(row * 64 + col + half * 4, wide);
    ///         }
    ///     });
    /// }
    ///
    /// let a: Vec<u8> = (0..=255).collect();
    /// let mut d = [0; 256];
    /// widen::simulate(1, &a, &mut d).check();
    /// assert!((0..256).all(|i| d[i] as usize == i));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_vector<const N: usize, C: Coordinate>(self, lane: Lane<'_>, at: C) -> [T; N] {
        const { check_known::<C, Vector<Self, N>>() };
        let _ = lane;
        let site = Site::here();
        let (row, col) = at.resolve::<Vector<Self, N>>(self.address(), site);
        // SAFETY: in bounds and aligned, as resolved.
        unsafe {
            let address = self.to_read(row, col, site);
            match const { bytes::<T, N>() } {
                2 => bytemuck::cast(u16::load_shared(site, address)),
                4 => bytemuck::cast(u32::load_shared(site, address)),
                8 => bytemuck::cast(u64::load_shared(site, address)),
                _ => bytemuck::cast(<[u32; 4]>::load_shared(site, address)),
            }
        }
    }

    /// Writes `N` elements from `at` on, along the contiguous dimension, by one store.
    ///
    /// The sizes and coordinates are those of [`get_vector`](Self::get_vector), and the store is
    /// `st.shared` (PTX ISA, `st`; sm_75).
    #[inline]
    #[track_caller]
    pub fn set_vector<const N: usize, C: Coordinate>(self, at: C, values: [T; N]) {
        const { check_known::<C, Vector<Self, N>>() };
        let site = Site::here();
        let (row, col) = at.resolve::<Vector<Self, N>>(self.address(), site);
        // SAFETY: in bounds and aligned, as resolved.
        unsafe {
            let address = self.to_write(row, col, site);
            match const { bytes::<T, N>() } {
                2 => bytemuck::cast::<_, u16>(values).store_shared(site, address),
                4 => bytemuck::cast::<_, u32>(values).store_shared(site, address),
                8 => bytemuck::cast::<_, u64>(values).store_shared(site, address),
                _ => bytemuck::cast::<_, [u32; 4]>(values).store_shared(site, address),
            }
        }
    }
}

impl<T: Element> Global<'_, T> {
    /// Reads the `N` elements from `index` on, by one load.
    ///
    /// They have 2, 4, 8 or 16 bytes: `ld.global.b16`, `.b32`, `.b64` or `.v4.b32` (PTX ISA, `ld`;
    /// sm_75). Their address is a multiple of their size; a buffer's start is a multiple of 256.
    /// Another address, or elements beyond the slice, stop the kernel; another size does not
    /// compile.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Copies 16 bytes in each lane.
    /// #[kernel(threads = 32)]
    /// fn copy(block: &Block, a: Global<f32>, d: GlobalMut<f32>) {
    ///     block.warp().each(|lane| {
    ///         let numbers: [f32; 4] = a.get_vector(lane.id() * 4);
    ///         d.set_vector(lane.id() * 4, numbers);
    ///     });
    /// }
    ///
    /// let a: Vec<f32> = (0..128).map(|i| i as f32).collect();
    /// let mut d = [0.0; 128];
    /// copy::simulate(1, &a, &mut d).check();
    /// assert_eq!(&d[..], a);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_vector<const N: usize>(self, index: usize) -> [T; N] {
        let (slice, site) = (self.raw(), Site::here());
        let from = slice.vector(index, (N, const { bytes::<T, N>() }), AccessKind::Read, site);
        // SAFETY: elements of the slice, and aligned, as `vector` has checked.
        unsafe {
            match const { bytes::<T, N>() } {
                2 => bytemuck::cast(slice.load_piece::<u16>(from, N, site)),
                4 => bytemuck::cast(slice.load_piece::<u32>(from, N, site)),
                8 => bytemuck::cast(slice.load_piece::<u64>(from, N, site)),
                _ => bytemuck::cast(slice.load_piece::<Chunk>(from, N, site)),
            }
        }
    }
}

impl<T: Element> GlobalMut<'_, T> {
    /// Writes `N` elements from `index` on, by one store.
    ///
    /// The sizes and addresses are those of [`Global::get_vector`], and the store is `st.global`
    /// (PTX ISA, `st`; sm_75).
    #[inline]
    #[track_caller]
    pub fn set_vector<const N: usize>(self, index: usize, values: [T; N]) {
        let (slice, site) = (self.raw(), Site::here());
        slice.vector(index, (N, const { bytes::<T, N>() }), AccessKind::Write, site);
        // SAFETY: elements of the slice, and aligned, as `vector` has checked.
        unsafe {
            match const { bytes::<T, N>() } {
                2 => slice.store_piece(index, bytemuck::cast::<_, u16>(values), site),
                4 => slice.store_piece(index, bytemuck::cast::<_, u32>(values), site),
                8 => slice.store_piece(index, bytemuck::cast::<_, u64>(values), site),
                _ => slice.store_piece(index, bytemuck::cast::<_, Chunk>(values), site),
            }
        }
    }
}
