//! The bounded store of message evidence: what unread counts over (`unread.md` 3).
//!
//! [`Evidence`] holds verified messages, edits and deletions; [`Repair`] plans the reads that fill it. Intake order inside a batch
//! does not matter, references grant no access, and nothing is evicted quietly: at a bound everything goes with an error that
//! stays until a repair succeeds. Windows and timelines are separate; evidence never moves a cursor.

mod access;
mod aside;
mod intake;
mod repair;
mod store;

pub(crate) use crate::idmap::IdMap;
pub use access::{Access, ChannelAccess};
pub use intake::{Delta, Origin};
pub(crate) use repair::{Answered, RepairEnd};
pub use repair::{Dialect, Repair, Ticket};
pub use store::{Entry, Evidence, Handle};
