//! What the account writes to itself: events of kind 30078 at a coordinate of their own, encrypted to the account (NIP-RS and the mutes).
//!
//! The one place for the shape of such an event and for the bounds within which one is signed (`unread.md` 13.11). Both the rooms
//! that want one signed and the signer go by it, so none asks for what the other refuses.

use crate::error::Error;
use crate::ids::SlotId;
use crate::limits;

/// Coordinate and topic of the channel-mutes preference.
pub const MUTES: &str = "channel-mutes";
/// Topic of read state.
pub const READ_STATE: &str = "read-state";

/// The coordinate (`d`) of a read-state slot.
pub fn read_state_coordinate(slot: SlotId) -> String {
    format!("{READ_STATE}:{slot}")
}

/// The slot of a read-state coordinate.
pub fn read_state_slot(coordinate: &str) -> Option<SlotId> {
    SlotId::parse(coordinate.strip_prefix(READ_STATE)?.strip_prefix(':')?).ok()
}

/// The tags of an event at a coordinate.
pub fn tags(coordinate: &str, topic: &str) -> Vec<Vec<String>> {
    vec![vec!["d".to_owned(), coordinate.to_owned()], vec!["t".to_owned(), topic.to_owned()]]
}

/// Whether an event may be dated so: within [`limits::PUBLISH_LEAD`] of `server_time`, both in seconds. Fails with `clock`.
pub fn check_time(created_at: u64, server_time: u64) -> Result<(), Error> {
    if created_at.abs_diff(server_time) > limits::PUBLISH_LEAD || u32::try_from(created_at).is_err() {
        let ahead = i64::try_from(created_at).unwrap_or(i64::MAX);
        return Err(Error::Clock { skew: ahead.saturating_sub(i64::try_from(server_time).unwrap_or(i64::MAX)) });
    }
    Ok(())
}

/// Whether a text may be encrypted and signed: 1 to [`limits::BLOB_BYTES`] bytes. Fails with `invalid_argument` or `capacity`.
pub fn check_text(plaintext: &str) -> Result<(), Error> {
    match plaintext.len() {
        0 => Err(Error::InvalidArgument { what: "signed text" }),
        n if n > limits::BLOB_BYTES => Err(Error::Capacity { what: "signed text" }),
        _ => Ok(()),
    }
}
