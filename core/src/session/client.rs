//! The way in: a client per installation, its accounts, its sessions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, watch};
use zeroize::Zeroizing;

use super::actor::{self, Actor, Cells, TaskPanic, Tasks};
use super::command::{Command, StandingViews};
use super::config::{Config, Credential, Mode};
use super::disk::store_work;
use super::guard::TaskGuard;
use super::handle::{Sender, Session};
use super::input::Input;
use super::open::{self, Opened, StoredEvidence};
use super::view::{Board, Cell, View};
use super::wire::Wire;
use crate::engine::{Engine, Parts, Reply};
use crate::entropy::Entropy;
use crate::error::Error;
use crate::event::Verifier;
use crate::identity::{LocalSigner, ReadOnlySigner, Secret, Signer};
use crate::ids::PublicKey;
use crate::journal::Fresh;
use crate::limits;
use crate::model::{Capability, Completeness, Connectivity, Phase, SidebarState, SyncState, SyncStatus};
use crate::relay::protocol::RelayAddress;
use crate::store::journal::{NoHooks, Partition, SqliteJournal};

/// Name under which keys stand in the platform's key store.
pub const SERVICE: &str = "waggle";

/// Opens clients.
#[derive(Debug, Clone, Copy)]
pub struct Waggle;

impl Waggle {
    /// Opens a client. Cheap: no file is touched and nothing is sent until an account signs in and a session starts. Fails with `unsupported`
    /// where the system has no randomness.
    pub fn open(config: Config) -> Result<Client, Error> {
        let entropy = match config.seed {
            Some(seed) => Entropy::from_seed(seed),
            None => Entropy::from_os()?,
        };
        let state = State { entropy, account: None };
        let verifier = match config.mode {
            Mode::App => Verifier::new(),
            Mode::Extension => Verifier::bounded(limits::EXTENSION_VERIFIED_IDS, limits::EXTENSION_PARSED_KEYS),
        };
        Ok(Client(Arc::new(Inner { config, verifier: Arc::new(verifier), state: Mutex::new(state) })))
    }
}

struct State {
    entropy: Entropy,
    account: Option<Arc<dyn Signer>>,
}

struct Inner {
    config: Config,
    verifier: Arc<Verifier>,
    state: Mutex<State>,
}

/// One installation: its accounts and sessions. Clones are the same client.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

impl Client {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signs an account in and remembers its key in the key store. Sessions opened from now on are this account's.
    ///
    /// Fails with `invalid_argument` for a key that is none, with the store's error when it cannot be kept; nobody is signed in then.
    pub async fn sign_in(&self, credential: Credential) -> Result<PublicKey, Error> {
        let (secret, publishes) = match credential {
            Credential::Full(secret) => (secret, true),
            Credential::ReadOnly(secret) => (secret, false),
        };
        let signer = signer(&secret, publishes)?;
        let account = signer.public_key();
        let store = self.0.config.secrets.clone();
        store_work(self.0.config.blocking, move || store.put(SERVICE, &account.to_hex(), &secret)).await?;
        self.state().account = Some(signer);
        Ok(account)
    }

    /// Makes a new account with a key of its own, and signs it in.
    pub async fn create_account(&self) -> Result<PublicKey, Error> {
        let secret = Secret::generate(&mut self.state().entropy);
        self.sign_in(Credential::Full(secret)).await
    }

    /// An account's key in its NIP-19 form, for a backup the person asked for. Fails with `not_found` when it is not in the key store.
    pub async fn backup_key(&self, account: PublicKey) -> Result<Zeroizing<String>, Error> {
        let store = self.0.config.secrets.clone();
        let secret = store_work(self.0.config.blocking, move || store.get(SERVICE, &account.to_hex())).await?;
        secret.ok_or(Error::NotFound { what: "account" })?.to_nsec()
    }

    /// Takes an account whose key is in the key store. Fails with `not_found` when it is not.
    pub async fn use_account(&self, account: PublicKey) -> Result<(), Error> {
        let store = self.0.config.secrets.clone();
        let secret = store_work(self.0.config.blocking, move || store.get(SERVICE, &account.to_hex())).await?;
        let signer = signer(&secret.ok_or(Error::NotFound { what: "account" })?, true)?;
        self.state().account = Some(signer);
        Ok(())
    }

    /// Signs in with a signer of the app's own, which keeps the key to itself.
    pub fn sign_in_with(&self, signer: Arc<dyn Signer>) -> PublicKey {
        let account = signer.public_key();
        self.state().account = Some(signer);
        account
    }

    /// Accounts whose keys are in the key store.
    pub async fn accounts(&self) -> Result<Vec<PublicKey>, Error> {
        let store = self.0.config.secrets.clone();
        let names = store_work(self.0.config.blocking, move || store.accounts(SERVICE)).await?;
        Ok(names.iter().filter_map(|name| PublicKey::parse(name).ok()).collect())
    }

    /// The account that is signed in.
    pub fn account(&self) -> Option<PublicKey> {
        self.state().account.as_ref().map(|s| s.public_key())
    }

    /// Forgets an account on this device: its reading marks and messages first, its key last, so that no failure leaves a key behind that is
    /// listed nowhere. Its sessions must be closed. Safe to repeat after a failure.
    pub async fn sign_out(&self, account: PublicKey) -> Result<(), Error> {
        let (dir, store) = (self.0.config.data_dir.clone(), self.0.config.secrets.clone());
        store_work(self.0.config.blocking, move || {
            let files = super::disk::Files::in_dir(&dir);
            SqliteJournal::sign_out(&files.journal, &account, &NoHooks)?;
            if files.cache.exists() {
                crate::store::cache::Cache::open(&files.cache)?.sign_out(&account)?;
            }
            store.delete(SERVICE, &account.to_hex())
        })
        .await?;
        let mut state = self.state();
        state.account.take_if(|s| s.public_key() == account);
        Ok(())
    }

    /// A session of the signed-in account with the community at `host` (`wss://…`, or a host alone). Nothing happens until
    /// [`Session::start`]. Must be called on a tokio runtime, where the session's task then lives.
    ///
    /// Fails with `invalid_argument` for an address that is none, or when nobody is signed in.
    pub fn session(&self, host: &str) -> Result<Session, Error> {
        let address = RelayAddress::parse(host)?;
        let (signer, entropy) = {
            let mut state = self.state();
            let signer =
                state.account.clone().ok_or(Error::InvalidArgument { what: "account: nobody is signed in" })?;
            (signer, state.entropy.fork())
        };
        Ok(spawn(self.0.config.clone(), self.0.verifier.clone(), address, signer, entropy))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client(…)")
    }
}

fn signer(secret: &Secret, publishes: bool) -> Result<Arc<dyn Signer>, Error> {
    let local = LocalSigner::new(secret)?;
    Ok(if publishes { Arc::new(local) } else { Arc::new(ReadOnlySigner(Arc::new(local))) })
}

/// What this device can do with read state (`unread.md` 9.6).
fn capability(signer: &dyn Signer) -> Capability {
    match (signer.self_cipher().is_some(), signer.can_publish()) {
        (false, _) => Capability::Unsupported,
        (true, false) => Capability::ReadOnly,
        (true, true) => Capability::FrontierSync,
    }
}

fn spawn(
    config: Config,
    verifier: Arc<Verifier>,
    address: RelayAddress,
    signer: Arc<dyn Signer>,
    entropy: Entropy,
) -> Session {
    let (call_tx, call_rx) = mpsc::channel(limits::COMMANDS);
    let (post_tx, post_rx) = mpsc::unbounded_channel();
    let (ended_tx, ended) = watch::channel(false);
    let guard = Arc::new(TaskGuard::new(ended));
    let account = signer.public_key();
    let capability = capability(&*signer);
    let cells = cells(capability);
    let views = StandingViews {
        sidebar: View::new(cells.sidebar.clone()),
        sync: View::new(cells.sync.clone()),
        connectivity: View::new(cells.connectivity.clone()),
    };
    let parts = Opening { config, verifier, address, signer, entropy, capability, cells };
    let failed = parts.cells.connectivity.clone();
    let board = parts.cells.board.clone();
    let task = tokio::spawn(async move {
        let ended_tx = ended_tx;
        opening(parts, call_rx, post_rx).await;
        let _ = ended_tx.send(true);
    });
    guard.set(task.abort_handle());
    // The parent of the session's task: a panic in it becomes a failure somebody can see.
    tokio::spawn(async move {
        if let Err(ended) = task.await
            && let Ok(panic) = ended.try_into_panic()
        {
            let task = panic.downcast_ref::<TaskPanic>().map_or("session", |p| p.0);
            board.publish(vec![failed.update(Connectivity {
                phase: Phase::Closed,
                sentence: "Waggle failed inside and stopped. What was saved is safe; start again.".to_owned(),
                repair: None,
                retry_in: None,
                error: Some(Error::Failed { task }),
            })]);
        }
        failed.close();
    });
    Session { sender: Sender::new(call_tx, post_tx, guard), account, views }
}

fn cells(capability: Capability) -> Cells {
    let board = Arc::new(Board::default());
    let sync = SyncStatus {
        state: SyncState::Loading,
        completeness: Completeness::Unknown,
        pending: false,
        capability,
        error: None,
    };
    let line = Connectivity {
        phase: Phase::Idle,
        sentence: "Not connected.".to_owned(),
        repair: None,
        retry_in: None,
        error: None,
    };
    Cells {
        sidebar: Cell::new(board.clone(), SidebarState::default()),
        sync: Cell::new(board.clone(), sync),
        connectivity: Cell::new(board.clone(), line),
        unread: BTreeMap::new(),
        activity: BTreeMap::new(),
        timelines: BTreeMap::new(),
        board,
    }
}

/// A session that was not started yet.
struct Opening {
    config: Config,
    verifier: Arc<Verifier>,
    address: RelayAddress,
    signer: Arc<dyn Signer>,
    entropy: Entropy,
    capability: Capability,
    cells: Cells,
}

/// Waits for the start, opens what the device holds, then runs. A start that fails leaves the session as it was, to be started again.
async fn opening(mut parts: Opening, mut calls: mpsc::Receiver<Command>, mut posts: mpsc::UnboundedReceiver<Command>) {
    loop {
        let answer = tokio::select! {
            biased;
            command = calls.recv() => match command {
                Some(Command::Start(answer)) => answer,
                Some(command) => {
                    if refuse(command) {
                        return;
                    }
                    continue;
                }
                None => return,
            },
            Some(_) = posts.recv() => continue,
        };
        match open_files(&mut parts).await {
            Ok(opened) => {
                let (actor, inputs) = assemble(parts, opened);
                return actor.run(answer, calls, posts, inputs).await;
            }
            Err(error) => drop(answer.send(Err(error))),
        }
    }
}

/// Answers a command of a session that is not started. Whether it ends the session.
fn refuse(command: Command) -> bool {
    const WHY: Error = Error::InvalidArgument { what: "session: not started" };
    match command {
        Command::Call(call, answer) => {
            let over = matches!(call, crate::engine::Call::Close);
            let _ = answer.send(if over { Ok(Reply::Done) } else { Err(WHY) });
            over
        }
        // Dropping the answer says `closed`, which is what a session that never started is to everybody else.
        _ => false,
    }
}

async fn open_files(parts: &mut Opening) -> Result<Opened, Error> {
    let partition = Partition { host: parts.address.host().to_owned(), account: parts.signer.public_key() };
    let fresh = Fresh { slot: parts.entropy.slot(), client_id: parts.entropy.uuid() };
    let (dir, hooks, verifier) = (parts.config.data_dir.clone(), parts.config.disk.clone(), parts.verifier.clone());
    let mode = parts.config.mode;
    store_work(parts.config.blocking, move || open::open(&dir, partition, fresh, hooks, &verifier, mode)).await
}

fn assemble(parts: Opening, opened: Opened) -> (Actor, mpsc::Receiver<Input>) {
    let Opening { config, verifier, address, signer, mut entropy, capability, cells } = parts;
    let (input_tx, inputs) = mpsc::channel(limits::SESSION_INPUTS);
    let wire = Wire {
        transport: config.transport.clone(),
        signer: signer.clone(),
        verifier,
        address: Arc::new(address.clone()),
        inputs: input_tx,
        blocking: config.blocking,
    };
    let engine = Engine::new(Parts {
        address,
        account: signer.public_key(),
        capability,
        record: opened.journal.record().clone(),
        entropy: entropy.fork(),
        kept: opened.kept,
        live: config.mode == Mode::App,
        now: config.clock.now(),
    });
    let mut tasks = Tasks::default();
    let (journal, cache) = actor::start_lines(&mut tasks, (opened.journal, opened.cache), &config, &wire);
    tasks.spawn("restore", restore_evidence(opened.evidence, wire.clone()));
    let actor = Actor {
        engine,
        config,
        wire,
        entropy,
        cells,
        journal,
        cache,
        tasks,
        exchanges: BTreeMap::new(),
        link: Vec::new(),
        socket: None,
        answers: BTreeMap::new(),
        next_call: 0,
    };
    (actor, inputs)
}

/// Verifies kept evidence and hands it over. It may be 8 MiB of signatures, so the session is in use meanwhile (P14); it is handed over as
/// one batch, because a deletion must meet its target.
async fn restore_evidence(stored: StoredEvidence, wire: Wire) {
    if stored.events.is_empty() && stored.structure.is_empty() {
        return;
    }
    let Wire { verifier, inputs, blocking, .. } = wire;
    let verify = move || {
        let each = |json: &[String]| json.iter().filter_map(|text| verifier.event(text).ok()).collect::<Vec<_>>();
        Input::Evidence { events: each(&stored.events), structure: each(&stored.structure), deleted: stored.deleted }
    };
    if let Some(input) = blocking.run(verify).await {
        let _ = inputs.send(input).await;
    }
}
