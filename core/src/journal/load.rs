//! From what a store holds to a [`Record`], or to an error: a damaged record is never taken for an empty one (`unread.md` 8.1).
//!
//! The only lenient parts are those the specification names: a follow choice that cannot be read is skipped (`unread.md` 10), and the
//! home of a message that no kept key names is dropped.

use std::collections::BTreeSet;
use std::fmt;

use super::follows::Choice;
use super::key::{Key, LocalKey};
use super::record::{Fresh, Header, Held, Override, Own, Pending, Place, Record, Row};
use crate::ids::{ChannelId, EventId, SlotId};
use crate::limits;

/// A stored record that breaks a rule. Says which, and nothing of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stored record is damaged: {0}")]
pub struct Damaged(pub &'static str);

/// A record as a store holds it: nothing checked yet.
#[derive(Clone, Default)]
pub struct Stored {
    /// Client id.
    pub client_id: String,
    /// Revision.
    pub revision: i64,
    /// Accepted revision.
    pub accepted_revision: i64,
    /// Time of the last signed event.
    pub last_created_at: i64,
    /// Slots in order, the primary first.
    pub slots: Vec<String>,
    /// Rows, each under its text key.
    pub rows: Vec<(String, StoredRow)>,
    /// Overrides: key, set, clear, baseline.
    pub overrides: Vec<(String, [i64; 3])>,
    /// Manual marks: key, revision.
    pub local: Vec<(String, i64)>,
    /// Pending events in order: JSON, revision.
    pub pending: Vec<(String, i64)>,
    /// Follow choices, oldest first: channel, root, choice, order.
    pub follows: Vec<(String, String, i64, i64)>,
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stored({} rows)", self.rows.len())
    }
}

/// One stored row.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoredRow {
    /// Frontier.
    pub value: Option<i64>,
    /// Whether it is kept in the reserve.
    pub reserved: bool,
    /// Revision of the last local use, 0 = none.
    pub recent: i64,
    /// Channel of the message the key names.
    pub home: Option<String>,
    /// What this installation advanced it to.
    pub own: Option<i64>,
    /// The slot that carries that.
    pub slot: Option<String>,
}

crate::ids::hidden_debug!(StoredRow);

/// What a pending event turns out to be once verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signed {
    /// Its id.
    pub id: EventId,
    /// Its time.
    pub created_at: u64,
    /// The read-state coordinate it names.
    pub slot: SlotId,
}

/// Integers a JSON number can carry exactly, the range of revisions (`unread.md` 8.1).
const SAFE_INTEGER: u64 = (1 << 53) - 1;

fn u32_of(value: i64, what: &'static str) -> Result<u32, Damaged> {
    u32::try_from(value).map_err(|_| Damaged(what))
}

fn revision_of(value: i64, most: u64, least: u64, what: &'static str) -> Result<u64, Damaged> {
    u64::try_from(value).ok().filter(|r| (least..=most).contains(r)).ok_or(Damaged(what))
}

impl Stored {
    /// Checks everything. `verify` says what a pending event is when it verifies and is the viewer's read state, else nothing.
    pub fn validate(self, verify: &dyn Fn(&str) -> Option<Signed>) -> Result<Record, Damaged> {
        let mut record = self.frame()?;
        let mut recents = 0usize;
        for (text, row) in &self.rows {
            let key = Key::parse(text).map_err(|_| Damaged("key"))?;
            let row = row.validate(&key, &record)?;
            recents += usize::from(matches!(row.held, Some(Held { place: Place::Journal { recent: 1.. }, .. })));
            if row.is_empty() || record.rows.contains_key(&key) {
                return Err(Damaged("row"));
            }
            record.put(&key, row);
        }
        if recents > limits::JOURNAL_KEYS {
            return Err(Damaged("interaction order"));
        }
        self.registers(&mut record)?;
        self.marks(&mut record)?;
        self.pending(&mut record, verify)?;
        self.follows(&mut record);
        check_bounds(&record)?;
        Ok(record)
    }

    fn frame(&self) -> Result<Record, Damaged> {
        if !(1..=64).contains(&self.client_id.chars().count()) {
            return Err(Damaged("client id"));
        }
        let slots: Result<Vec<SlotId>, _> = self.slots.iter().map(|slot| SlotId::parse(slot)).collect();
        let slots = slots.map_err(|_| Damaged("slot"))?;
        let distinct: BTreeSet<&SlotId> = slots.iter().collect();
        if distinct.len() != slots.len() || slots.len() > limits::SLOTS {
            return Err(Damaged("slots"));
        }
        let primary = *slots.first().ok_or(Damaged("slots"))?;
        let revision = revision_of(self.revision, SAFE_INTEGER, 0, "revision")?;
        let accepted_revision = revision_of(self.accepted_revision, revision, 0, "accepted revision")?;
        let last_created_at = u32_of(self.last_created_at, "last time")?;
        let mut record = Record::new(Fresh { slot: primary, client_id: self.client_id.clone() });
        record.header = Header { client_id: self.client_id.clone(), revision, accepted_revision, last_created_at };
        record.slots = slots;
        Ok(record)
    }

    fn registers(&self, record: &mut Record) -> Result<(), Damaged> {
        for (text, [set, clear, baseline]) in &self.overrides {
            let key = Key::parse(text).map_err(|_| Damaged("override"))?;
            if text.len() + "ov_s:".len() > limits::KEY_BYTES {
                return Err(Damaged("override"));
            }
            let value = Override {
                set: u32_of(*set, "override")?,
                clear: u32_of(*clear, "override")?,
                baseline: u32_of(*baseline, "override")?,
            };
            record.overrides.insert(key, value);
        }
        Ok(())
    }

    fn marks(&self, record: &mut Record) -> Result<(), Damaged> {
        for (text, revision) in &self.local {
            let key = LocalKey::parse(text).map_err(|_| Damaged("manual mark"))?;
            let revision = revision_of(*revision, record.header.revision, 1, "manual mark")?;
            record.local.insert(key, revision);
        }
        if record.local.len() > limits::LOCAL_MARKS {
            return Err(Damaged("manual marks"));
        }
        Ok(())
    }

    fn pending(&self, record: &mut Record, verify: &dyn Fn(&str) -> Option<Signed>) -> Result<(), Damaged> {
        const WHAT: Damaged = Damaged("pending event");
        for (json, revision) in &self.pending {
            let signed = verify(json).ok_or(WHAT)?;
            let created_at = u32::try_from(signed.created_at).map_err(|_| WHAT)?;
            let fits = json.len() <= limits::PENDING_BYTES
                && record.slots.contains(&signed.slot)
                && created_at <= record.header.last_created_at
                && record.pending.iter().all(|other| other.slot != signed.slot);
            if !fits {
                return Err(WHAT);
            }
            let revision = revision_of(*revision, record.header.revision, 0, "pending event")?;
            let Signed { id, slot, .. } = signed;
            record.pending.push(Pending { id, slot, created_at, revision, json: json.clone() });
        }
        Ok(())
    }

    fn follows(&self, record: &mut Record) {
        let surplus = self.follows.len().saturating_sub(limits::FOLLOWS);
        for (channel, root, following, order) in self.follows.iter().skip(surplus) {
            let key = ChannelId::parse(channel).ok().zip(EventId::parse(root).ok());
            let following = match following {
                0 => false,
                1 => true,
                _ => continue,
            };
            if let (Some(key), Ok(order)) = (key, u64::try_from(*order)) {
                record.follows.put(key, Some(Choice { following, order }));
            }
        }
    }
}

impl StoredRow {
    fn validate(&self, key: &Key, record: &Record) -> Result<Row, Damaged> {
        let recent = revision_of(self.recent, record.header.revision, 0, "interaction order")?;
        if recent > 0 && (self.reserved || self.value.is_none()) {
            return Err(Damaged("interaction order"));
        }
        let place = if self.reserved { Place::Reserve } else { Place::Journal { recent } };
        let held = match self.value {
            Some(value) => Some(Held { value: u32_of(value, "frontier")?, place }),
            None => None,
        };
        let slot = match &self.slot {
            Some(slot) => Some(SlotId::parse(slot).map_err(|_| Damaged("slot"))?),
            None => None,
        };
        if slot.is_some_and(|slot| !record.slots.contains(&slot)) {
            return Err(Damaged("slot"));
        }
        let own = match self.own {
            Some(_) if key.is_message() => return Err(Damaged("own message mark")),
            Some(value) => Some(Own { value: u32_of(value, "own frontier")?, slot }),
            None if slot.is_some() => return Err(Damaged("slot")),
            None => None,
        };
        let home = match &self.home {
            Some(home) => Some(ChannelId::parse(home).map_err(|_| Damaged("home"))?),
            None => None,
        };
        // A home that names nothing kept is dropped silently.
        let home = home.filter(|_| held.is_some() && key.message().is_some());
        Ok(Row { held, own, home })
    }
}

fn check_bounds(record: &Record) -> Result<(), Damaged> {
    let (bytes, keys) = record.journal_size();
    if bytes > limits::RECORD_BLOB_BYTES || keys > limits::JOURNAL_KEYS {
        return Err(Damaged("journal size"));
    }
    let (bytes, keys) = record.reserve_size();
    if bytes > limits::RESERVE_BYTES || keys > limits::RESERVE_KEYS {
        return Err(Damaged("reserve size"));
    }
    if record.totals.own_keys > limits::OWN_KEYS {
        return Err(Damaged("own frontiers"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
