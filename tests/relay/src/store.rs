//! Events in SQLite, in their order of arrival, with the indexes the read paths need.
//!
//! Invariants: `seq` is the order of arrival and never reused; `json` is the text as received; a deleted or superseded
//! event keeps its row (so its id stays known) but no read returns it. `channel` is the channel the relay assigned, which
//! is what `#h` filters go by; the `h` tags of an event are not consulted after intake.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params, params_from_iter, types::Value};

use crate::{
    config::Storage,
    event::{Event, is_hex},
    kinds,
};

const SCHEMA: &str = "
create table if not exists events(
  seq integer primary key, id text not null, pubkey text not null, created_at integer not null, kind integer not null,
  channel text, d text, parent text, root text, depth integer not null, broadcast integer not null,
  counted integer not null, state integer not null, origin integer not null, label text, json text not null);
create index if not exists events_id on events(id);
create index if not exists events_channel on events(channel, created_at desc, id) where state = 0;
create index if not exists events_kind on events(kind, created_at desc, id) where state = 0;
create index if not exists events_author on events(pubkey, kind, created_at desc, id) where state = 0;
create index if not exists events_root on events(root, created_at, id) where state = 0;
create index if not exists events_parent on events(parent) where state = 0;
create table if not exists tags(name text, value text, seq integer, primary key(name, value, seq)) without rowid;
create table if not exists replied(parent text primary key, at integer not null) without rowid;
create table if not exists channels(id text primary key, json text not null) without rowid;
create table if not exists meta(key text primary key, json text not null) without rowid;";

const COLUMNS: &str = "e.seq, e.channel, e.parent, e.root, e.depth, e.broadcast, e.state, e.origin, e.label, e.json";

/// Who brought an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A client, over HTTP or WebSocket.
    Client,
    /// A test, through the admin calls.
    Admin,
    /// The relay itself.
    Relay,
}

/// Where an event stands: its channel and its place in a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The channel the relay assigned.
    pub channel: Option<String>,
    /// The message it replies to.
    pub parent: Option<String>,
    /// The first message of its thread.
    pub root: Option<String>,
    /// 0 for a top-level message.
    pub depth: u32,
    /// Whether it carries the broadcast tag.
    pub broadcast: bool,
}

/// A stored event.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Its place in the order of arrival.
    pub seq: i64,
    /// The event.
    pub event: Event,
    /// Where it stands.
    pub place: Place,
    /// Whether reads return it (false: deleted or superseded).
    pub live: bool,
    /// Who brought it.
    pub origin: Origin,
    /// The device label of the client that brought it.
    pub label: Option<String>,
}

/// What to store beside the event.
pub(crate) struct Entry<'a> {
    pub(crate) event: &'a Event,
    pub(crate) place: &'a Place,
    /// Whether thread summaries count it.
    pub(crate) counted: bool,
    pub(crate) origin: Origin,
    pub(crate) label: Option<&'a str>,
}

/// A read. Empty options do not restrict.
#[derive(Debug, Clone, Default)]
pub(crate) struct Select {
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) authors: Option<Vec<String>>,
    pub(crate) kinds: Option<Vec<u32>>,
    pub(crate) since: Option<u64>,
    pub(crate) until: Option<u64>,
    /// Exclusive position in the order newest first, id ascending.
    pub(crate) after: Option<(u64, String)>,
    pub(crate) tags: Vec<(char, Vec<String>)>,
    pub(crate) channels: Option<Vec<String>>,
    /// Rows of a channel window only.
    pub(crate) top_level: bool,
    pub(crate) search: Option<String>,
    pub(crate) offset: usize,
}

pub(crate) struct Store {
    db: Connection,
}

fn marks(n: usize) -> String {
    let mut text = "?,".repeat(n);
    text.pop();
    text
}

fn int(n: u64) -> Value {
    Value::Integer(i64::try_from(n).unwrap_or(i64::MAX))
}

/// SQL text with its values, grown clause by clause.
#[derive(Default)]
struct Clause {
    sql: String,
    values: Vec<Value>,
}

impl Clause {
    fn and(&mut self, sql: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" and ");
        self.sql.push_str(sql);
        self.values.extend(values);
    }

    fn any_of(&mut self, column: &str, list: &[String]) {
        self.and(&format!("{column} in ({})", marks(list.len())), list.iter().cloned().map(Value::Text));
    }
}

impl Store {
    pub(crate) fn open(storage: &Storage) -> anyhow::Result<Self> {
        let db = match storage {
            Storage::Memory => Connection::open_in_memory()?,
            Storage::File(path) => open_file(path)?,
        };
        db.execute_batch(SCHEMA)?;
        Ok(Self { db })
    }

    /// Whether an event of this id was ever stored.
    pub(crate) fn knows(&self, id: &str) -> anyhow::Result<bool> {
        Ok(self.db.prepare("select 1 from events where id = ?1")?.exists([id])?)
    }

    /// The newest stored event of this id, deleted ones included.
    pub(crate) fn any(&self, id: &str) -> anyhow::Result<Option<Stored>> {
        let sql = format!("select {COLUMNS} from events e where e.id = ?1 order by e.state, e.seq desc limit 1");
        Ok(self.db.prepare(&sql)?.query_row([id], read_row).optional()?.flatten())
    }

    /// A live event by id.
    pub(crate) fn live(&self, id: &str) -> anyhow::Result<Option<Stored>> {
        Ok(self.any(id)?.filter(|s| s.live))
    }

    /// Appends an event.
    pub(crate) fn insert(&self, entry: &Entry<'_>) -> anyhow::Result<i64> {
        let (event, place) = (entry.event, entry.place);
        self.db.execute(
            "insert into events(id, pubkey, created_at, kind, channel, d, parent, root, depth, broadcast, counted, state,
             origin, label, json) values(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, ?12, ?13, ?14)",
            params![
                event.id,
                event.pubkey,
                int(event.created_at),
                event.kind,
                place.channel,
                event.tag("d"),
                place.parent,
                place.root,
                place.depth,
                place.broadcast,
                entry.counted,
                entry.origin as u8,
                entry.label,
                &*event.json,
            ],
        )?;
        let seq = self.db.last_insert_rowid();
        self.index_tags(seq, event)?;
        Ok(seq)
    }

    fn index_tags(&self, seq: i64, event: &Event) -> anyhow::Result<()> {
        let single = event.tags.iter().filter(|t| t.len() > 1 && t[0].len() == 1);
        let values: Vec<Value> = single
            .flat_map(|t| {
                let value = if is_hex(&t[1], 64) { t[1].to_ascii_lowercase() } else { t[1].clone() };
                [Value::Text(t[0].clone()), Value::Text(value), Value::Integer(seq)]
            })
            .collect();
        for chunk in values.chunks(900) {
            let mut rows = "(?,?,?),".repeat(chunk.len() / 3);
            rows.pop();
            let sql = format!("insert or ignore into tags(name, value, seq) values {rows}");
            self.db.execute(&sql, params_from_iter(chunk))?;
        }
        Ok(())
    }

    /// Hides an event from every read; 1 = deleted, 2 = superseded.
    pub(crate) fn hide(&self, seq: i64, state: u8) -> anyhow::Result<()> {
        self.db.execute("update events set state = ?2 where seq = ?1", params![seq, state])?;
        Ok(())
    }

    /// The live event at a replaceable coordinate.
    pub(crate) fn at_coordinate(&self, pubkey: &str, kind: u32, d: Option<&str>) -> anyhow::Result<Option<Stored>> {
        let mut sql = format!("select {COLUMNS} from events e where e.state = 0 and e.pubkey = ?1 and e.kind = ?2");
        let mut values = vec![Value::Text(pubkey.into()), Value::Integer(kind.into())];
        if let Some(d) = d {
            sql.push_str(" and coalesce(e.d, '') = ?3");
            values.push(Value::Text(d.into()));
        }
        sql.push_str(" order by e.created_at desc, e.id limit 1");
        Ok(self.db.prepare(&sql)?.query_row(params_from_iter(values), read_row).optional()?.flatten())
    }

    /// Walks a read newest first, id ascending, until `visit` says stop.
    pub(crate) fn walk(&self, select: &Select, mut visit: impl FnMut(Stored) -> bool) -> anyhow::Result<()> {
        let clause = clause_of(select);
        let sql = format!(
            "select {COLUMNS} from events e where e.state = 0{} order by e.created_at desc, e.id limit -1 offset {}",
            clause.sql, select.offset
        );
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(clause.values))?;
        while let Some(row) = rows.next()? {
            if let Some(stored) = read_row(row)?
                && !visit(stored)
            {
                break;
            }
        }
        Ok(())
    }

    /// A thread's replies oldest first, strictly after `after` (without an id: after that second).
    pub(crate) fn thread(
        &self,
        root: &str,
        depth: u32,
        after: Option<(i64, Option<&str>)>,
        limit: usize,
    ) -> anyhow::Result<Vec<Stored>> {
        let mut clause = Clause::default();
        clause.and("e.root = ?", [Value::Text(root.into())]);
        clause.and("e.depth between 1 and ?", [int(depth.into())]);
        match after {
            Some((at, Some(id))) => {
                let at = Value::Integer(at);
                clause.and(
                    "(e.created_at > ? or (e.created_at = ? and e.id > ?))",
                    [at.clone(), at, Value::Text(id.into())],
                );
            }
            Some((at, None)) => clause.and("e.created_at > ?", [Value::Integer(at)]),
            None => {}
        }
        let sql = format!(
            "select {COLUMNS} from events e where e.state = 0{} order by e.created_at, e.id limit {limit}",
            clause.sql
        );
        let mut statement = self.db.prepare(&sql)?;
        let rows = statement.query_map(params_from_iter(clause.values), read_row)?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Live direct replies and live descendants that summaries count.
    pub(crate) fn reply_counts(&self, id: &str) -> anyhow::Result<(u64, u64)> {
        let count = |column: &str| -> rusqlite::Result<i64> {
            let sql = format!("select count(*) from events where {column} = ?1 and state = 0 and counted = 1");
            self.db.prepare(&sql)?.query_row([id], |r| r.get(0))
        };
        Ok((u64::try_from(count("parent")?)?, u64::try_from(count("root")?)?))
    }

    /// The authors of a thread's live replies, most recent first.
    pub(crate) fn participants(&self, root: &str, most: usize) -> anyhow::Result<Vec<String>> {
        let mut statement = self.db.prepare(
            "select pubkey from events where root = ?1 and state = 0 and counted = 1
             group by pubkey order by max(created_at) desc, max(seq) desc limit ?2",
        )?;
        let rows = statement.query_map(params![root, i64::try_from(most)?], |r| r.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Notes the server time at which a direct reply was stored.
    pub(crate) fn note_reply(&self, parent: &str, at: u64) -> anyhow::Result<()> {
        self.db.execute(
            "insert into replied(parent, at) values(?1, ?2) on conflict(parent) do update set at = max(at, ?2)",
            params![parent, int(at)],
        )?;
        Ok(())
    }

    /// When the last direct reply was stored; never rewound.
    pub(crate) fn last_reply_at(&self, parent: &str) -> anyhow::Result<Option<i64>> {
        Ok(self.db.prepare("select at from replied where parent = ?1")?.query_row([parent], |r| r.get(0)).optional()?)
    }

    /// Everything ever stored, in order of arrival.
    pub(crate) fn all(&self, kind: Option<u32>, author: Option<&str>) -> anyhow::Result<Vec<Stored>> {
        let sql = format!(
            "select {COLUMNS} from events e where (?1 is null or e.kind = ?1) and (?2 is null or e.pubkey = ?2) order by e.seq"
        );
        let mut statement = self.db.prepare(&sql)?;
        let rows = statement.query_map(params![kind, author], read_row)?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    pub(crate) fn save_channel(&self, id: &str, json: &str) -> anyhow::Result<()> {
        self.db.execute("insert or replace into channels(id, json) values(?1, ?2)", params![id, json])?;
        Ok(())
    }

    pub(crate) fn channels(&self) -> anyhow::Result<Vec<String>> {
        let mut statement = self.db.prepare("select json from channels order by id")?;
        let rows = statement.query_map([], |r| r.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(crate) fn save_meta(&self, key: &str, json: &str) -> anyhow::Result<()> {
        self.db.execute("insert or replace into meta(key, json) values(?1, ?2)", params![key, json])?;
        Ok(())
    }

    pub(crate) fn meta(&self, key: &str) -> anyhow::Result<Option<String>> {
        Ok(self.db.prepare("select json from meta where key = ?1")?.query_row([key], |r| r.get(0)).optional()?)
    }

    /// Groups many writes; a demo community of a thousand events opens in one go.
    pub(crate) fn begin(&self) -> anyhow::Result<()> {
        Ok(self.db.execute_batch("begin")?)
    }

    pub(crate) fn commit(&self) -> anyhow::Result<()> {
        Ok(self.db.execute_batch("commit")?)
    }
}

fn open_file(path: &Path) -> anyhow::Result<Connection> {
    let db = Connection::open(path)?;
    // A test relay may lose its last second in a power cut; it must not cost a disk flush an event.
    db.execute_batch("pragma journal_mode = wal; pragma synchronous = off;")?;
    Ok(db)
}

fn clause_of(select: &Select) -> Clause {
    let mut clause = Clause::default();
    clause.sql.push_str(" and e.kind not in (39005, 39006)");
    if let Some(ids) = &select.ids {
        clause.any_of("e.id", ids);
    }
    if let Some(authors) = &select.authors {
        clause.any_of("e.pubkey", authors);
    }
    if let Some(kinds) = &select.kinds {
        clause.and(&format!("e.kind in ({})", marks(kinds.len())), kinds.iter().map(|k| Value::Integer((*k).into())));
    }
    if let Some(channels) = &select.channels {
        clause.any_of("e.channel", channels);
    }
    if let Some(since) = select.since {
        clause.and("e.created_at >= ?", [int(since)]);
    }
    if let Some(until) = select.until {
        clause.and("e.created_at <= ?", [int(until)]);
    }
    if let Some((at, id)) = &select.after {
        clause.and(
            "(e.created_at < ? or (e.created_at = ? and e.id > ?))",
            [int(*at), int(*at), Value::Text(id.clone())],
        );
    }
    for (name, values) in &select.tags {
        let sql = format!("e.seq in (select seq from tags where name = ? and value in ({}))", marks(values.len()));
        let name = Value::Text(name.to_string());
        clause.and(&sql, std::iter::once(name).chain(values.iter().cloned().map(Value::Text)));
    }
    if select.top_level {
        clause.and("(e.depth = 0 or (e.depth = 1 and e.broadcast = 1))", []);
    }
    if let Some(text) = &select.search {
        clause.and("instr(lower(e.json), ?) > 0", [Value::Text(text.to_lowercase())]);
    }
    clause
}

/// Reads a row; a text that is no longer an event is skipped.
fn read_row(row: &SqlRow<'_>) -> rusqlite::Result<Option<Stored>> {
    let json: String = row.get(9)?;
    let Ok(event) = Event::parse(&json) else { return Ok(None) };
    let origin = match row.get::<_, u8>(7)? {
        0 => Origin::Client,
        1 => Origin::Admin,
        _ => Origin::Relay,
    };
    let place = Place {
        channel: row.get(1)?,
        parent: row.get(2)?,
        root: row.get(3)?,
        depth: row.get(4)?,
        broadcast: row.get(5)?,
    };
    Ok(Some(Stored { seq: row.get(0)?, event, place, live: row.get::<_, u8>(6)? == 0, origin, label: row.get(8)? }))
}

/// Whether a kind replaces its predecessor, and by which `d`.
pub(crate) fn coordinate(event: &Event) -> Option<Option<&str>> {
    if kinds::is_addressable(event.kind) {
        Some(Some(event.tag("d").unwrap_or("")))
    } else if kinds::is_replaceable(event.kind) {
        Some(None)
    } else {
        None
    }
}
