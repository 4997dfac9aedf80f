//! The platform's own keychain, through `keyring-core`.
//!
//! Not every store can be searched (the kernel's cannot), so the accounts of a service are listed in an entry of their own,
//! [`INDEX`]. A secret is written before it is listed and unlisted before it is deleted: a crash between leaves a listed name
//! without a secret never, an unlisted secret at worst, which the next `put` lists again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use keyring_core::{CredentialStore, Entry};
use zeroize::Zeroizing;

use super::secret::Secret;
use super::store::{SecretStore, check_name};
use crate::error::{Error, StorageKind};
use crate::limits;

/// The entry that lists the accounts of a service. Its space keeps it apart from accounts, which have none.
const INDEX: &str = "waggle accounts";

/// A store of the `keyring` family as a [`SecretStore`].
pub struct KeyringSecrets {
    store: Arc<CredentialStore>,
    label: &'static str,
    lock: Mutex<()>,
}

/// What went wrong, without the platform's words, which may contain names or secrets.
fn failure(error: &keyring_core::Error) -> Error {
    use keyring_core::Error as E;
    let kind = match error {
        E::BadEncoding(_) | E::BadDataFormat(..) | E::BadStoreFormat(_) | E::Ambiguous(_) => StorageKind::Corrupt,
        E::NotSupportedByStore(_) | E::NoDefaultStore => return Error::Unsupported { what: "the platform's keychain" },
        E::TooLong(..) | E::Invalid(..) => return Error::InvalidArgument { what: "secret name" },
        _ => StorageKind::Io,
    };
    Error::Storage { kind }
}

impl KeyringSecrets {
    /// Wraps a store; `label` tells a person where keys lie.
    pub fn new(store: Arc<CredentialStore>, label: &'static str) -> Self {
        Self { store, label, lock: Mutex::new(()) }
    }

    fn entry(&self, service: &str, account: &str) -> Result<Entry, Error> {
        self.store.build(service, account, None).map_err(|e| failure(&e))
    }

    fn read(&self, service: &str, account: &str) -> Result<Option<Zeroizing<String>>, Error> {
        match self.entry(service, account)?.get_password() {
            Ok(text) => Ok(Some(Zeroizing::new(text))),
            Err(keyring_core::Error::NoEntry) => Ok(None),
            Err(e) => Err(failure(&e)),
        }
    }

    fn write(&self, service: &str, account: &str, text: &str) -> Result<(), Error> {
        self.entry(service, account)?.set_password(text).map_err(|e| failure(&e))
    }

    fn erase(&self, service: &str, account: &str) -> Result<(), Error> {
        match self.entry(service, account)?.delete_credential() {
            Ok(()) | Err(keyring_core::Error::NoEntry) => Ok(()),
            Err(e) => Err(failure(&e)),
        }
    }

    fn index(&self, service: &str) -> Result<BTreeSet<String>, Error> {
        let Some(text) = self.read(service, INDEX)? else { return Ok(BTreeSet::new()) };
        Ok(text.lines().filter(|name| check_name(name).is_ok()).take(limits::ACCOUNTS).map(str::to_owned).collect())
    }

    fn save_index(&self, service: &str, accounts: &BTreeSet<String>) -> Result<(), Error> {
        if accounts.is_empty() {
            return self.erase(service, INDEX);
        }
        let lines: Vec<&str> = accounts.iter().map(String::as_str).collect();
        self.write(service, INDEX, &lines.join("\n"))
    }
}

impl SecretStore for KeyringSecrets {
    fn label(&self) -> &'static str {
        self.label
    }

    fn get(&self, service: &str, account: &str) -> Result<Option<Secret>, Error> {
        let Some(text) = self.read(service, account)? else { return Ok(None) };
        Secret::parse(&text).map(Some).map_err(|_| Error::Storage { kind: StorageKind::Corrupt })
    }

    fn put(&self, service: &str, account: &str, secret: &Secret) -> Result<(), Error> {
        check_name(service)?;
        check_name(account)?;
        let _only = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut accounts = self.index(service)?;
        if !accounts.contains(account) && accounts.len() >= limits::ACCOUNTS {
            return Err(Error::Capacity { what: "accounts" });
        }
        self.write(service, account, &secret.to_hex())?;
        if accounts.insert(account.to_owned()) { self.save_index(service, &accounts) } else { Ok(()) }
    }

    fn delete(&self, service: &str, account: &str) -> Result<(), Error> {
        let _only = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut accounts = self.index(service)?;
        if accounts.remove(account) {
            self.save_index(service, &accounts)?;
        }
        self.erase(service, account)
    }

    fn accounts(&self, service: &str) -> Result<Vec<String>, Error> {
        Ok(self.index(service)?.into_iter().collect())
    }
}

/// The platform's keychain: Keychain on Apple systems, Keystore on Android, on Linux the Secret Service where one answers and
/// the kernel's keyring elsewhere. May block. Fails with `unsupported` where there is none.
pub fn platform_secrets() -> Result<KeyringSecrets, Error> {
    open()
}

#[cfg(target_os = "linux")]
fn open() -> Result<KeyringSecrets, Error> {
    #[cfg(feature = "secret-service")]
    if let Ok(store) = zbus_secret_service_keyring_store::Store::new() {
        return Ok(KeyringSecrets::new(store, "Secret Service"));
    }
    match linux_keyutils_keyring_store::Store::new() {
        Ok(store) => Ok(KeyringSecrets::new(store, "kernel keyring, until the next reboot")),
        Err(_) => Err(Error::Unsupported { what: "the platform's keychain" }),
    }
}

#[cfg(any(target_os = "macos", target_os = "ios"))]
fn open() -> Result<KeyringSecrets, Error> {
    // Never synchronised to other devices: `cloud-sync` stays off, its default.
    match apple_native_keyring_store::protected::Store::new() {
        Ok(store) => Ok(KeyringSecrets::new(store, "Keychain")),
        Err(_) => Err(Error::Unsupported { what: "the platform's keychain" }),
    }
}

#[cfg(target_os = "android")]
fn open() -> Result<KeyringSecrets, Error> {
    // The store wants the application's context, which an app may have handed to `ndk-context`; without it that crate panics.
    match std::panic::catch_unwind(android_native_keyring_store::Store::new) {
        Ok(Ok(store)) => Ok(KeyringSecrets::new(store, "Android Keystore")),
        _ => Err(Error::Unsupported { what: "the platform's keychain" }),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "ios", target_os = "android")))]
fn open() -> Result<KeyringSecrets, Error> {
    Err(Error::Unsupported { what: "the platform's keychain" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;
    use crate::identity::store::tests::behaves;

    fn mock() -> KeyringSecrets {
        KeyringSecrets::new(keyring_core::mock::Store::new().unwrap(), "mock")
    }

    #[test]
    fn a_keyring_behaves() {
        behaves(&mock());
    }

    #[test]
    fn a_keyring_is_bounded_and_its_damage_is_visible() {
        let store = mock();
        let secret = Secret::generate(&mut Entropy::from_seed(3));
        for n in 0..limits::ACCOUNTS {
            store.put("waggle", &format!("n{n}"), &secret).unwrap();
        }
        assert_eq!(store.put("waggle", "more", &secret).unwrap_err().code(), "capacity");
        store.write("waggle", "n1", "not a key").unwrap();
        assert_eq!(store.get("waggle", "n1").err().unwrap(), Error::Storage { kind: StorageKind::Corrupt });
    }
}
