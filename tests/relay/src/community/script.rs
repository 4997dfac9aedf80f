//! What the people of the demo say: hand-written talks of a beekeepers' co-op, as plain data.
//!
//! A line names its author; `key` names it for later lines, `to` makes it a reply to a named line. Names are the keys of
//! [`PEOPLE`]. Times come from the talk: when it starts and how far its lines lie apart.

/// One person of the community.
pub(super) struct Profile {
    pub(super) key: &'static str,
    pub(super) name: &'static str,
    pub(super) about: &'static str,
}

const fn who(key: &'static str, name: &'static str, about: &'static str) -> Profile {
    Profile { key, name, about }
}

/// Everyone; the first is the viewer.
pub(super) const PEOPLE: [Profile; 11] = [
    who("robin", "Robin Vale", "Two hives, one shed, endless questions."),
    who("mara", "Mara Lindqvist", "Keeps the minutes and the extractor."),
    who("tomas", "Tomas Okafor", "Top-bar stubborn. Market stall on Saturdays."),
    who("ines", "Ines Duarte", "Queen rearing, grafting tools, loupe in every pocket."),
    who("jonah", "Jonah Pell", "Drives the van. Knows every forage site in the valley."),
    who("priya", "Priya Raman", "Numbers: mite counts, hive scales, rainfall."),
    who("sol", "Sol Whitaker", "Carpenter. If it is a frame, it is mine."),
    who("hana", "Hana Kobayashi", "Schools programme and the newcomers' Sundays."),
    who("felix", "Felix Brandt", "Treasurer. Please keep your receipts."),
    who("edda", "Edda Nystrom", "Forty seasons. Ask me before you ask the internet."),
    who("scalebot", "Scale Bot", "Reads the hive scales twice an hour."),
];

/// One line of a talk.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) by: &'static str,
    pub(super) text: &'static str,
    pub(super) key: &'static str,
    pub(super) to: &'static str,
    pub(super) mentions: &'static [&'static str],
    pub(super) cast: bool,
    pub(super) quiet: bool,
    pub(super) edited: &'static str,
    pub(super) deleted: bool,
    pub(super) reactions: &'static [(&'static str, &'static str)],
}

/// A plain line.
const fn say(by: &'static str, text: &'static str) -> Line {
    Line {
        by,
        text,
        key: "",
        to: "",
        mentions: &[],
        cast: false,
        quiet: false,
        edited: "",
        deleted: false,
        reactions: &[],
    }
}

impl Line {
    const fn key(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }

    const fn to(mut self, key: &'static str) -> Self {
        self.to = key;
        self
    }

    const fn at(mut self, people: &'static [&'static str]) -> Self {
        self.mentions = people;
        self
    }

    const fn cast(mut self) -> Self {
        self.cast = true;
        self
    }

    const fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    const fn edited(mut self, text: &'static str) -> Self {
        self.edited = text;
        self
    }

    const fn deleted(mut self) -> Self {
        self.deleted = true;
        self
    }

    const fn liked(mut self, reactions: &'static [(&'static str, &'static str)]) -> Self {
        self.reactions = reactions;
        self
    }
}

/// A stretch of talk in one channel.
pub(super) struct Talk {
    pub(super) channel: &'static str,
    /// Minutes before now that it starts.
    pub(super) ago: u64,
    /// Seconds between its lines, roughly.
    pub(super) gap: u64,
    pub(super) lines: &'static [Line],
}

const fn talk(channel: &'static str, ago: u64, gap: u64, lines: &'static [Line]) -> Talk {
    Talk { channel, ago, gap, lines }
}

/// One channel.
pub(super) struct Place {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) about: &'static str,
    pub(super) open: bool,
    /// Empty: everybody.
    pub(super) members: &'static [&'static str],
    pub(super) admins: &'static [&'static str],
}

const fn stream(name: &'static str, about: &'static str, members: &'static [&'static str]) -> Place {
    Place { name, kind: "stream", about, open: false, members, admins: &["mara"] }
}

const fn dm(name: &'static str, members: &'static [&'static str]) -> Place {
    Place { name, kind: "dm", about: "", open: false, members, admins: &[] }
}

/// All channels.
pub(super) const PLACES: [Place; 16] = [
    stream("general", "The co-op's front porch", &[]),
    stream("apiary-log", "What the hives did today, hive by hive", &[]),
    stream(
        "honey-house",
        "Extraction, jars, labels, the dreaded uncapping tank",
        &["robin", "mara", "tomas", "felix", "sol", "edda"],
    ),
    stream("market-stall", "Saturdays, eight to one", &["robin", "tomas", "felix", "hana", "jonah"]),
    stream("swarm-watch", "Saw one? Say where, how high, and who is driving", &[]),
    stream("queen-rearing", "Grafts, cells, mating nucs", &["robin", "ines", "edda", "priya", "mara"]),
    stream("equipment", "Lending, mending, wanting", &["robin", "sol", "jonah", "mara", "tomas", "ines"]),
    stream("mite-counts", "Sugar rolls and treatment windows", &["robin", "priya", "ines", "edda", "scalebot"]),
    stream("newcomers", "No question is too small", &["robin", "hana", "edda", "mara", "jonah"]),
    stream("board", "Minutes, money, the lease", &["robin", "mara", "felix", "edda"]),
    Place { open: true, ..stream("bee-photos", "Pictures and nothing but", &["hana", "ines", "jonah"]) },
    Place { open: true, ..stream("recipes", "Mead, cake, cough syrup", &["robin", "edda", "tomas", "hana"]) },
    Place { kind: "forum", ..stream("questions", "Longer questions that deserve longer answers", &[]) },
    dm("dm-mara", &["robin", "mara"]),
    dm("dm-jonah", &["robin", "jonah"]),
    dm("dm-trip", &["robin", "ines", "sol"]),
];

/// The talks, in no particular order.
pub(super) const TALKS: [Talk; 21] = [
    talk("general", 6200, 420, &[
        say("mara", "Morning all. The lease for the lower orchard is signed for another three years. Thank you Felix for the patience.")
            .liked(&[("edda", "🎉"), ("tomas", "🎉"), ("hana", "🐝")]),
        say("felix", "Patience and eleven emails. The new rate is in the board notes."),
        say("edda", "They tried the same in 1998. Good work."),
        say("hana", "School group on Thursday: fourteen nine-year-olds. Can someone spare small veils?").key("veils"),
        say("sol", "Six in the workshop, clean.").to("veils"),
        say("jonah", "Four in the van, not clean.").to("veils").edited("Four in the van, now clean."),
        say("hana", "That plus ours makes it. You are heroes.").to("veils").liked(&[("sol", "👍")]),
    ]),
    talk("general", 2900, 300, &[
        say("tomas", "Sold out of the spring jars by ten. Somebody wrote about us in the valley paper?").key("paper"),
        say("hana", "Page four, with the picture of Edda glaring at a smoker.").to("paper"),
        say("edda", "It was not lit.").to("paper").liked(&[("robin", "😂"), ("mara", "😂"), ("jonah", "😂")]),
        say("felix", "Reminder that card payments below five are eating us. Please nudge people to cash or two jars."),
        say("mara", "Next meeting is the 14th, seven o'clock, honey house. Agenda: winter feed, the second extractor, the name of the cat."),
        say("sol", "The cat is called Propolis. Settled."),
    ]),
    talk("general", 380, 240, &[
        say("jonah", "Lime trees on the mill road opened overnight. If you have supers, put them on today."),
        say("priya", "Scales agree: +1.9 kg since yesterday at the mill stand, best of the season."),
        say("mara", "Robin, you still have two of the co-op supers, could they go to the mill stand?").at(&["robin"]).key("supers"),
        say("jonah", "I can pick them up on my way, about five.").to("supers"),
        say("edda", "Everyone who can: check for space today, not Saturday. A full hive swarms on a Friday.").key("space"),
        say("mara", "Heat warning for tomorrow. Please fill the water trays at every stand tonight.").to("space").cast(),
    ]),
    talk("honey-house", 4300, 500, &[
        say("mara", "Extractor is washed and levelled. Slots on the door; write your frames down."),
        say("sol", "New uncapping fork handles, ash. Mind the splinters until they are oiled."),
        say("felix", "Jar delivery came short by two boxes. I have written to them."),
        say("tomas", "I can lend sixty of the small hex ones."),
        say("edda", "Refractometer reads 17.6 on the first batch. Do not touch the second until it reads the same."),
    ]),
    talk("honey-house", 1500, 260, &[
        say("mara", "Batch two: 17.9. One more night with the dehumidifier.").key("batch"),
        say("edda", "Good. Impatience is how you make vinegar.").to("batch"),
        say("tomas", "Labels: do we say lime or lime and bramble?").key("labels"),
        say("felix", "Whatever we can prove.").to("labels"),
        say("mara", "Lime and bramble. I looked at the pollen with Ines.").to("labels").cast(),
        say("robin", "I can do the Thursday slot, ten to twelve."),
        say("sol", "Then I will bring the second bucket stand for you."),
    ]),
    talk("market-stall", 5800, 380, &[
        say("tomas", "Rota for Saturday: me, Hana from nine, Robin packing down?"),
        say("robin", "Yes to packing down."),
        say("felix", "Float is in the blue tin. Count it twice."),
        say("hana", "Bringing the observation hive, glass cleaned, queen marked."),
    ]),
    talk("market-stall", 900, 320, &[
        say("jonah", "Van is in for its brakes. Does somebody have a trailer for Saturday?").key("trailer"),
        say("tomas", "My neighbour's, if we bring it back washed.").to("trailer"),
        say("hana", "Weather says dry until noon, then a storm. I would plan to be gone by twelve.").at(&["robin", "tomas"]),
    ]),
    talk("swarm-watch", 3300, 200, &[
        say("jonah", "Swarm on the bus shelter, Station Road, head height, calm. I have a box but no second pair of hands.").key("bus"),
        say("sol", "Ten minutes.").to("bus"),
        say("jonah", "Boxed. Prime swarm I think, big dark queen. They walked in like a parade.").to("bus").cast()
            .liked(&[("edda", "🐝"), ("robin", "👏"), ("hana", "👏")]),
        say("edda", "Where will you put them?").to("bus"),
        say("jonah", "Quarantine stand behind the shed.").to("bus"),
    ]),
    talk("swarm-watch", 150, 180, &[
        say("hana", "Call from the primary school: cluster in the plum tree, about four metres up. Kids are inside.").key("plum"),
        say("sol", "Long ladder is at mine.").to("plum"),
        say("ines", "I am two streets away with a skep. Going.").to("plum"),
        say("hana", "Caretaker has taped off the yard.").to("plum"),
    ]),
    talk("queen-rearing", 4700, 440, &[
        say("ines", "Grafted 30 from the calm line, 26 accepted. Record for this bench.").liked(&[("priya", "🔥"), ("edda", "👍")]),
        say("edda", "Cell builder was strong. Feed them or they will tear half of it down."),
        say("ines", "Fed. Thin syrup, little and often."),
        say("priya", "Emergence should be Tuesday around noon by my table. Cages on by Monday evening."),
        say("robin", "May I come and watch the caging?").key("watch"),
        say("ines", "Bring your own loupe and no perfume.").to("watch"),
    ]),
    talk("queen-rearing", 700, 350, &[
        say("ines", "24 of 26 emerged. Two runts, culled. Twelve mating nucs are stocked."),
        say("ines", "Robin, number seven is yours if you want her. Yellow dot.").at(&["robin"]).key("seven"),
        say("edda", "Take her. Yellow line winters well.").to("seven"),
        say("mara", "Can we keep two back for the spring losses?"),
        say("ines", "Three are kept back already."),
    ]),
    talk("equipment", 3900, 520, &[
        say("sol", "Forty deep frames wired and ready. Wax is your own problem."),
        say("jonah", "Looking for: one excluder, plastic is fine.").key("excluder"),
        say("tomas", "Have two metal ones, slightly bent.").to("excluder"),
        say("sol", "Slightly bent is how you get a queen in your super.").to("excluder").liked(&[("ines", "💯")]),
        say("ines", "The big smoker is back, new bellows."),
        say("robin", "I broke the hive tool with the red handle. Replacement ordered.").deleted(),
        say("robin", "I broke the hive tool with the red handle; a new one comes Wednesday."),
    ]),
    talk("mite-counts", 2200, 600, &[
        say("scalebot", "Weekly weights: mill +4.1 kg, orchard +2.2 kg, allotment +0.9 kg, roof -0.3 kg.").quiet(),
        say("priya", "Sugar rolls so far: mill 2, orchard 3, allotment 7 per 300. Allotment is past my threshold.").key("rolls"),
        say("edda", "Brood break first, acid second.").to("rolls"),
        say("ines", "I can cage the allotment queen on Sunday.").to("rolls"),
        say("scalebot", "Roof stand lost 0.4 kg in one hour at 14:10. Possible robbing.").quiet(),
        say("priya", "Robin, the roof stand is on your round, can you look at the entrance?").at(&["robin"]),
    ]),
    talk("newcomers", 5200, 640, &[
        say("hana", "Welcome to the two new faces from Sunday! Read the pinned list, then forget half of it."),
        say("robin", "How do I tell orientation flights from robbing?").key("flights"),
        say("edda", "Orientation: they face the hive, they bob, it ends in twenty minutes. Robbing: they fight, they smell of honey, it ends when you are out of honey.").to("flights")
            .liked(&[("robin", "🙏"), ("hana", "👍")]),
        say("hana", "I am printing that.").to("flights"),
        say("jonah", "Also listen. Robbing is a higher note.").to("flights"),
    ]),
    talk("newcomers", 1000, 400, &[
        say("mara", "Sunday session: making up nucs. Bring gloves you can feel through."),
        say("hana", "And lunch. The last group ate the school's biscuits."),
    ]),
    talk("board", 4000, 700, &[
        say("felix", "Quarter closed: 214 ahead, before the insurance."),
        say("mara", "Second extractor quotes are in the folder. I favour the used nine-frame."),
        say("edda", "Used machines have stories. Ask for the story."),
        say("felix", "Robin, as the newest on the board you get to second it. Or not.").at(&["robin"]),
    ]),
    talk("recipes", 3600, 900, &[
        say("edda", "Cough syrup: thyme, onion, honey, a night of waiting. Strain. Do not ask about the taste."),
        say("tomas", "Mead update: it is either excellent or paint stripper, I cannot tell any more.").liked(&[("hana", "😂")]),
    ]),
    talk("bee-photos", 2600, 800, &[
        say("hana", "Waggle dance on the observation hive, caught it at last."),
        say("ines", "Number seven's wing, look at that vein pattern."),
        say("jonah", "Sunrise on the mill stand."),
    ]),
    talk("dm-mara", 1300, 200, &[
        say("mara", "Do you have ten minutes for the minutes before the meeting?"),
        say("robin", "Always. Tonight?"),
        say("mara", "Half past eight. I will bring the good jar."),
        say("mara", "Also: would you like to chair the newcomers' Sundays from spring? Hana is stretched."),
    ]),
    talk("dm-jonah", 90, 160, &[
        say("jonah", "At your gate around five for the supers, ok?"),
        say("jonah", "If you are out, just leave them by the shed."),
    ]),
    talk("dm-trip", 2000, 260, &[
        say("sol", "Heather moor, first week of August. I can build four travel floors."),
        say("ines", "I have room for six hives on the trailer if two are nucs."),
        say("robin", "Mine are one full, one nuc. I bring straps."),
        say("sol", "Straps are never enough. Bring twice as many."),
    ]),
];

/// What the busy channel is made of: findings, each fitted with a hive's number.
pub(super) const FINDINGS: [&str; 20] = [
    "eggs in four frames, queen seen, calm as cows",
    "supered, they were already drawing the burr comb themselves",
    "no eggs, but a polished cell and quiet bees; leaving them for ten days",
    "three frames of capped brood swapped to the weak neighbour",
    "drone comb cut out, nothing alarming in it",
    "temper short today, put it down to the wind",
    "honey arc too narrow for the season, fed two litres",
    "entrance reduced, wasps were testing it",
    "chalkbrood on the floor, a handful, watching",
    "two queen cells on the face of the comb, looks like supersedure",
    "split made, old queen walked over with five frames",
    "bees bearding at noon, shade board is on",
    "pollen in six colours, somebody found the poppies",
    "new foundation ignored, again; rotated it next to the brood",
    "queen marked, left hind leg is a bit stiff, lays well",
    "first super two thirds capped, leave it one more week",
    "floor swapped and scraped, ten minutes, no sting",
    "laying pattern spotty, third visit in a row",
    "wax moth in the spare box only, frozen overnight",
    "water tray dry, refilled, please take it in turns",
];

/// What people ask beneath a finding, and what is answered.
pub(super) const EXCHANGES: [(&str, &str); 10] = [
    ("How old is that queen?", "Last July, the Duarte line."),
    ("Did you shake or brush?", "Shook twice, brushed the corners."),
    ("Is that the hive that swarmed in May?", "The very one, and it forgave us."),
    ("Should I take the second excluder over?", "Please, the yellow one."),
    ("Any sign of the disease inspector's letter?", "Not yet, all clean as far as I can see."),
    ("What did the scale say?", "Up 700 g by noon."),
    ("Do they have room above?", "One box, half drawn."),
    ("Would you requeen?", "Ask me in a week; I like how they smell."),
    ("Smoke or water spray?", "Water. It was thirty degrees."),
    ("Did you find the missing hive tool?", "Under the lid, propolised in. Of course."),
];

/// What arrives while the demo runs: where, and what.
pub(super) const ARRIVALS: [(&str, &str, &str); 24] = [
    ("swarm-watch", "ines", "Skep is on the sheet below the plum tree, they are marching in."),
    ("apiary-log", "priya", "Mill stand up another 300 g in the last hour."),
    ("general", "hana", "School says thank you, with drawings. One bee has a moustache."),
    ("dm-jonah", "jonah", "Running ten minutes late, the level crossing is down."),
    ("honey-house", "edda", "17.4 on batch two. You may bottle."),
    ("mite-counts", "scalebot", "Roof stand stable again since 15:00."),
    ("queen-rearing", "ines", "First mating flights, number three went up at two o'clock sharp."),
    ("market-stall", "tomas", "Trailer is confirmed, I owe my neighbour two jars."),
    ("general", "mara", "Water trays at the orchard are done. Who takes the roof?"),
    ("equipment", "sol", "Eight travel screens cut, need somebody small to staple."),
    ("apiary-log", "jonah", "Bramble is starting at the cutting, early by a week."),
    ("dm-mara", "mara", "Found the jar. It is the 2019 heather."),
    ("newcomers", "hana", "Two more signed up for Sunday, we are at the limit of the veils."),
    ("swarm-watch", "sol", "Plum tree is clear. Ladder is back on the truck."),
    ("board", "felix", "Insurance came in lower than feared."),
    ("general", "edda", "Thunder in the west. Bricks on lids, please."),
    ("recipes", "tomas", "Verdict: paint stripper. Starting again."),
    ("apiary-log", "ines", "Hive 4 requeened with number nine, accepted in an hour."),
    ("dm-trip", "sol", "Floors two and three are glued."),
    ("honey-house", "felix", "The missing boxes turned up at the bakery."),
    ("market-stall", "hana", "I can bring the card reader, mine has no fee this month."),
    ("queen-rearing", "priya", "Table updated with today's flights."),
    ("general", "jonah", "Lightning over the mill, packing up."),
    ("mite-counts", "priya", "Allotment recount: 6 per 300. Treatment stays planned."),
];
