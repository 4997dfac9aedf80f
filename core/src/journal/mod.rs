//! The durable record of reading: what was read, marked and chosen on this device, and what of it is still to be published.
//!
//! Algorithm. A [`Record`] is the whole state of one (community host, account). A change is a [`Mutation`], data that
//! [`apply()`] turns into a [`Diff`] against the latest record, inside the transaction that saves it; whoever holds the record then
//! [adopts](Record::adopt) the diff. A failed transaction leaves nothing behind, so memory is never ahead of the disk. Every save runs
//! retention: what exceeds the journal's budget moves to the local-only reserve (`retain`), and a mark that a kept broader one
//! covers is dropped (`coverage`). Both work on what the mutation touches; everything is looked at only under pressure or
//! while overrides exist.
//!
//! Invariants. A frontier kept in journal ∪ reserve never sinks; it can only be evicted or covered. Coverage changes no read result.
//! Overrides and their floors are never truncated: a save that cannot hold them fails. `own` never contains a `msg:` key.

mod apply;
pub mod bytes;
mod coverage;
mod diff;
mod follows;
pub mod homes;
mod key;
mod load;
mod mutation;
mod record;
mod retain;

use crate::error::Error;
use crate::limits;

pub use apply::apply;
pub use coverage::{Coverage, Facts, MessageFact, NoFacts};
pub use diff::Diff;
pub use follows::{Choice, FollowChanges, FollowKey, Follows};
pub use key::{Breadth, Key, LocalKey, OpaqueKey};
pub use load::{Damaged, Signed, Stored, StoredRow};
pub use mutation::{Fence, Mark, Merge, Mutation, Read};
pub use record::{Fresh, Header, Held, Override, Own, Pending, Place, Record, Row};

/// Why a mutation does not apply. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// A newer manual mark voids the intent (`unread.md` 6.1).
    #[error("newer intent")]
    Fenced,
    /// A bound was reached that nothing may be dropped for.
    #[error("capacity reached: {0}")]
    Capacity(&'static str),
    /// The mutation does not fit the record.
    #[error("invalid: {0}")]
    Invalid(&'static str),
}

impl From<JournalError> for Error {
    fn from(value: JournalError) -> Self {
        match value {
            JournalError::Fenced => Self::Cancelled { why: "newer manual mark" },
            JournalError::Capacity(what) => Self::Capacity { what },
            JournalError::Invalid(what) => Self::InvalidArgument { what },
        }
    }
}

/// Whether a peer's frontier lies too far ahead of the relay's time to be merged yet (R12): more than 900 s, unless it is a `msg:` mark. Such
/// a value stays out of the record altogether, so it hides no lower valid one; the caller merges again when time has caught up.
pub fn is_ahead(key: &Key, value: u32, server_now: u64) -> bool {
    !key.is_message() && u64::from(value) > server_now.saturating_add(limits::RELAY_DRIFT)
}
