//! Storage adapters: SQLite files of one device. Nothing here knows a rule of reading or paging.

pub mod cache;
