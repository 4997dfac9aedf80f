//! The one state behind the lock, and who may read what.
//!
//! Invariants: `now_ms` is set once per call and never read from elsewhere; frames for sockets are gathered in `outbox`
//! while a request is worked on and leave in order when it is done, so an OK precedes the pushes it caused.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    Dialect, Keys, RelayConfig, Settings,
    channels::Channel,
    config::Draws,
    counters::Counters,
    event::sha256,
    faults::Faults,
    quota::Quotas,
    socket::{Conn, ServerFrame},
    store::Store,
};

pub(crate) struct State {
    pub(crate) now_ms: u64,
    pub(crate) settings: Settings,
    pub(crate) host: String,
    pub(crate) secure: bool,
    pub(crate) keys: Keys,
    pub(crate) community_id: String,
    pub(crate) draws: Draws,
    pub(crate) store: Store,
    /// Community members in order of arrival, with their role.
    pub(crate) roster: Vec<(String, String)>,
    pub(crate) channels: BTreeMap<String, Channel>,
    /// Person → channels they are a member of.
    pub(crate) memberships: HashMap<String, BTreeSet<String>>,
    /// Person → hidden DMs.
    pub(crate) hidden: BTreeMap<String, BTreeSet<String>>,
    pub(crate) conns: BTreeMap<u64, Conn>,
    pub(crate) next_conn: u64,
    pub(crate) outbox: Vec<(u64, ServerFrame)>,
    /// While set, nothing is pushed.
    pub(crate) quiet: bool,
    pub(crate) quotas: Quotas,
    /// Seen NIP-98 ids and when they may be forgotten (ms).
    pub(crate) replay: HashMap<String, u64>,
    pub(crate) faults: Faults,
    pub(crate) counters: Counters,
}

impl State {
    pub(crate) fn open(config: RelayConfig) -> anyhow::Result<Self> {
        let mut id = [0u8; 16];
        id.copy_from_slice(&sha256(format!("waggle/community/{}", config.host).as_bytes())[..16]);
        let mut state = Self {
            now_ms: config.clock.now_ms(),
            settings: config.settings,
            host: config.host.to_ascii_lowercase(),
            secure: config.secure,
            keys: Keys::new(config.secret_key)?,
            community_id: uuid::Builder::from_random_bytes(id).into_uuid().to_string(),
            draws: Draws::new(config.seed),
            store: Store::open(&config.storage)?,
            roster: Vec::new(),
            channels: BTreeMap::new(),
            memberships: HashMap::new(),
            hidden: BTreeMap::new(),
            conns: BTreeMap::new(),
            next_conn: 1,
            outbox: Vec::new(),
            quiet: false,
            quotas: Quotas::default(),
            replay: HashMap::new(),
            faults: Faults::default(),
            counters: Counters::default(),
        };
        state.restore()?;
        Ok(state)
    }

    /// Reads back what a file keeps beside the events.
    fn restore(&mut self) -> anyhow::Result<()> {
        if let Some(json) = self.store.meta("roster")? {
            self.roster = serde_json::from_str(&json)?;
        }
        if let Some(json) = self.store.meta("hidden")? {
            self.hidden = serde_json::from_str(&json)?;
        }
        for json in self.store.channels()? {
            let channel: Channel = serde_json::from_str(&json)?;
            self.index_members(&channel);
            self.channels.insert(channel.id.clone(), channel);
        }
        Ok(())
    }

    /// Unix seconds.
    pub(crate) fn now(&self) -> u64 {
        self.now_ms / 1000
    }

    /// The role of a person in the community.
    pub(crate) fn community_role(&self, pubkey: &str) -> Option<&str> {
        self.roster.iter().find(|(p, _)| p == pubkey).map(|(_, r)| r.as_str())
    }

    /// Whether a person may read a channel: a member, or it is open; a deleted channel never.
    pub(crate) fn can_read(&self, pubkey: &str, channel: &str) -> bool {
        self.channels.get(channel).is_some_and(|c| !c.deleted && (c.open || c.role(pubkey).is_some()))
    }

    /// Whether a person may read an event stored in `channel`, or in none.
    pub(crate) fn can_read_in(&self, pubkey: &str, channel: Option<&str>) -> bool {
        channel.is_none_or(|c| self.can_read(pubkey, c))
    }

    /// The switches a device sees: those of its open socket, else the newest.
    pub(crate) fn settings_for(&self, label: Option<&str>) -> Settings {
        let own = label.and_then(|l| self.conns.values().rev().find(|c| c.label.as_deref() == Some(l)));
        own.map_or_else(|| self.settings.clone(), |c| c.settings.clone())
    }

    pub(crate) fn index_members(&mut self, channel: &Channel) {
        for (pubkey, _) in &channel.members {
            self.memberships.entry(pubkey.clone()).or_default().insert(channel.id.clone());
        }
    }

    pub(crate) fn save_roster(&self) -> anyhow::Result<()> {
        self.store.save_meta("roster", &serde_json::to_string(&self.roster)?)
    }

    pub(crate) fn save_hidden(&self) -> anyhow::Result<()> {
        self.store.save_meta("hidden", &serde_json::to_string(&self.hidden)?)
    }
}

impl Settings {
    pub(crate) fn is_august(&self) -> bool {
        self.dialect == Dialect::August
    }
}
