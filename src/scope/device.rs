//! Scopes in builds for a GPU: lane closures must not capture them.

use super::{Block, Cluster, ClusterBlock, Warp, WarpGroup};
use crate::lane::LaneCapture;

impl !LaneCapture for Block<'_> {}
impl<const N: usize> !LaneCapture for ClusterBlock<'_, N> {}
impl<const N: usize> !LaneCapture for Cluster<'_, N> {}
impl !LaneCapture for WarpGroup<'_> {}
impl !LaneCapture for Warp<'_> {}
