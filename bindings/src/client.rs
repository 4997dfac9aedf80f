//! One installation: its accounts, its sessions, its runtime.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use waggle::error::Error;
use waggle::identity::{MemorySecrets, Secret, SecretStore as CoreSecretStore, platform_secrets};
use waggle::relay::net::{NetConfig, NetTransport};
use waggle::session as core;
use zeroize::Zeroizing;

use crate::errors::ClientError;
use crate::ids::PublicKey;
use crate::ports::{ForeignSecrets, ForeignSigner, SecretStore, Signer};
use crate::runtime::{Rt, guarded};
use crate::session::Session;

/// What sort of process this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum Mode {
    /// An app in the foreground.
    App,
    /// A short-lived extension beside the app, with little memory.
    Extension,
}

impl From<Mode> for core::Mode {
    fn from(value: Mode) -> Self {
        match value {
            Mode::App => Self::App,
            Mode::Extension => Self::Extension,
        }
    }
}

/// Where keys are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum KeyStorage {
    /// The platform's key store: Keychain, Android Keystore, Secret Service or the kernel's keyring.
    Platform,
    /// Memory, for as long as the client lives. For previews and tests.
    Memory,
}

/// What a client is opened with.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct ClientConfig {
    /// Folder of this installation's files; created if missing. Reading marks in it must be kept by backups; messages may be lost.
    pub data_dir: String,
    /// What sort of process this is.
    pub mode: Mode,
    /// Speak without TLS to other machines too. For test networks only.
    #[uniffi(default = false)]
    pub allow_plain: bool,
}

/// One installation: its accounts and sessions. Close it to release its threads.
#[derive(Debug, uniffi::Object)]
pub struct Client {
    core: core::Client,
    rt: Rt,
    sessions: Mutex<Vec<Weak<Session>>>,
    closed: AtomicBool,
}

impl Client {
    /// A client around one that Rust code made: with the scenario runner's clock, network and disk.
    pub fn around(core: core::Client, rt: Rt) -> Arc<Self> {
        Arc::new(Self { core, rt, sessions: Mutex::default(), closed: AtomicBool::new(false) })
    }

    /// Sessions that somebody still holds.
    pub fn live_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions().iter().filter_map(Weak::upgrade).collect()
    }

    fn with(config: ClientConfig, secrets: Arc<dyn CoreSecretStore>) -> Result<Arc<Self>, Error> {
        let ClientConfig { data_dir, mode, allow_plain } = config;
        if data_dir.is_empty() {
            return Err(Error::InvalidArgument { what: "data folder" });
        }
        let rt = Rt::new(mode.into())?;
        let transport = Arc::new(NetTransport::new(NetConfig { allow_plain })?);
        let mut core = core::Config::new(PathBuf::from(data_dir), secrets, transport);
        core.mode = mode.into();
        Ok(Self::around(core::Waggle::open(core)?, rt))
    }

    fn open(&self) -> Result<&core::Client, Error> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(&self.core) }
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signs in with text that is wiped here. The app's own copy is the app's to forget.
    async fn sign_in_as(
        &self,
        key: String,
        credential: impl FnOnce(Secret) -> core::Credential,
    ) -> Result<PublicKey, Error> {
        let key = Zeroizing::new(key);
        let (core, credential) = (self.open()?.clone(), credential(Secret::parse(&key)?));
        Ok(self.rt.run(async move { core.sign_in(credential).await }).await?.into())
    }
}

#[uniffi::export]
impl Client {
    /// Opens a client. Cheap: no file is touched and nothing is sent until an account signs in and a session starts. Fails with
    /// `Unsupported` where the system lacks what is needed.
    #[uniffi::constructor]
    pub fn new(config: ClientConfig, keys: KeyStorage) -> Result<Arc<Self>, ClientError> {
        let secrets: Arc<dyn CoreSecretStore> = match keys {
            KeyStorage::Platform => Arc::new(platform_secrets()?),
            KeyStorage::Memory => Arc::new(MemorySecrets::new()),
        };
        Ok(Self::with(config, secrets)?)
    }

    /// Opens a client that keeps keys in the app's own store.
    #[uniffi::constructor]
    pub fn with_secret_store(config: ClientConfig, store: Arc<dyn SecretStore>) -> Result<Arc<Self>, ClientError> {
        Ok(Self::with(config, Arc::new(ForeignSecrets(store)))?)
    }

    /// Signs an account in with its key (`nsec1…` or 64 hex digits) and remembers it in the key store. Nobody is signed in when it fails.
    pub async fn sign_in(&self, key: String) -> Result<PublicKey, ClientError> {
        Ok(guarded(self.sign_in_as(key, core::Credential::Full)).await?)
    }

    /// As `sign_in`, with a key that signs in and reads but never publishes.
    pub async fn sign_in_read_only(&self, key: String) -> Result<PublicKey, ClientError> {
        Ok(guarded(self.sign_in_as(key, core::Credential::ReadOnly)).await?)
    }

    /// Signs in with a signer of the app's own, which keeps the key to itself.
    pub fn sign_in_with(&self, signer: Arc<dyn Signer>) -> Result<PublicKey, ClientError> {
        let signer = ForeignSigner::new(signer)?;
        Ok(self.open()?.sign_in_with(Arc::new(signer)).into())
    }

    /// Makes a new account with a key of its own, and signs it in.
    pub async fn create_account(&self) -> Result<PublicKey, ClientError> {
        let core = self.open()?.clone();
        Ok(self.rt.run(async move { core.create_account().await }).await?.into())
    }

    /// Takes an account whose key is in the key store. Fails with `NotFound` when it is not.
    pub async fn use_account(&self, account: PublicKey) -> Result<(), ClientError> {
        let (core, account) = (self.open()?.clone(), account.parse()?);
        Ok(self.rt.run(async move { core.use_account(account).await }).await?)
    }

    /// An account's key as `nsec1…`, for a backup the person asked for. Show it and forget it.
    pub async fn backup_key(&self, account: PublicKey) -> Result<String, ClientError> {
        let (core, account) = (self.open()?.clone(), account.parse()?);
        Ok(self.rt.run(async move { core.backup_key(account).await }).await?.to_string())
    }

    /// Accounts whose keys are in the key store.
    pub async fn accounts(&self) -> Result<Vec<PublicKey>, ClientError> {
        let core = self.open()?.clone();
        let accounts = self.rt.run(async move { core.accounts().await }).await?;
        Ok(accounts.into_iter().map(PublicKey::from).collect())
    }

    /// The account that is signed in.
    pub fn account(&self) -> Option<PublicKey> {
        self.core.account().map(PublicKey::from)
    }

    /// Forgets an account on this device: its reading marks and messages first, its key last. Its sessions must be closed. Safe to repeat
    /// after a failure.
    pub async fn sign_out(&self, account: PublicKey) -> Result<(), ClientError> {
        let (core, account) = (self.open()?.clone(), account.parse()?);
        Ok(self.rt.run(async move { core.sign_out(account).await }).await?)
    }

    /// A session of the signed-in account with the community at `host` (`wss://…`, or a host alone). Nothing happens until it is started.
    /// Fails with `InvalidArgument` for an address that is none, or when nobody is signed in.
    pub fn session(&self, host: String) -> Result<Arc<Session>, ClientError> {
        let core = {
            let _entered = self.rt.handle().enter();
            self.open()?.session(&host)?
        };
        let session = Arc::new(Session::new(core, self.rt.clone()));
        let mut sessions = self.sessions();
        sessions.retain(|held| held.strong_count() > 0);
        sessions.push(Arc::downgrade(&session));
        Ok(session)
    }

    /// Closes every session, then ends the client's threads. When it returns, every file and lock is released. Idempotent; calls after it
    /// fail with `Closed`.
    pub async fn close(&self) -> Result<(), ClientError> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let open: Vec<_> = self.sessions().drain(..).filter_map(|held| held.upgrade()).collect();
        let mut outcome = Ok(());
        for session in open {
            match guarded(session.core().close()).await {
                Ok(()) | Err(Error::Closed) => {}
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        self.rt.shut_down();
        Ok(outcome?)
    }
}
