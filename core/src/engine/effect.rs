//! What the engine wants done, and what changed for whoever looks.

use super::{CallId, OpId};
use crate::directory::{StoredChannel, mutes};
use crate::error::Error;
use crate::event::SharedEvent;
use crate::event::kept::KeptPage;
use crate::ids::{ChannelId, EventId, PublicKey, Target};
use crate::journal::{Facts, Mutation};
use crate::model::{Connectivity, Receipt, SidebarState, SyncStatus, ThreadActivity, TimelineState, UnreadSnapshot};
use crate::read_state::CryptoJob;
use crate::relay::connection;
use crate::request::{Request, RequestId};
use crate::store::journal::Cancel;
use crate::window::TimelineKey;

/// Something to be carried out by the session. Each kind says what comes back.
#[derive(Debug)]
pub enum Effect {
    /// Of the connection; reported by [`super::Engine::on_link`].
    Link(connection::Effect),
    /// Make this exchange, signed anew at `server_time`; reported by [`super::Engine::on_exchange`].
    Exchange {
        /// The request.
        id: RequestId,
        /// What to send.
        request: Request,
        /// The relay's time, seconds.
        server_time: u64,
    },
    /// Drop that exchange; nothing is reported any more.
    Abort(RequestId),
    /// Save this; saves are carried out one at a time in this order. Reported by [`super::Engine::on_saved`].
    Save {
        /// The operation.
        op: OpId,
        /// The change.
        mutation: Mutation,
        /// Facts about the messages it concerns.
        facts: Facts,
        /// Voids it while it is not committed.
        cancel: Cancel,
    },
    /// Read the record again if another process wrote it; in line with the saves. Reported by [`super::Engine::on_reloaded`].
    Reload(OpId),
    /// Take the publisher lock; in line with the saves. Reported by [`super::Engine::on_lock`].
    Lock(OpId),
    /// Give the publisher lock back.
    Unlock,
    /// Read state: decrypt, or encrypt and sign. Reported by [`super::Engine::on_crypto`].
    Crypto(CryptoJob),
    /// The mute preference: the same. Reported by [`super::Engine::on_mute_job`].
    MuteJob(mutes::Job),
    /// Read the kept pages of a timeline. Reported by [`super::Engine::on_restored`].
    Restore(TimelineKey),
    /// Bring the disposable cache up to date. Nothing is reported: losing one costs a read later.
    Keep(Keep),
    /// A call is finished.
    Answer(CallId, Result<Reply, Error>),
    /// Everything is through: release files and locks, and for a leave delete this partition first.
    End {
        /// Whether the community is left.
        leave: bool,
        /// The call that waits for it.
        call: CallId,
        /// What it answers when releasing succeeds.
        outcome: Result<(), Error>,
    },
}

/// One change of the disposable cache.
pub enum Keep {
    /// Pages of a timeline.
    Pages(TimelineKey, Vec<KeptPage>),
    /// Directory events.
    Channels(Vec<(ChannelId, StoredChannel)>),
    /// Evidence that was added.
    Evidence(Vec<SharedEvent>),
    /// Structure: parents and roots (R8d).
    Structure(Vec<SharedEvent>),
    /// Events known to be deleted.
    Deleted(Vec<EventId>),
    /// All evidence is gone.
    NoEvidence,
    /// A channel is not readable any more.
    Forget(ChannelId),
    /// The relay's `self` key, and whether it shows thread replies as rows.
    Relay(Option<PublicKey>),
    /// The confirmed mute preference.
    Mutes(String),
    /// Profiles.
    Profiles(Vec<SharedEvent>),
}

// Shapes only.
impl std::fmt::Debug for Keep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pages(..) => "Pages(…)",
            Self::Channels(_) => "Channels(…)",
            Self::Evidence(_) => "Evidence(…)",
            Self::Structure(_) => "Structure(…)",
            Self::Deleted(_) => "Deleted(…)",
            Self::NoEvidence => "NoEvidence",
            Self::Forget(_) => "Forget(…)",
            Self::Relay(_) => "Relay(…)",
            Self::Mutes(_) => "Mutes(…)",
            Self::Profiles(_) => "Profiles(…)",
        })
    }
}

/// What a completed call answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Done.
    Done,
    /// Saved.
    Saved(Receipt),
    /// Yes or no.
    Flag(bool),
    /// A snapshot.
    Unread(Box<UnreadSnapshot>),
    /// Thread activity.
    Activity(Box<ThreadActivity>),
    /// How many channels a sweep saved.
    Swept(u32),
}

/// A view's new value.
#[derive(Debug)]
pub enum Change {
    /// Of a target somebody watches.
    Unread(Target, UnreadSnapshot),
    /// Of a channel somebody watches.
    Activity(ChannelId, ThreadActivity),
    /// Of an open timeline.
    Timeline(TimelineKey, TimelineState),
    /// The sidebar.
    Sidebar(SidebarState),
    /// Synchronisation.
    Sync(SyncStatus),
    /// The status line.
    Connectivity(Connectivity),
}
