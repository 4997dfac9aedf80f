//! Misbehaviour on demand: the next matching answers go wrong, after letting some pass.
//!
//! A fault matches answers, not time: `skip` matching ones pass, then `times` go wrong, then it is spent. Several faults may
//! wait at once; the first that fires wins, and only a fault that fires is spent. A fault with a label touches that device only.

use std::str::FromStr;

use crate::purpose::Purpose;

/// How an answer goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// A publication is stored, its answer is lost.
    PublishLost,
    /// A publication is refused as too old.
    PublishRefusedTimestamp,
    /// A publication is refused.
    PublishRefused,
    /// Any request is refused with a wait of 30 s.
    RateLimited,
    /// A query answers 500.
    Http500,
    /// A query's body is cut off.
    TruncatedBody,
    /// A window answer without its 39006.
    NoBounds,
    /// A window answer with two different 39006.
    TwoBounds,
    /// A 39006 bound to another cursor.
    BoundsWrongCursor,
    /// A 39006 signed by another key.
    BoundsWrongSigner,
    /// A 39006 with more but no cursor, or a cursor but no more.
    BoundsInconsistent,
    /// A further page whose rows lie before its cursor.
    RowsBeforeCursor,
    /// A further page whose next cursor is its own.
    BoundsStuck,
    /// A 39005 signed by another key.
    OverlayForged,
    /// A snapshot with `complete: false`.
    SnapshotIncomplete,
    /// A snapshot of another community.
    SnapshotOtherCommunity,
    /// A snapshot with one damaged signature.
    SnapshotForged,
    /// A snapshot answered 503.
    SnapshotUnavailable,
    /// A REQ's EOSE is withheld.
    NoEose,
    /// An evidence read answers 500.
    EvidenceFails,
    /// A look-up answers 500.
    LookupFails,
    /// A read-back answers nothing.
    ReadbackEmpty,
}

const NAMES: [(&str, FaultKind); 22] = [
    ("publish_lost", FaultKind::PublishLost),
    ("publish_refused_timestamp", FaultKind::PublishRefusedTimestamp),
    ("publish_refused", FaultKind::PublishRefused),
    ("rate_limited", FaultKind::RateLimited),
    ("http_500", FaultKind::Http500),
    ("truncated_body", FaultKind::TruncatedBody),
    ("no_bounds", FaultKind::NoBounds),
    ("two_bounds", FaultKind::TwoBounds),
    ("bounds_wrong_cursor", FaultKind::BoundsWrongCursor),
    ("bounds_wrong_signer", FaultKind::BoundsWrongSigner),
    ("bounds_inconsistent", FaultKind::BoundsInconsistent),
    ("rows_before_cursor", FaultKind::RowsBeforeCursor),
    ("bounds_stuck", FaultKind::BoundsStuck),
    ("overlay_forged", FaultKind::OverlayForged),
    ("snapshot_incomplete", FaultKind::SnapshotIncomplete),
    ("snapshot_other_community", FaultKind::SnapshotOtherCommunity),
    ("snapshot_forged", FaultKind::SnapshotForged),
    ("snapshot_unavailable", FaultKind::SnapshotUnavailable),
    ("no_eose", FaultKind::NoEose),
    ("evidence_fails", FaultKind::EvidenceFails),
    ("lookup_fails", FaultKind::LookupFails),
    ("readback_empty", FaultKind::ReadbackEmpty),
];

impl FromStr for FaultKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        NAMES.iter().find(|(n, _)| *n == name).map(|(_, k)| *k).ok_or_else(|| format!("unknown fault {name}"))
    }
}

impl FaultKind {
    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, k)| *k == self).map_or("", |(n, _)| n)
    }
}

/// A fault waiting for its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// How.
    pub kind: FaultKind,
    /// How many answers go wrong.
    pub times: u32,
    /// How many matching answers pass first.
    pub skip: u32,
    /// The only device touched, or all.
    pub label: Option<String>,
}

impl Fault {
    /// One answer goes wrong, the next.
    pub fn once(kind: FaultKind) -> Self {
        Self { kind, times: 1, skip: 0, label: None }
    }
}

/// The faults that wait.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn waiting(&self) -> Vec<Fault> {
        self.0.clone()
    }

    /// Which of `kinds` strikes an answer to `label` now.
    pub(crate) fn strike(&mut self, kinds: &[FaultKind], label: Option<&str>) -> Option<FaultKind> {
        let mut struck = None;
        for fault in &mut self.0 {
            let applies = kinds.contains(&fault.kind) && fault.label.as_deref().is_none_or(|l| Some(l) == label);
            if !applies || fault.times == 0 {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if struck.is_none() {
                fault.times -= 1;
                struck = Some(fault.kind);
            }
        }
        self.0.retain(|f| f.times > 0);
        struck
    }
}

/// The faults that can stop a query of this purpose before it is read.
pub(crate) fn before_query(purpose: Purpose) -> Vec<FaultKind> {
    let mut kinds = vec![FaultKind::RateLimited, FaultKind::Http500];
    match purpose {
        Purpose::Evidence => kinds.push(FaultKind::EvidenceFails),
        Purpose::Lookup => kinds.push(FaultKind::LookupFails),
        Purpose::Readback => kinds.push(FaultKind::ReadbackEmpty),
        Purpose::Snapshot => kinds.push(FaultKind::SnapshotUnavailable),
        _ => {}
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_skips_then_strikes_then_is_spent() {
        let mut faults = Faults::default();
        faults.add(Fault { times: 2, skip: 1, ..Fault::once(FaultKind::NoBounds) });
        let hits: Vec<bool> = (0..5).map(|_| faults.strike(&[FaultKind::NoBounds], None).is_some()).collect();
        assert_eq!(hits, [false, true, true, false, false]);
        assert!(faults.waiting().is_empty());
    }

    #[test]
    fn a_labelled_fault_touches_its_device_only() {
        let mut faults = Faults::default();
        faults.add(Fault { label: Some("phone".into()), ..Fault::once(FaultKind::Http500) });
        assert_eq!(faults.strike(&[FaultKind::Http500], Some("tablet")), None);
        assert_eq!(faults.strike(&[FaultKind::Http500], None), None);
        assert_eq!(faults.strike(&[FaultKind::Http500], Some("phone")), Some(FaultKind::Http500));
    }

    #[test]
    fn every_name_reads_back() {
        for (name, kind) in NAMES {
            assert_eq!(name.parse::<FaultKind>(), Ok(kind));
            assert_eq!(kind.name(), name);
        }
    }
}
