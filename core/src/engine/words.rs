//! The status line: what the session is doing, in one sentence for a person.

use crate::clock::Millis;
use crate::error::Error;
use crate::model::{Connectivity, Phase};
use crate::relay::connection::LinkStatus;

/// Facts the sentence is made of.
pub(super) struct Scene<'a> {
    pub(super) link: &'a LinkStatus,
    pub(super) now: Millis,
    /// Channels repaired and in all.
    pub(super) repair: Option<(u32, u32)>,
    /// The roster shown is this device's own.
    pub(super) cached: bool,
    /// There is something to read on this device.
    pub(super) holds_something: bool,
    /// Standing error of evidence.
    pub(super) error: Option<&'a Error>,
}

/// The status line.
pub(super) fn connectivity(scene: &Scene<'_>) -> Connectivity {
    let link = scene.link;
    let retry_in = link.retry_at.map(|at| u32::try_from(at.since(scene.now).div_ceil(1000)).unwrap_or(u32::MAX));
    let error = link.error.clone().or_else(|| scene.error.cloned());
    Connectivity { phase: link.phase, sentence: sentence(scene), repair: scene.repair, retry_in, error }
}

fn sentence(scene: &Scene<'_>) -> String {
    let offline_copy = if scene.holds_something { " Reading the offline copy." } else { "" };
    match scene.link.phase {
        Phase::Idle => "Not connected.".to_owned(),
        Phase::Connecting => format!("Connecting…{offline_copy}"),
        Phase::Offline => {
            let why = scene.link.error.as_ref().map_or("You are offline.", Error::sentence);
            format!("{why}{offline_copy}")
        }
        Phase::Refused => scene.link.error.as_ref().map_or("Signing in was refused.", Error::sentence).to_owned(),
        Phase::Suspended => "In the background.".to_owned(),
        Phase::Closed => "Closed.".to_owned(),
        Phase::Online => match (scene.repair, scene.error) {
            (Some((done, all)), _) => format!("Counting what is unread: {done} of {all} channels."),
            (None, Some(error)) => error.sentence().to_owned(),
            (None, None) if scene.cached => "Reading the list of channels…".to_owned(),
            (None, None) => "Up to date.".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::NetworkFailure;

    fn line(phase: Phase, repair: Option<(u32, u32)>, error: Option<Error>, holds_something: bool) -> Connectivity {
        let link = LinkStatus { phase, retry_at: Some(Millis(2_500)), error };
        let scene = Scene { link: &link, now: Millis(1_000), repair, cached: false, holds_something, error: None };
        connectivity(&scene)
    }

    #[test]
    fn each_state_has_its_sentence() {
        assert_eq!(line(Phase::Online, None, None, true).sentence, "Up to date.");
        let repairing = line(Phase::Online, Some((128, 278)), None, true);
        assert_eq!(repairing.sentence, "Counting what is unread: 128 of 278 channels.");
        let offline = line(Phase::Offline, None, Some(Error::Network { why: NetworkFailure::Offline }), true);
        assert_eq!(offline.sentence, "You are offline. Reading the offline copy.");
        assert_eq!(offline.retry_in, Some(2));
        assert_eq!(line(Phase::Connecting, None, None, false).sentence, "Connecting…");
    }
}
