//! Tests of evidence, relevance and unread together. Every step of every test is compared with the oracle ([`kit::World::check`]).

mod ancestry;
mod bounds;
mod choices;
mod evaluation;
mod history;
mod intake;
mod kinds;
mod kit;
mod lookups;
mod queries;
mod repair;
