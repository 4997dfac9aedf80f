//! What an app may bring itself: a store for keys, and a signer that keeps its key to itself.
//!
//! Both are called on threads that may wait, never on one the app called Waggle from, so they may call Waggle again. Their failures
//! carry no text: what a platform says may name accounts.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use waggle::error::{Error, StorageKind};
use waggle::event::Verifier;
use waggle::identity::{self, Secret, SelfCipher, SignedJson, Unsigned};
use waggle::ids;
use zeroize::Zeroizing;

use crate::ids::PublicKey;

/// Why a key store of the app's own refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Error)]
pub enum SecretStoreError {
    /// The store cannot be used here.
    Unavailable,
    /// The device is locked, or the person said no.
    Locked,
    /// There is no room.
    Full,
    /// What is stored cannot be read.
    Damaged,
    /// Anything else, an exception of the app's code included.
    Failed,
}

impl std::fmt::Display for SecretStoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "the key store cannot be used here",
            Self::Locked => "the key store is locked",
            Self::Full => "the key store is full",
            Self::Damaged => "the key store is damaged",
            Self::Failed => "the key store failed",
        })
    }
}

impl std::error::Error for SecretStoreError {}

impl From<uniffi::UnexpectedUniFFICallbackError> for SecretStoreError {
    fn from(_: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Failed
    }
}

impl From<SecretStoreError> for Error {
    fn from(error: SecretStoreError) -> Self {
        match error {
            SecretStoreError::Unavailable => Self::Unsupported { what: "the app's key store" },
            SecretStoreError::Locked => Self::Storage { kind: StorageKind::Locked },
            SecretStoreError::Full => Self::Storage { kind: StorageKind::Full },
            SecretStoreError::Damaged => Self::Storage { kind: StorageKind::Corrupt },
            SecretStoreError::Failed => Self::Storage { kind: StorageKind::Io },
        }
    }
}

/// Keeps keys by service and account. Calls may block and may ask the person.
#[uniffi::export(with_foreign)]
pub trait SecretStore: Send + Sync {
    /// The 32 bytes kept under this name; absent when there are none.
    fn get(&self, service: String, account: String) -> Result<Option<Vec<u8>>, SecretStoreError>;
    /// Keeps 32 bytes, replacing older ones.
    fn put(&self, service: String, account: String, secret: Vec<u8>) -> Result<(), SecretStoreError>;
    /// Forgets. Fine when there is nothing.
    fn delete(&self, service: String, account: String) -> Result<(), SecretStoreError>;
    /// Accounts of a service.
    fn accounts(&self, service: String) -> Result<Vec<String>, SecretStoreError>;
}

/// A foreign key store as the core's.
pub(crate) struct ForeignSecrets(pub(crate) Arc<dyn SecretStore>);

impl identity::SecretStore for ForeignSecrets {
    fn label(&self) -> &'static str {
        "the app's own store"
    }

    fn get(&self, service: &str, account: &str) -> Result<Option<Secret>, Error> {
        const DAMAGED: Error = Error::Storage { kind: StorageKind::Corrupt };
        let Some(bytes) = self.0.get(service.to_owned(), account.to_owned())?.map(Zeroizing::new) else {
            return Ok(None);
        };
        let bytes = Zeroizing::new(<[u8; 32]>::try_from(bytes.as_slice()).map_err(|_| DAMAGED)?);
        Secret::from_bytes(*bytes).map(Some).map_err(|_| DAMAGED)
    }

    fn put(&self, service: &str, account: &str, secret: &Secret) -> Result<(), Error> {
        Ok(self.0.put(service.to_owned(), account.to_owned(), secret.to_bytes().to_vec())?)
    }

    fn delete(&self, service: &str, account: &str) -> Result<(), Error> {
        Ok(self.0.delete(service.to_owned(), account.to_owned())?)
    }

    fn accounts(&self, service: &str) -> Result<Vec<String>, Error> {
        let mut accounts = self.0.accounts(service.to_owned())?;
        accounts.truncate(waggle::limits::ACCOUNTS);
        accounts.sort();
        Ok(accounts)
    }
}

/// Why a signer of the app's own refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Error)]
pub enum SignerError {
    /// The person said no.
    Rejected,
    /// The signer cannot be reached.
    Unavailable,
    /// What was to be decrypted is not this account's.
    Undecryptable,
    /// Anything else, an exception of the app's code included.
    Failed,
}

impl std::fmt::Display for SignerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rejected => "the signer refused",
            Self::Unavailable => "the signer cannot be reached",
            Self::Undecryptable => "not this account's",
            Self::Failed => "the signer failed",
        })
    }
}

impl std::error::Error for SignerError {}

impl From<uniffi::UnexpectedUniFFICallbackError> for SignerError {
    fn from(_: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Failed
    }
}

impl From<SignerError> for Error {
    fn from(error: SignerError) -> Self {
        match error {
            SignerError::Rejected => Self::Cancelled { why: "signer" },
            SignerError::Unavailable => Self::Unsupported { what: "signer" },
            SignerError::Undecryptable => Self::InvalidAnswer { why: "undecryptable" },
            SignerError::Failed => Self::InvalidAnswer { why: "signer" },
        }
    }
}

/// An event to be signed. Waggle asks for nothing but authentication, read state and the mute preference.
#[derive(Clone, PartialEq, Eq, uniffi::Record)]
pub struct UnsignedEvent {
    /// Event kind.
    pub kind: u16,
    /// Seconds since 1970.
    pub created_at: u64,
    /// Tags, in order.
    pub tags: Vec<Vec<String>>,
    /// Content; to be encrypted first when `encrypt` says so.
    pub content: String,
    /// Encrypt the content to the account itself (NIP-44 version 2), then sign.
    pub encrypt: bool,
}

impl std::fmt::Debug for UnsignedEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UnsignedEvent(kind {})", self.kind)
    }
}

/// Whoever holds the account's key. What comes back is checked: author, kind, time, tags, content and signature.
#[uniffi::export(with_foreign)]
#[async_trait::async_trait]
pub trait Signer: Send + Sync {
    /// The account.
    fn public_key(&self) -> PublicKey;
    /// Whether it signs read state and preferences, too. If not, this device shows what others read and publishes nothing.
    fn can_publish(&self) -> bool;
    /// Whether it decrypts. If not, read state is not supported on this device.
    fn can_decrypt(&self) -> bool;
    /// The signed event as compact JSON.
    async fn sign(&self, event: UnsignedEvent) -> Result<String, SignerError>;
    /// The plaintext of something the account encrypted to itself. Called on a thread that may wait.
    fn decrypt(&self, payload: String) -> Result<String, SignerError>;
}

/// A foreign signer as the core's.
pub(crate) struct ForeignSigner {
    foreign: Arc<dyn Signer>,
    key: ids::PublicKey,
    verifier: Arc<Verifier>,
}

impl ForeignSigner {
    /// Asks for the account once. Fails with `invalid_argument` when it is no key.
    pub(crate) fn new(foreign: Arc<dyn Signer>) -> Result<Self, Error> {
        let key = foreign.public_key().parse()?;
        Ok(Self { foreign, key, verifier: Arc::new(Verifier::new()) })
    }
}

impl identity::Signer for ForeignSigner {
    fn public_key(&self) -> ids::PublicKey {
        self.key
    }

    fn can_publish(&self) -> bool {
        self.foreign.can_publish()
    }

    fn sign(&self, event: Unsigned, server_time: u64) -> BoxFuture<'static, Result<SignedJson, Error>> {
        let (foreign, verifier, key) = (self.foreign.clone(), self.verifier.clone(), self.key);
        async move {
            event.check(server_time)?;
            let (content, encrypt) = match &event {
                Unsigned::ReadState { plaintext, .. } | Unsigned::Mutes { plaintext, .. } => (plaintext.clone(), true),
                Unsigned::SocketAuth { .. } | Unsigned::HttpAuth { .. } => (String::new(), false),
            };
            let (kind, created_at, tags) = (event.kind(), event.created_at(), event.tags());
            let asked = UnsignedEvent { kind, created_at, tags: tags.clone(), content, encrypt };
            let json = foreign.sign(asked).await?;
            const OTHER: Error = Error::InvalidAnswer { why: "signer" };
            if json.len() > waggle::limits::PENDING_BYTES {
                return Err(Error::Capacity { what: "signed event" });
            }
            let signed = verifier.event(&json).map_err(|_| OTHER)?;
            let same = signed.pubkey == key && signed.kind == kind && signed.created_at == created_at;
            // What was to be encrypted is decrypted and compared by whoever asked for it; of a sign-in nothing is content.
            if !same || signed.tags != tags || !(encrypt || signed.content.is_empty()) {
                return Err(OTHER);
            }
            Ok(SignedJson { id: signed.id, json })
        }
        .boxed()
    }

    fn self_cipher(&self) -> Option<Arc<dyn SelfCipher>> {
        self.foreign.can_decrypt().then(|| Arc::new(ForeignCipher(self.foreign.clone())) as Arc<dyn SelfCipher>)
    }
}

struct ForeignCipher(Arc<dyn Signer>);

impl SelfCipher for ForeignCipher {
    /// A foreign signer encrypts what it signs, in one step.
    fn encrypt(&self, _plaintext: &str, _nonce: [u8; 32]) -> Result<String, Error> {
        Err(Error::Unsupported { what: "encryption without signing" })
    }

    fn decrypt(&self, payload: &str) -> Result<String, Error> {
        let plain = self.0.decrypt(payload.to_owned())?;
        if plain.len() > waggle::limits::BLOB_READ_BYTES {
            return Err(Error::InvalidAnswer { why: "undecryptable" });
        }
        Ok(plain)
    }
}

#[cfg(test)]
#[path = "ports_tests.rs"]
mod tests;
