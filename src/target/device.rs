//! The target of a build for a GPU: `rustc` sets `target_feature` for the named target and for all
//! older ones.

macro_rules! newest {
    ($($feature:literal $target:ident, not $newer:tt;)*) => {$(
        #[cfg(all(target_feature = $feature, not(any $newer)))]
        /// The GPU of this build.
            pub type BuildTarget = super::$target;
    )*};
}
newest! {
    "sm_75" Sm75, not (target_feature = "sm_80");
    "sm_80" Sm80, not (target_feature = "sm_86");
    "sm_86" Sm86, not (target_feature = "sm_89");
    "sm_89" Sm89, not (target_feature = "sm_90");
    "sm_90" Sm90, not (target_feature = "sm_90a", target_feature = "sm_100");
    "sm_90a" Sm90a, not (target_feature = "sm_100");
    "sm_100a" Sm100a, not (target_feature = "sm_120");
    "sm_120a" Sm120a, not ();
}
#[cfg(not(target_feature = "sm_75"))]
compile_error!(
    "ptx-matrix needs -C target-cpu=sm_75 or newer; `cargo xtask build --arch` names the targets"
);
