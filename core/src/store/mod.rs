//! Ports to what lasts, with their adapters. Durable and disposable are two files (`architecture.md`, decision 6).

pub mod journal;
