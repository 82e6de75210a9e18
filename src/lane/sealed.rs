/// What only this crate implements: traits whose numbers unsafe code relies on have it as a
/// supertrait.
pub trait Sealed {}
