//! Things done wrong on purpose: each must be caught by the invariant it is aimed at, or that invariant sees nothing.

use waggle::model::{Coverage, Manual, UnreadSnapshot};
use waggle::relay::transport::{HttpRequest, Method, Transport as _};
use waggle::request::Purpose;

use crate::device::HOST;
use crate::line::OverLine;
use crate::model::{Key, Marks};
use crate::plan::LineFault;
use crate::world::World;

/// What is done wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// A device that was saved to begins without its journal.
    LoseSaves,
    /// A device shows a channel frontier a second lower than it was.
    LowerFrontier,
    /// Nobody permits what dwells read.
    ReadEarly,
    /// A device counts one too many.
    CountTooMany,
    /// A device shows zero where nothing is known.
    InventZero,
    /// A device shows no manual mark.
    LoseManual,
    /// A `msg:` mark is published.
    PublishPrivate,
    /// What a device publishes never arrives.
    NeverConverge,
    /// A line carries more than the relay takes.
    ExceedLimits,
    /// A request the relay refuses.
    BeRefused,
    /// A call that does not end.
    Hang,
    /// A timeline lacks its last row.
    LoseRow,
}

impl Sabotage {
    /// Before a process starts.
    pub fn before_start(self, world: &mut World, on: usize) {
        if self == Self::LoseSaves && world.devices[on].starts > 0 && world.devices[on].live.is_none() {
            let data = world.devices[on].dir.join("data");
            for entry in std::fs::read_dir(data).into_iter().flatten().flatten() {
                let _not_there = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Whether dwells permit nothing.
    pub fn forgets_dwells(self) -> bool {
        self == Self::ReadEarly
    }

    /// What a device's journal is seen to hold.
    pub fn marks(self, turn: usize, marks: &mut Marks) {
        if self != Self::LowerFrontier || !turn.is_multiple_of(5) {
            return;
        }
        let channel = marks.iter_mut().find(|(key, _)| matches!(key, Key::Channel(_)));
        if let Some((_, value)) = channel {
            *value -= 1;
        }
    }

    /// What a device is seen to count.
    pub fn snapshot(self, seen: &mut UnreadSnapshot, clean: bool) {
        match self {
            Self::CountTooMany if clean => seen.observed = seen.observed.map(|n| n + 1),
            Self::LoseManual => seen.manual = Manual::None,
            Self::InventZero if seen.coverage == Coverage::Unknown => {
                (seen.observed, seen.attention) = (Some(0), Some(0));
            }
            _ => {}
        }
    }

    /// After everything was mended.
    pub async fn after_mending(self, world: &World) {
        let line = world.devices[0].line.clone();
        match self {
            Self::NeverConverge => line.fault(LineFault::SwallowPublish, 0, u32::MAX),
            Self::ExceedLimits => {
                let ids: Vec<String> = (0..129).map(|n| n.to_string()).collect();
                let _refused = OverLine(line).http(query(&serde_json::json!([{ "#h": ids }]))).await;
            }
            Self::PublishPrivate => world.publish_private(),
            Self::BeRefused => {
                let _refused = OverLine(line).http(query(&serde_json::json!([]))).await;
            }
            _ => {}
        }
    }
}

fn query(body: &serde_json::Value) -> HttpRequest {
    HttpRequest {
        method: Method::Post,
        url: format!("https://{HOST}/query"),
        headers: vec![("authorization".into(), "Nostr none".into())],
        body: body.to_string().into_bytes(),
        max_body: 1 << 20,
        purpose: Purpose::Lookup,
    }
}
