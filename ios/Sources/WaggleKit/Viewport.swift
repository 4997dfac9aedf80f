// From where rows lie to what is reported as visible.
//
// A list says after each layout where its rows are. `viewport(of:active:)` makes a report of that: which rows show in full, in order, and the
// newest row if its lower edge shows at the list's end. `ViewportReporter` hands a report on when it differs from the last one, and never
// otherwise: each report starts the core's dwell again. While nothing may be read (not in front, or still moving) what shows is of no
// interest, so scrolling costs one report when it begins and one when it ends. What being visible leads to is the core's business.

public import Waggle

/// Where one row lies, from the upper edge of the list's visible part, in points.
public struct PlacedRow: Sendable, Hashable {
    /// The message; `nil` for what is none: a separator, a mark, a progress row.
    public let id: EventId?
    /// Upper edge.
    public let top: Double
    /// Lower edge.
    public let bottom: Double

    /// A row at its place.
    public init(id: EventId?, top: Double, bottom: Double) {
        self.id = id
        self.top = top
        self.bottom = bottom
    }
}

/// A list after one layout.
public struct ListLayout: Sendable, Hashable {
    /// Rows top to bottom, partly visible and merely laid out ones included.
    public var rows: [PlacedRow]
    /// Height of the visible part.
    public var height: Double
    /// The list cannot be scrolled further to newer rows.
    public var atEnd: Bool
    /// The newest row there is; `nil` when newer ones are not loaded.
    public var newest: EventId?
    /// Nothing moves, and the first position has been taken.
    public var settled: Bool

    /// A layout.
    public init(rows: [PlacedRow] = [], height: Double = 0, atEnd: Bool = false, newest: EventId? = nil, settled: Bool = false) {
        self.rows = rows
        self.height = height
        self.atEnd = atEnd
        self.newest = newest
        self.settled = settled
    }
}

/// What a list shows.
public func viewport(of layout: ListLayout, active: Bool) -> Viewport {
    guard active, layout.settled else {
        return Viewport(active: active, settled: layout.settled, visible: [], bottom: nil)
    }
    let sized = layout.rows.filter { $0.bottom > $0.top && $0.bottom > 0 && $0.bottom <= layout.height }
    let visible = sized.filter { $0.top >= 0 }.compactMap(\.id)
    let newest = layout.newest.flatMap { newest in sized.first { $0.id == newest } }
    return Viewport(active: true, settled: true, visible: visible, bottom: layout.atEnd ? newest?.id : nil)
}

/// Tells a surface what its list shows, once for each change.
@MainActor public final class ViewportReporter {
    private var surface: (any WaggleSurface)?
    private var layout: ListLayout?
    private var active = false
    private var told: Viewport?
    private var ended = false

    /// A reporter that has no surface yet.
    public init() {}

    /// Whether there is a surface to tell.
    public var isAttached: Bool { surface != nil }

    /// Takes over a surface. One that comes too late is closed.
    public func attach(_ surface: any WaggleSurface) {
        guard !ended else { return surface.close() }
        detach()
        self.surface = surface
        tell()
    }

    /// The list was laid out.
    public func layout(_ layout: ListLayout) {
        guard layout != self.layout else { return }
        self.layout = layout
        tell()
    }

    /// Whether the person can touch the list: the app is not behind a system sheet or in the switcher.
    public func active(_ active: Bool) {
        guard active != self.active else { return }
        self.active = active
        tell()
    }

    /// Ends the surface at once: the screen goes, is covered, or the app goes. Another one may be attached.
    public func detach() {
        surface?.close()
        surface = nil
        told = nil
    }

    /// Ends the surface for good.
    public func close() {
        ended = true
        detach()
    }

    private func tell() {
        guard let surface, let layout else { return }
        let viewport = viewport(of: layout, active: active)
        // A surface that was told nothing knows of nothing that could be read.
        if viewport == told || (told == nil && !viewport.active) { return }
        told = viewport
        // Ids come from the core, so it refuses none; a report it refuses counts for nothing.
        try? surface.report(viewport)
    }
}
