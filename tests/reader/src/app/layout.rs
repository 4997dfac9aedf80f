//! Where the blocks of a timeline stand. Rebuilt when rows or width change; blocks of unchanged rows are kept, so a change costs what
//! changed and a walk over pointers.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use waggle::ids::EventId;
use waggle::model::TimelineState;

use super::blocks::{self, Block, Content, Look};

/// Blocks and their lines.
#[derive(Debug, Default)]
pub struct Layout {
    look: Option<Look>,
    blocks: Vec<Block>,
    /// First line of each block.
    starts: Vec<usize>,
    total: usize,
}

impl Layout {
    /// Lays a timeline out anew.
    pub fn rebuild(&mut self, state: &TimelineState, look: Look) {
        let kept_look = self.look.is_some_and(|old| Look { now: look.now, ..old } == look);
        let mut kept: HashMap<EventId, Block> =
            if kept_look { self.blocks.drain(..).filter_map(|b| Some((b.id()?, b))).collect() } else { HashMap::new() };
        let block = |content: Content| {
            if let Content::Row(row) = &content
                && let Some(block) = kept.remove(&row.id)
                && matches!(&block.content, Content::Row(old) if Arc::ptr_eq(old, row) || old == row)
            {
                return block;
            }
            blocks::draw(content, &look)
        };
        self.blocks = blocks::contents(state).into_iter().map(block).collect();
        self.starts.clear();
        self.total = 0;
        for block in &self.blocks {
            self.starts.push(self.total);
            self.total += block.lines.len();
        }
        self.look = Some(look);
    }

    /// Lines in all.
    pub fn total(&self) -> usize {
        self.total
    }

    /// All blocks, top to bottom.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Lines of a block.
    pub fn extent(&self, index: usize) -> Range<usize> {
        let start = self.starts.get(index).copied().unwrap_or(self.total);
        start..start + self.blocks.get(index).map_or(0, |b| b.lines.len())
    }

    /// Block of a row.
    pub fn index_of(&self, id: EventId) -> Option<usize> {
        self.blocks.iter().position(|b| b.id() == Some(id))
    }

    /// The block a line belongs to.
    pub fn block_at(&self, line: usize) -> usize {
        self.starts.partition_point(|start| *start <= line).saturating_sub(1)
    }

    /// The first row at or below a line: its id and its first line.
    pub fn row_from(&self, line: usize) -> Option<(EventId, usize)> {
        let first = self.block_at(line);
        self.blocks.iter().zip(&self.starts).skip(first).find_map(|(b, start)| Some((b.id()?, *start)))
    }
}
