//! What comes back to the session's task from the work it handed out.

use tokio::sync::mpsc;

use crate::directory::mutes;
use crate::engine::OpId;
use crate::error::{Error, NetworkFailure};
use crate::event::SharedEvent;
use crate::event::kept::KeptPage;
use crate::ids::EventId;
use crate::journal::Record;
use crate::read_state::{self, CryptoResult};
use crate::relay::connection::{self, Attempt};
use crate::relay::transport::ClientFrame;
use crate::request::{Outcome, RequestId};
use crate::store::journal::Saved;
use crate::window::TimelineKey;

/// One report.
pub(super) enum Input {
    /// Of the connection.
    Link(connection::Input),
    /// A socket opened, or did not.
    Dialled(Attempt, Result<mpsc::Sender<ClientFrame>, NetworkFailure>),
    /// An exchange ended; with the answer's date.
    Exchange(RequestId, Outcome, Option<u64>),
    /// A save ended.
    Saved(OpId, Result<Saved, Error>),
    /// The record was looked at again.
    Reloaded(OpId, Result<Option<Box<Record>>, Error>),
    /// The publisher lock.
    Locked(OpId, Result<(), Error>),
    /// Read-state crypto.
    Crypto(read_state::JobId, CryptoResult),
    /// Mute-preference crypto.
    MuteJob(mutes::JobId, mutes::JobResult),
    /// Pages from the cache.
    Restored(TimelineKey, Vec<KeptPage>),
    /// Evidence from the cache.
    Evidence {
        /// Messages and what changes them.
        events: Vec<SharedEvent>,
        /// Those known to be deleted.
        deleted: Vec<EventId>,
        /// Parents and roots.
        structure: Vec<SharedEvent>,
    },
}
