//! A verified event and the facts read from it once.
//!
//! An [`Event`] exists only if its id is the hash of its fields and its signature verifies: the one way to get one is
//! [`Verifier`]. Facts (channel, ancestry, broadcast, audience) are read at that moment and never again; they come from the
//! original event, so an edit can change none of them (R11). Nothing here grants access: a reference is a claim.

pub mod app_data;
pub mod authority;
mod fold;
pub mod kept;
mod verify;

pub mod kinds;

use std::sync::Arc;

use crate::ids::{ChannelId, EventId, PublicKey, Signature};
use crate::order::RowKey;

pub use fold::{Epoch, Fold, FoldFacts};
pub use verify::{Batch, RejectReason, Rejected, Verifier, canonical_id};

/// The marked reference of a reply (`unread.md` 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The event this one answers: the last valid `reply` marker.
    pub parent: EventId,
    /// The root it *claims*: the last valid `root` marker, else the parent.
    pub root: EventId,
}

/// Which channel an event says it belongs to, by its `h` tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// No `h` tag.
    None,
    /// Exactly one `h` tag with a canonical channel id.
    Channel(ChannelId),
    /// Several `h` tags, or one that is no channel id: belongs nowhere.
    Invalid,
}

/// A verified event. Immutable; share it by `Arc`.
pub struct Event {
    /// Hash of the other fields.
    pub id: EventId,
    /// The signer.
    pub pubkey: PublicKey,
    /// Seconds since 1970, as the signer says.
    pub created_at: u64,
    /// Event kind.
    pub kind: u16,
    /// Tags in signed order.
    pub tags: Vec<Vec<String>>,
    /// Content as signed.
    pub content: String,
    /// Schnorr signature over the id.
    pub sig: Signature,
    /// UTF-8 length of the event's compact JSON, which evidence is bounded by (`unread.md` 3.1).
    pub json_len: usize,
    /// Channel scope.
    pub scope: Scope,
    /// Set when this is a reply.
    pub reference: Option<Reference>,
    /// Whether some tag is `["broadcast","1",…]`.
    pub broadcast: bool,
    /// Whether the declared audience is `agents` (R10; `unread.md` 1.2).
    pub quiet: bool,
    /// Whether there is any `p` tag: most messages have none, and then their tags need not be looked at for a mention.
    pub addressed: bool,
}

impl Event {
    /// The channel, if the event names exactly one.
    pub fn channel(&self) -> Option<ChannelId> {
        match self.scope {
            Scope::Channel(c) => Some(c),
            Scope::None | Scope::Invalid => None,
        }
    }

    /// Position among rows.
    pub fn key(&self) -> RowKey {
        RowKey::new(self.created_at, self.id)
    }

    /// The root this message's follow choice goes by: its claimed root, or itself when top-level (`unread.md` 10).
    pub fn claimed_root(&self) -> EventId {
        self.reference.map_or(self.id, |r| r.root)
    }

    /// Second elements of all tags called `name`.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.tags
            .iter()
            .filter(move |t| t.first().is_some_and(|n| n == name))
            .filter_map(|t| t.get(1).map(String::as_str))
    }

    /// The second element of the only tag called `name`; none when there are several or none.
    pub fn single(&self, name: &str) -> Option<&str> {
        let mut all = self.tags.iter().filter(|t| t.first().is_some_and(|n| n == name));
        let tag = all.next()?;
        if all.next().is_some() {
            return None;
        }
        tag.get(1).map(String::as_str)
    }

    /// Ids of all `e` tags, whatever their marker: the targets of a deletion or an edit. Malformed ones are skipped.
    pub fn e_targets(&self) -> impl Iterator<Item = EventId> + '_ {
        self.values("e").filter_map(EventId::parse_reference)
    }

    /// Whether some `p` tag names `viewer_hex` byte for byte (`unread.md` 1.2). Not yet a mention: see workflow attribution.
    pub fn p_tags(&self, viewer_hex: &str) -> bool {
        self.addressed && self.values("p").any(|v| v == viewer_hex)
    }

    /// Whether the event mentions the viewer (`unread.md` 1.4). `relay` is the trusted NIP-11 `self` key, if known.
    pub fn mentions(&self, viewer_hex: &str, relay: Option<&PublicKey>) -> bool {
        if !self.p_tags(viewer_hex) {
            return false;
        }
        let attributed = self.kind == kinds::CHAT
            && relay == Some(&self.pubkey)
            && self.values("buzz:workflow").any(|v| v == "true")
            && self.values("buzz:workflow-owner").any(|v| v == viewer_hex);
        !attributed || self.values("buzz:workflow-mention").any(|v| v == viewer_hex)
    }

    /// The author whom the relay attributes the event to, when `relay` signed it: the first `actor` tag with a key, else a
    /// leading `p` tag when the event has a channel (`unread.md` 3.3). For other signers the signer.
    pub fn author(&self, relay: Option<&PublicKey>) -> PublicKey {
        if relay != Some(&self.pubkey) {
            return self.pubkey;
        }
        if let Some(actor) = self.values("actor").find_map(|v| PublicKey::parse(v).ok()) {
            return actor;
        }
        let leading = self.tags.first().filter(|t| t.first().is_some_and(|n| n == "p")).and_then(|t| t.get(1));
        match leading.and_then(|v| PublicKey::parse(v).ok()) {
            Some(p) if self.scope != Scope::None => p,
            _ => self.pubkey,
        }
    }

    /// The event as compact JSON.
    pub fn to_json(&self) -> String {
        verify::to_json(self)
    }

    /// The text a person reads: content, or for a structured body its string member `content` (`unread.md` 1.1).
    pub fn text(&self) -> String {
        display_text(self.kind, &self.content)
    }
}

/// The text of content under a kind: kind 40002 may wrap it in an object.
pub fn display_text(kind: u16, content: &str) -> String {
    if kind == kinds::RICH
        && let Ok(serde_json::Value::Object(body)) = serde_json::from_str(content)
        && let Some(serde_json::Value::String(text)) = body.get("content")
    {
        return text.clone();
    }
    content.to_owned()
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Event(kind {}, {} B)", self.kind, self.json_len)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.sig == other.sig
    }
}

/// A shared verified event.
pub type SharedEvent = Arc<Event>;

/// Parses the marked reference of a reply. Last valid marker wins; an invalid id never clears an earlier valid one; a lone
/// `root` marker makes no reply (`unread.md` 2.1).
pub fn parse_reference(tags: &[Vec<String>]) -> Option<Reference> {
    let (mut root, mut parent) = (None, None);
    for tag in tags {
        let [name, id, _, marker, ..] = tag.as_slice() else { continue };
        if name != "e" {
            continue;
        }
        let slot = match marker.as_str() {
            "root" => &mut root,
            "reply" => &mut parent,
            _ => continue,
        };
        if let Some(id) = EventId::parse_reference(id) {
            *slot = Some(id);
        }
    }
    parent.map(|parent| Reference { parent, root: root.unwrap_or(parent) })
}

fn parse_scope(tags: &[Vec<String>]) -> Scope {
    let mut all = tags.iter().filter(|t| t.first().is_some_and(|n| n == "h"));
    match (all.next(), all.next()) {
        (None, _) => Scope::None,
        (Some(tag), None) => tag.get(1).and_then(|v| ChannelId::parse(v).ok()).map_or(Scope::Invalid, Scope::Channel),
        (Some(_), Some(_)) => Scope::Invalid,
    }
}

fn parse_quiet(tags: &[Vec<String>]) -> bool {
    let mut all = tags.iter().filter(|t| t.first().is_some_and(|n| n == "audience"));
    match (all.next(), all.next()) {
        (Some(tag), None) => tag.len() == 2 && tag[1] == "agents",
        _ => false,
    }
}

fn parse_broadcast(tags: &[Vec<String>]) -> bool {
    tags.iter().any(|t| t.len() >= 2 && t[0] == "broadcast" && t[1] == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn e(id: &str, marker: &str) -> Vec<String> {
        vec!["e".into(), id.into(), String::new(), marker.into()]
    }

    /// `unread.md` 2.6, rows 2.1–2.10 and 2.20.
    #[test]
    fn marked_references() {
        let (r, a, b) = ("11".repeat(32), "AA".repeat(32), "bb".repeat(32));
        let id = |t: &str| EventId::parse_reference(t).unwrap();
        let parse = |tags: &[Vec<String>]| parse_reference(tags);
        assert_eq!(parse(&[]), None);
        assert_eq!(parse(&[e(&r, "root")]), None);
        let both = Some(Reference { parent: id(&a), root: id(&r) });
        assert_eq!(parse(&[e(&r, "root"), e(&a, "reply")]), both);
        assert_eq!(parse(&[e(&r, "root"), e(&a.to_lowercase(), "reply")]), both);
        assert_eq!(parse(&[e(&a, "reply"), e(&b, "reply")]), Some(Reference { parent: id(&b), root: id(&b) }));
        assert_eq!(parse(&[e(&r, "root"), e("xyz", "root"), e(&a, "reply"), e("xyz", "reply")]), both);
        assert_eq!(parse(&[e(&r, "Reply")]), None);
        assert_eq!(parse(&[e(&r, "mention")]), None);
        assert_eq!(parse(&[vec!["e".into(), r.clone()]]), None);
        assert_eq!(parse(&[e(&r[1..], "reply")]), None);
    }

    /// `unread.md` 1.2: only an exact, single audience tag is a declaration (1.22).
    #[test]
    fn audience_declaration() {
        let tag = |v: &[&str]| v.iter().map(|s| (*s).to_string()).collect::<Vec<_>>();
        let agents = tag(&["audience", "agents"]);
        assert!(parse_quiet(std::slice::from_ref(&agents)));
        assert!(!parse_quiet(&[agents.clone(), agents]));
        assert!(!parse_quiet(&[tag(&["audience", "agents", "x"])]));
        assert!(!parse_quiet(&[tag(&["audience", "Agents"])]));
        assert!(!parse_quiet(&[tag(&["audience"])]));
    }

    #[test]
    fn structured_bodies_show_their_text() {
        assert_eq!(display_text(kinds::RICH, r#"{"content":"hi"}"#), "hi");
        assert_eq!(display_text(kinds::RICH, r#"{"content":1}"#), r#"{"content":1}"#);
        assert_eq!(display_text(kinds::CHAT, r#"{"content":"hi"}"#), r#"{"content":"hi"}"#);
    }
}
