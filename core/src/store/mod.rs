//! Ports to what lasts, with their adapters. Durable and disposable are two files (`ARCHITECTURE.md`, decision 6).

pub mod cache;
pub mod journal;
