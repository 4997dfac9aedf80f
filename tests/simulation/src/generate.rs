//! A plan from a seed.
//!
//! Every seed draws first what may happen at all (its *weather*), then the steps from that: a run in which everything goes wrong at once
//! reaches less than many in which few things do.

use crate::dice::Dice;
use crate::plan::{
    Act, Aim, DeviceSpec, DiskEffect, Kind, LineFault, Mark, MsgId, Plan, Post, Screen, Step, Trouble, View, Who, World,
};

/// Faults of the test relay that a client must live with.
const RELAY_FAULTS: [&str; 21] = [
    "publish_lost",
    "publish_refused_timestamp",
    "publish_refused",
    "rate_limited",
    "http_500",
    "truncated_body",
    "no_bounds",
    "two_bounds",
    "bounds_wrong_cursor",
    "bounds_wrong_signer",
    "bounds_inconsistent",
    "rows_before_cursor",
    "bounds_stuck",
    "overlay_forged",
    "snapshot_incomplete",
    "snapshot_other_community",
    "snapshot_forged",
    "snapshot_unavailable",
    "no_eose",
    "evidence_fails",
    "readback_empty",
];

/// Seconds of forty days: a message of that age is read by itself.
const OLD: i64 = 40 * 86_400;

/// What may happen in a run.
#[derive(Debug, Clone, Copy)]
struct Weather {
    line: bool,
    relay: bool,
    disk: bool,
    deaths: bool,
    clocks: bool,
    access: bool,
    copies: bool,
    odd_times: bool,
    peer: bool,
}

impl Weather {
    fn draw(dice: &mut Dice) -> Self {
        let mut maybe = |percent| dice.chance(percent);
        Self {
            line: maybe(45),
            relay: maybe(40),
            disk: maybe(35),
            deaths: maybe(45),
            clocks: maybe(20),
            access: maybe(25),
            copies: maybe(20),
            odd_times: maybe(30),
            peer: maybe(25),
        }
    }
}

/// What the generator remembers of a message.
struct Sketch {
    id: MsgId,
    channel: usize,
    root: Option<MsgId>,
    row: bool,
}

struct Generator {
    dice: Dice,
    weather: Weather,
    channels: Vec<Kind>,
    devices: usize,
    said: Vec<Sketch>,
    next: MsgId,
}

/// The plan of a seed.
pub fn plan(seed: u64) -> Plan {
    let mut dice = Dice::new(seed);
    let weather = Weather::draw(&mut dice);
    let mut channels = vec![Kind::Stream; 1 + dice.below(2)];
    if dice.chance(60) {
        channels.push(Kind::Dm);
    }
    let mut devices = vec![DeviceSpec { shares: None, signs: true }; 2];
    if dice.chance(35) {
        let shares = (weather.copies && dice.chance(50)).then_some(0);
        devices.push(DeviceSpec { shares, signs: shares.is_some() || dice.chance(70) });
    }
    let (august, max_page) = (dice.chance(20), if dice.chance(30) { 3 } else { 200 });
    let (number, seed_of_chance) = (devices.len(), dice.number());
    let mut generator =
        Generator { dice, weather, channels: channels.clone(), devices: number, said: Vec::new(), next: 0 };
    let history = generator.history();
    let steps = generator.steps();
    Plan { seed: seed_of_chance, world: World { august, max_page, channels, devices, history }, steps }
}

impl Generator {
    fn history(&mut self) -> Vec<Post> {
        let number = 2 + self.dice.below(10);
        let mut posts: Vec<Post> = Vec::new();
        let mut age = 4_000;
        for at in 0..number {
            let mut post = self.post();
            // Old ones come first, and a few share a second.
            age -= i64::try_from(self.dice.below(4)).unwrap_or(0) * 60;
            post.age = if self.weather.odd_times && at == 0 { OLD } else { age };
            posts.push(post);
        }
        posts
    }

    fn steps(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for on in 0..self.devices {
            steps.push(Step::Do(on, Act::Start));
            if self.dice.chance(80) {
                steps.push(Step::Do(on, Act::Ensure));
            }
        }
        steps.push(Step::Advance(1_000));
        let number = 22 + self.dice.below(26);
        while steps.len() < number {
            let step = self.one();
            steps.extend(step);
        }
        steps
    }

    fn one(&mut self) -> Vec<Step> {
        match self.dice.below(100) {
            0..14 => {
                let post = self.post();
                vec![Step::Post(post)]
            }
            14..17 => self.about(Step::Delete),
            17..19 => self.about(Step::Edit),
            19..20 => self.about(Step::React),
            20..30 => vec![Step::Advance(self.pause())],
            30..48 => self.read(),
            48..66 => {
                let on = self.dice.below(self.devices);
                self.explicit().map(|act| Step::Do(on, act)).into_iter().collect()
            }
            66..74 => {
                let on = self.dice.below(self.devices);
                let all =
                    [Act::Ensure, Act::Refresh, Act::Refresh, Act::Refresh, Act::RetrySync, Act::Flush, Act::Flush];
                self.dice.pick(&all).cloned().map(|act| Step::Do(on, act)).into_iter().collect()
            }
            74..80 => self.timeline(),
            80..84 => self.life(),
            _ => self.trouble(),
        }
    }

    fn pause(&mut self) -> u64 {
        let all = [50, 200, 299, 300, 1_000, 2_500, 5_000, 6_000, 12_000, 40_000];
        let some = self.dice.pick(&all).copied().unwrap_or(300);
        if self.dice.chance(3) { 1_000_000 } else { some }
    }

    fn post(&mut self) -> Post {
        let channel = self.dice.below(self.channels.len());
        let by = match self.dice.below(10) {
            0..3 => Who::Me,
            3..7 => Who::Ada,
            _ if self.channels[channel] == Kind::Dm => Who::Ada,
            _ => Who::Bo,
        };
        let parents: Vec<(MsgId, Option<MsgId>)> =
            self.said.iter().filter(|m| m.channel == channel).map(|m| (m.id, m.root)).collect();
        let parent = if self.dice.chance(45) { self.dice.pick(&parents).copied() } else { None };
        let root = parent.map(|(id, root)| root.unwrap_or(id));
        let broadcast = parent.is_some() && self.dice.chance(20) || self.dice.chance(3);
        let depth_one = parent.is_some_and(|(_, root)| root.is_none());
        let age = if !self.weather.odd_times || self.dice.chance(70) {
            0
        } else {
            [1, 30, 600, -30, -600, -2_000][self.dice.below(6)]
        };
        self.next += 1;
        let row = parent.is_none() || (broadcast && depth_one);
        self.said.push(Sketch { id: self.next, channel, root, row });
        Post {
            id: self.next,
            by,
            channel,
            reply_to: parent.map(|(id, _)| id),
            broadcast,
            mention: by != Who::Me && self.dice.chance(12),
            quiet: by != Who::Me && self.dice.chance(4),
            age,
        }
    }

    fn said(&mut self) -> Option<MsgId> {
        // Recent ones more often.
        let at = self.said.len().checked_sub(1)?;
        let back = self.dice.below(self.said.len()).min(self.dice.below(self.said.len()));
        self.said.get(at - back).map(|m| m.id)
    }

    fn about(&mut self, step: impl Fn(MsgId) -> Step) -> Vec<Step> {
        self.said().map(step).into_iter().collect()
    }

    fn aim(&mut self) -> Aim {
        match self.dice.below(4) {
            0 | 1 => Aim::Channel(self.dice.below(self.channels.len())),
            2 => {
                let roots: Vec<MsgId> = self.said.iter().filter_map(|m| m.root).collect();
                let some = self.dice.pick(&roots).copied().or_else(|| self.said());
                some.map_or(Aim::Channel(0), Aim::Thread)
            }
            _ => self.said().map_or(Aim::Channel(0), Aim::Message),
        }
    }

    fn explicit(&mut self) -> Option<Act> {
        let aim = self.aim();
        Some(match self.dice.below(20) {
            0..6 => {
                // Most often something that fits.
                let members: Vec<MsgId> = match aim {
                    Aim::Channel(c) => {
                        self.said.iter().filter(|m| m.channel == c && m.root.is_none()).map(|m| m.id).collect()
                    }
                    Aim::Thread(root) => self.said.iter().filter(|m| m.root == Some(root)).map(|m| m.id).collect(),
                    Aim::Message(id) => vec![id],
                };
                let some = if self.dice.chance(85) { self.dice.pick(&members).copied() } else { self.said() };
                Act::MarkThrough(aim, some?)
            }
            6..9 => Act::MarkChannelRead(self.dice.below(self.channels.len())),
            9 => Act::MarkAllRead,
            10..14 => Act::MarkUnread(aim),
            14..17 => Act::ClearUnread(aim),
            _ => {
                let roots: Vec<MsgId> = self.said.iter().map(|m| m.root.unwrap_or(m.id)).collect();
                Act::Follow(*self.dice.pick(&roots)?, self.dice.chance(50))
            }
        })
    }

    fn screen(&mut self) -> Screen {
        let channel = self.dice.below(self.channels.len());
        let roots: Vec<MsgId> = self.said.iter().filter(|m| m.channel == channel).filter_map(|m| m.root).collect();
        let root = if self.dice.chance(35) { self.dice.pick(&roots).copied() } else { None };
        Screen { channel, root }
    }

    fn read(&mut self) -> Vec<Step> {
        let screen = self.screen();
        let all: Vec<MsgId> = self
            .said
            .iter()
            .filter(|m| match screen.root {
                Some(root) => m.root == Some(root) || m.id == root,
                None => m.channel == screen.channel && m.row,
            })
            .map(|m| m.id)
            .collect();
        let shown = (1 + self.dice.below(5)).min(all.len());
        let from = if self.dice.chance(70) { all.len() - shown } else { self.dice.below(all.len() - shown + 1) };
        let rows = all.get(from..from + shown).unwrap_or_default().to_vec();
        let bottom = match self.dice.below(10) {
            0..6 => all.last().copied(),
            6 => rows.first().copied(),
            _ => None,
        };
        let ms = [299, 300, 300, 300, 350, 600, 2_000, 0][self.dice.below(8)];
        let view = View {
            screen,
            rows,
            bottom,
            active: self.dice.chance(95),
            settled: self.dice.chance(95),
            ms,
            hide: self.dice.chance(75),
        };
        let on = self.dice.below(self.devices);
        let mut steps = vec![Step::Do(on, Act::Show(view))];
        if self.dice.chance(5) {
            steps.insert(0, Step::Do(on, Act::Hold));
            steps.push(Step::Advance(700));
            steps.push(Step::Do(on, Act::Release));
        }
        steps
    }

    fn timeline(&mut self) -> Vec<Step> {
        let (screen, on) = (self.screen(), self.dice.below(self.devices));
        let limit = 1 + u32::try_from(self.dice.below(6)).unwrap_or(3);
        match self.dice.below(10) {
            0..5 => vec![Step::Do(on, Act::Open(screen, limit))],
            5..8 => vec![Step::Do(on, Act::Open(screen, limit)), Step::Do(on, Act::Older(screen))],
            8 => vec![Step::Do(on, Act::Older(screen))],
            _ => vec![Step::Do(on, Act::Close(screen))],
        }
    }

    /// What an app and its person do with the device.
    fn life(&mut self) -> Vec<Step> {
        let on = self.dice.below(self.devices);
        let act = |act| Step::Do(on, act);
        match self.dice.below(10) {
            0..2 => vec![act(Act::Stop), act(Act::Start)],
            2 => vec![act(Act::Stop), act(Act::WipeCache), act(Act::Start)],
            3 if self.dice.chance(40) => vec![act(Act::Leave), act(Act::Start)],
            3 => vec![act(Act::Stop)],
            4..6 => vec![act(Act::Start)],
            6 => vec![act(Act::Suspend)],
            7 => vec![act(Act::Suspend), Step::Advance(20_000), act(Act::Resume)],
            _ => vec![act(Act::Resume)],
        }
    }

    fn trouble(&mut self) -> Vec<Step> {
        let on = self.dice.below(self.devices);
        let act = |act| Step::Do(on, act);
        let fault = |trouble| Step::Fault(on, trouble);
        let (skip, times) = (self.small(), 1 + self.small());
        match self.dice.below(8) {
            0 if self.weather.line => vec![fault(Trouble::Offline)],
            1 if self.weather.line => vec![fault(Trouble::Online)],
            0..2 => vec![fault(Trouble::Disconnect)],
            2 if self.weather.line => {
                let some = self.dice.pick(&LineFault::ALL).copied().unwrap_or(LineFault::LoseAnswer);
                vec![fault(Trouble::Line { fault: some, skip, times: times * 2 })]
            }
            3 if self.weather.relay => {
                let some = self.dice.pick(&RELAY_FAULTS).copied().unwrap_or("http_500").to_owned();
                vec![fault(Trouble::Relay { fault: some, skip, times })]
            }
            4 if self.weather.disk => {
                let all = [DiskEffect::Begin, DiskEffect::Save, DiskEffect::Row, DiskEffect::Commit];
                let at = self.dice.pick(&all).copied().unwrap_or(DiskEffect::Save);
                vec![fault(Trouble::Disk { at, full: self.dice.chance(50), skip, times })]
            }
            5 if self.weather.deaths => match self.dice.below(3) {
                0 => vec![act(Act::Kill), act(Act::Start)],
                _ => vec![fault(Trouble::KillAtEffect(u32::try_from(self.dice.below(24)).unwrap_or(0)))],
            },
            6 if self.weather.clocks => {
                let offset = [-7_200, -300, -61, 0, 61, 300, 7_200][self.dice.below(7)];
                vec![fault(Trouble::Clock(offset))]
            }
            6 if self.weather.access => {
                let channel = self.dice.below(self.channels.len());
                if self.dice.chance(60) {
                    vec![Step::Revoke(channel), Step::Advance(self.pause()), Step::Grant(channel)]
                } else {
                    vec![if self.dice.chance(50) { Step::Revoke(channel) } else { Step::Grant(channel) }]
                }
            }
            5 if self.weather.peer => vec![self.peer()],
            7 if self.weather.copies => self.copies(on),
            7 if self.weather.relay => vec![Step::Restart],
            _ => vec![Step::Advance(self.pause())],
        }
    }

    /// What another client of the viewer has read: mostly the past, at times the future.
    fn peer(&mut self) -> Step {
        let marks = (0..1 + self.dice.below(3)).filter_map(|_| {
            let channel = self.dice.below(self.channels.len());
            let roots: Vec<MsgId> = self.said.iter().filter_map(|m| m.root).collect();
            let key = match self.dice.below(6) {
                0 | 1 => Mark::Channel(channel),
                2 => Mark::Activity(channel),
                3 => Mark::Thread(*self.dice.pick(&roots)?),
                4 => Mark::ThreadActivity(*self.dice.pick(&roots)?),
                _ => Mark::Message(self.said()?),
            };
            let offset = [-3_500, -3_000, -60, -1, 0, 0, 880, 2_000][self.dice.below(8)];
            Some((key, offset))
        });
        Step::Peer(marks.collect())
    }

    /// Old and foreign copies of a journal.
    fn copies(&mut self, on: usize) -> Vec<Step> {
        let act = |act| Step::Do(on, act);
        let other = self.dice.below(self.devices);
        match self.dice.below(4) {
            0 => vec![act(Act::Stop), act(Act::Backup), act(Act::Start)],
            1 | 2 => vec![act(Act::Stop), act(Act::Restore), act(Act::Start)],
            _ => vec![
                act(Act::Stop),
                Step::Do(other, Act::Stop),
                act(Act::CloneFrom(other)),
                act(Act::Start),
                Step::Do(other, Act::Start),
            ],
        }
    }

    fn small(&mut self) -> u32 {
        u32::try_from(self.dice.below(4)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_plan_and_plans_survive_being_written() {
        for seed in 0..200 {
            let one = plan(seed);
            assert_eq!(one, plan(seed));
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), one);
        }
        assert_ne!(plan(1), plan(2));
    }
}
