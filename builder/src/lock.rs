//! Locks a folder for one process.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context, Result};

/// The lock of a folder that several processes use. Dropping it releases the lock.
pub struct FolderLock(
    #[expect(dead_code, reason = "holding the file is what holds the lock")] File,
);

impl FolderLock {
    /// Waits until no other process holds the lock of this name in `folder`. Creates the folder if
    /// it is missing. `progress` learns that it waits.
    pub fn acquire(folder: &Path, name: &str, progress: &dyn Fn(&str)) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(name);
        let file =
            File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let locked = match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                progress(&format!("waiting for another build, which holds {}", path.display()));
                file.lock()
            }
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        locked.with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(Self(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn waiting_for_a_lock_is_reported() {
        let folder = std::env::temp_dir().join(format!("ptx-matrix-lock-{}", std::process::id()));
        let first = FolderLock::acquire(&folder, "lock", &|text| panic!("{text}")).unwrap();
        let (sender, receiver) = mpsc::channel();
        let second = {
            let folder = folder.clone();
            std::thread::spawn(move || {
                FolderLock::acquire(&folder, "lock", &|text| sender.send(text.to_owned()).unwrap())
                    .map(drop)
            })
        };
        let text = receiver.recv().unwrap();
        assert!(text.starts_with("waiting for another build, which holds /"), "{text}");
        drop(first);
        second.join().unwrap().unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}
