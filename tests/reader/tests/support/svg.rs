//! A screen as a picture: an SVG of its cells, in a terminal's usual dark palette.
//!
//! Text of one style is one element as long as it is ASCII; every other character stands alone at its cell, so that a font in which it is wider
//! or missing moves nothing. Emoji are pictures beside it, `emoji-` and their code points: what draws an SVG draws text in one colour.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use waggle_reader::app::text;

/// Pixels of the type, and of a cell: as far as DejaVu Sans Mono advances at this size, and as high as its lines are, so that frames close.
const SIZE: f32 = 16.0;
const WIDTH: f32 = 9.632_812_5;
const HEIGHT: f32 = 18.625;
const BASELINE: f32 = 14.85;
/// Around the screen.
const MARGIN: f32 = 10.0;

const PAPER: &str = "#1c1a17";
const INK: &str = "#e9e3d7";

/// How a cell is drawn.
#[derive(PartialEq, Clone, Copy)]
struct Look {
    ink: &'static str,
    paper: &'static str,
    bold: bool,
}

/// The picture.
pub(crate) fn drawn(buffer: &Buffer) -> String {
    let area = buffer.area();
    let (width, height) =
        (f32::from(area.width) * WIDTH + 2.0 * MARGIN, f32::from(area.height) * HEIGHT + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" font-size=\"{SIZE}\" \
         font-family=\"DejaVu Sans Mono\" xml:space=\"preserve\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>\n"
    );
    for y in 0..area.height {
        let mut x = 0;
        while x < area.width {
            let (cells, text, look) = run(buffer, x, y);
            element(&mut svg, (x, y, cells), &text, look);
            x += cells;
        }
    }
    svg + "</svg>\n"
}

/// What can be drawn together from a cell on: how many cells, their text and look.
fn run(buffer: &Buffer, from: u16, y: u16) -> (u16, String, Look) {
    let first = &buffer[(from, y)];
    let (look, mut said) = (look(first), first.symbol().to_owned());
    if !said.is_ascii() {
        let cells = u16::try_from(text::width(&said).max(1)).unwrap();
        return (cells, said, look);
    }
    let mut x = from + 1;
    while x < buffer.area().width {
        let cell = &buffer[(x, y)];
        if !cell.symbol().is_ascii() || self::look(cell) != look {
            break;
        }
        said.push_str(cell.symbol());
        x += 1;
    }
    (x - from, said, look)
}

fn element(svg: &mut String, (x, y, cells): (u16, u16, u16), said: &str, look: Look) {
    let (left, top) = (MARGIN + f32::from(x) * WIDTH, MARGIN + f32::from(y) * HEIGHT);
    if look.paper != PAPER {
        let (wide, paper) = (f32::from(cells) * WIDTH, look.paper);
        writeln!(svg, "<rect x=\"{left:.2}\" y=\"{top}\" width=\"{wide:.2}\" height=\"{HEIGHT}\" fill=\"{paper}\"/>")
            .unwrap();
    }
    if let Some(code) = emoji(said) {
        let wide = f32::from(cells) * WIDTH;
        let place = format!("x=\"{left:.2}\" y=\"{top}\" width=\"{wide:.2}\" height=\"{HEIGHT}\"");
        writeln!(svg, "<image href=\"emoji-{code}.png\" {place}/>").unwrap();
        return;
    }
    let trimmed = said.trim_end();
    if !trimmed.is_empty() {
        let weight = if look.bold { " font-weight=\"bold\"" } else { "" };
        let escaped = trimmed.replace('&', "&amp;").replace('<', "&lt;");
        let (down, ink) = (top + BASELINE, look.ink);
        writeln!(svg, "<text x=\"{left:.2}\" y=\"{down}\" fill=\"{ink}\"{weight}>{escaped}</text>").unwrap();
    }
}

/// The code points of an emoji, as the name of its picture has them.
fn emoji(said: &str) -> Option<String> {
    let code: Vec<_> = said.chars().map(|c| format!("{:x}", u32::from(c))).collect();
    said.starts_with(|c| c >= '\u{1f000}').then(|| code.join("-"))
}

fn look(cell: &Cell) -> Look {
    let (ink, paper) = (colour(cell.fg, INK), colour(cell.bg, PAPER));
    let (ink, paper) = if cell.modifier.contains(Modifier::REVERSED) { (paper, ink) } else { (ink, paper) };
    Look { ink, paper, bold: cell.modifier.contains(Modifier::BOLD) }
}

/// A colour the reader uses; others would need a decision here.
fn colour(colour: Color, default: &'static str) -> &'static str {
    match colour {
        Color::Reset => default,
        Color::DarkGray => "#8f887b",
        Color::Cyan => "#5fbecb",
        Color::Yellow => "#f0bf4c",
        Color::Red => "#ec7272",
        Color::Green => "#97c46c",
        other => panic!("{other} has no place in the palette"),
    }
}
