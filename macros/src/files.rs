//! Temporary files for tests.

use std::fs;
use std::path::{Path, PathBuf};

/// A temporary folder with files.
pub struct Files(PathBuf);

impl Files {
    /// Creates a folder of this name, with files of these paths and texts.
    pub fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder =
            std::env::temp_dir().join(format!("ptx-matrix-macros-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let made = Files(folder.canonicalize().unwrap());
        files.iter().for_each(|(path, text)| made.put(path, text));
        made
    }

    /// The folder's path.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Writes a file.
    pub fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
