//! One process at a time.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};

/// Held while one process works in a folder that others may want too; released when dropped.
pub struct FolderLock(
    #[expect(dead_code, reason = "holding the file is what holds the lock")] File,
);

impl FolderLock {
    /// Waits until no other process holds the lock of this name in `folder`, which is made if need
    /// be.
    pub fn acquire(folder: &Path, name: &str) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(name);
        let file =
            File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(Self(file))
    }
}
