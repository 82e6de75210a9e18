/// Seals a trait: only this crate implements it. It is a supertrait of traits whose numbers unsafe
/// code relies on.
pub trait Sealed {}
