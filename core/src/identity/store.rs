//! Where secrets are kept: the port, memory for tests, and a file for whoever asks for one by name.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use super::secret::Secret;
use crate::error::{Error, StorageKind};
use crate::limits;

/// Port: keeps secrets by (service, account). Every call may block and may even ask the person; call it from a thread that may
/// wait. Errors are `storage`, `unsupported` or `capacity`.
pub trait SecretStore: Send + Sync + 'static {
    /// What a person is told about where keys lie.
    fn label(&self) -> &'static str;

    /// The secret; `None` when there is none under this name.
    fn get(&self, service: &str, account: &str) -> Result<Option<Secret>, Error>;

    /// Keeps a secret, replacing an older one. At most [`limits::ACCOUNTS`] accounts of one service.
    fn put(&self, service: &str, account: &str, secret: &Secret) -> Result<(), Error>;

    /// Forgets a secret. Fine when there is none.
    fn delete(&self, service: &str, account: &str) -> Result<(), Error>;

    /// Accounts of a service, sorted.
    fn accounts(&self, service: &str) -> Result<Vec<String>, Error>;
}

/// A name that every store can hold: printable ASCII without spaces, at most 128 characters.
pub(super) fn check_name(name: &str) -> Result<(), Error> {
    let fits = (1..=128).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
    if fits { Ok(()) } else { Err(Error::InvalidArgument { what: "secret name" }) }
}

/// Keeps secrets as long as it lives.
#[derive(Default)]
pub struct MemorySecrets(Mutex<BTreeMap<(String, String), Secret>>);

impl MemorySecrets {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl SecretStore for MemorySecrets {
    fn label(&self) -> &'static str {
        "memory of this process"
    }

    fn get(&self, service: &str, account: &str) -> Result<Option<Secret>, Error> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(held.get(&(service.to_owned(), account.to_owned())).cloned())
    }

    fn put(&self, service: &str, account: &str, secret: &Secret) -> Result<(), Error> {
        check_name(service)?;
        check_name(account)?;
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (service.to_owned(), account.to_owned());
        if !held.contains_key(&key) && held.keys().filter(|(s, _)| s == service).count() >= limits::ACCOUNTS {
            return Err(Error::Capacity { what: "accounts" });
        }
        held.insert(key, secret.clone());
        Ok(())
    }

    fn delete(&self, service: &str, account: &str) -> Result<(), Error> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&(service.to_owned(), account.to_owned()));
        Ok(())
    }

    fn accounts(&self, service: &str) -> Result<Vec<String>, Error> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(held.keys().filter(|(s, _)| s == service).map(|(_, account)| account.clone()).collect())
    }
}

/// Keeps secrets **unprotected** in a file that only its owner may read. For machines without any keychain, and only when the
/// person names it. A file that others may read, or that is damaged, is refused and left alone.
pub struct FileSecrets {
    path: PathBuf,
    lock: Mutex<()>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    /// Says what the file is to whoever opens it.
    warning: String,
    secrets: BTreeMap<String, BTreeMap<String, String>>,
}

impl Drop for Contents {
    fn drop(&mut self) {
        self.secrets.values_mut().flat_map(BTreeMap::values_mut).for_each(Zeroize::zeroize);
    }
}

const WARNING: &str = "Secret keys, unprotected. Whoever reads this file is you.";
/// Bytes of a file worth reading: all accounts of a handful of services.
const FILE_BYTES: u64 = 256 << 10;

fn io(error: &std::io::Error) -> Error {
    let kind = if error.kind() == ErrorKind::StorageFull { StorageKind::Full } else { StorageKind::Io };
    Error::Storage { kind }
}

impl FileSecrets {
    /// Uses `path`, whose folder must exist. Nothing is created before the first secret.
    pub fn unprotected_at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), lock: Mutex::new(()) }
    }

    fn read(&self) -> Result<Contents, Error> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Contents::default()),
            Err(e) => return Err(io(&e)),
        };
        check_private(&file)?;
        let mut text = Zeroizing::new(String::new());
        file.take(FILE_BYTES).read_to_string(&mut text).map_err(|e| io(&e))?;
        serde_json::from_str(&text).map_err(|_| Error::Storage { kind: StorageKind::Corrupt })
    }

    fn write(&self, contents: &Contents) -> Result<(), Error> {
        let text = Zeroizing::new(
            serde_json::to_string_pretty(contents).map_err(|_| Error::Storage { kind: StorageKind::Io })?,
        );
        // Beside the file and then over it, so that a crash leaves the old one or the new one.
        let beside = self.path.with_extension("new");
        let saved = write_private(&beside, text.as_bytes()).and_then(|()| fs::rename(&beside, &self.path));
        saved.map_err(|e| {
            let _ = fs::remove_file(&beside);
            io(&e)
        })
    }

    fn change(&self, edit: impl FnOnce(&mut Contents) -> Result<(), Error>) -> Result<(), Error> {
        let _only = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut contents = self.read()?;
        edit(&mut contents)?;
        contents.warning = WARNING.to_owned();
        self.write(&contents)
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(unix)]
fn check_private(file: &File) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata().map_err(|e| io(&e))?.permissions().mode();
    if mode & 0o077 == 0 { Ok(()) } else { Err(Error::Unsupported { what: "a secret file others may read" }) }
}

#[cfg(not(unix))]
fn check_private(_file: &File) -> Result<(), Error> {
    Ok(())
}

impl SecretStore for FileSecrets {
    fn label(&self) -> &'static str {
        "unprotected file"
    }

    fn get(&self, service: &str, account: &str) -> Result<Option<Secret>, Error> {
        let contents = self.read()?;
        let Some(hex) = contents.secrets.get(service).and_then(|s| s.get(account)) else { return Ok(None) };
        Secret::parse(hex).map(Some).map_err(|_| Error::Storage { kind: StorageKind::Corrupt })
    }

    fn put(&self, service: &str, account: &str, secret: &Secret) -> Result<(), Error> {
        check_name(service)?;
        check_name(account)?;
        self.change(|contents| {
            let held = contents.secrets.entry(service.to_owned()).or_default();
            if !held.contains_key(account) && held.len() >= limits::ACCOUNTS {
                return Err(Error::Capacity { what: "accounts" });
            }
            held.insert(account.to_owned(), secret.to_hex().to_string());
            Ok(())
        })
    }

    fn delete(&self, service: &str, account: &str) -> Result<(), Error> {
        if self.get(service, account).is_ok_and(|held| held.is_none()) {
            return Ok(());
        }
        self.change(|contents| {
            if let Some(mut gone) = contents.secrets.get_mut(service).and_then(|s| s.remove(account)) {
                gone.zeroize();
            }
            contents.secrets.retain(|_, accounts| !accounts.is_empty());
            Ok(())
        })
    }

    fn accounts(&self, service: &str) -> Result<Vec<String>, Error> {
        Ok(self.read()?.secrets.get(service).map(|s| s.keys().cloned().collect()).unwrap_or_default())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::entropy::Entropy;

    /// What every store must do.
    pub(in crate::identity) fn behaves(store: &dyn SecretStore) {
        let mut entropy = Entropy::from_seed(1);
        let (one, two) = (Secret::generate(&mut entropy), Secret::generate(&mut entropy));
        let read = |account: &str| store.get("waggle", account).unwrap().map(|s| s.to_hex().to_string());
        assert_eq!(read("a"), None);
        assert!(store.accounts("waggle").unwrap().is_empty());
        store.delete("waggle", "a").unwrap();
        store.put("waggle", "b", &two).unwrap();
        store.put("waggle", "a", &two).unwrap();
        store.put("waggle", "a", &one).unwrap();
        store.put("other", "c", &one).unwrap();
        assert_eq!(read("a"), Some(one.to_hex().to_string()));
        assert_eq!(store.accounts("waggle").unwrap(), ["a", "b"]);
        assert_eq!(store.accounts("other").unwrap(), ["c"]);
        store.delete("waggle", "a").unwrap();
        assert_eq!(read("a"), None);
        assert_eq!(read("b"), Some(two.to_hex().to_string()));
        assert_eq!(store.accounts("waggle").unwrap(), ["b"]);
        for name in ["", "a b", "a\n", &"x".repeat(129), "é"] {
            assert!(store.put("waggle", name, &one).is_err());
        }
    }

    #[test]
    fn memory_behaves() {
        behaves(&MemorySecrets::new());
    }

    #[test]
    fn file_behaves_and_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileSecrets::unprotected_at(folder.path().join("keys.json"));
        behaves(&store);
        let secret = Secret::generate(&mut Entropy::from_seed(2));
        for n in 1..limits::ACCOUNTS {
            store.put("waggle", &format!("n{n}"), &secret).unwrap();
        }
        assert_eq!(store.put("waggle", "one-more", &secret).unwrap_err().code(), "capacity");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside the file");
    }

    #[cfg(unix)]
    #[test]
    fn file_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let store = FileSecrets::unprotected_at(&path);
        store.put("waggle", "a", &Secret::generate(&mut Entropy::from_seed(1))).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(store.get("waggle", "a").err().unwrap().code(), "unsupported");
    }

    #[test]
    fn a_damaged_file_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        write_private(&path, b"{\"secrets\":{\"waggle\":").unwrap();
        let store = FileSecrets::unprotected_at(&path);
        let secret = Secret::generate(&mut Entropy::from_seed(1));
        let corrupt = Error::Storage { kind: StorageKind::Corrupt };
        assert_eq!(store.put("waggle", "a", &secret).unwrap_err(), corrupt);
        assert_eq!(store.accounts("waggle").unwrap_err(), corrupt);
        assert_eq!(fs::read(&path).unwrap(), b"{\"secrets\":{\"waggle\":");
    }
}
