//! Locks a folder for one process.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};

/// The lock of a folder that several processes use. Dropping it releases the lock.
pub struct FolderLock(
    #[expect(dead_code, reason = "holding the file is what holds the lock")] File,
);

impl FolderLock {
    /// Waits until no other process holds the lock of this name in `folder`. Creates the folder if
    /// it is missing.
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
