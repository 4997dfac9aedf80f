// What a lazy list of SwiftUI says about itself, put together as layouts.
//
// SwiftUI tells each row's frame by itself, row after row in one frame of the display, and iOS 17 tells nobody when a list comes to rest. So a
// list counts as moving from the first change on, and as settled when nothing has changed for a while. Between the two not a single layout is
// handed on, however many frames that takes, and there is one task that waits for the end.

import Waggle

/// Frames of a list's rows, as they come in.
@MainActor public final class ListGeometry {
    /// How time passes.
    public struct Pace: Sendable {
        let now: @MainActor @Sendable () -> Duration
        let sleep: @Sendable (Duration) async -> Void

        /// Time as told by these.
        public init(now: @escaping @MainActor @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async -> Void) {
            self.now = now
            self.sleep = sleep
        }

        /// The system's time.
        public static var continuous: Pace {
            let start = ContinuousClock.now
            return Pace(now: { ContinuousClock.now - start }, sleep: { try? await Task.sleep(for: $0) })
        }
    }

    /// Nothing may change for so long before a list counts as settled: six frames of a slow display.
    public static let quiet = Duration.milliseconds(100)

    private struct Frame: Equatable {
        let id: EventId?
        let top: Double
        let bottom: Double
    }

    private let pace: Pace
    private let tell: @MainActor (ListLayout) -> Void
    private var frames: [String: Frame] = [:]
    private var height = 0.0
    private var end = Double.infinity
    private var newest: EventId?
    private var positioning = false
    private var changed = Duration.zero
    private var waiting: Task<Void, Never>?

    /// Hands layouts on to `tell`.
    public init(pace: Pace = .continuous, tell: @escaping @MainActor (ListLayout) -> Void) {
        self.pace = pace
        self.tell = tell
    }

    /// An item of the list lies here. `id` is the message it shows, if it is one.
    public func place(_ key: String, id: EventId?, top: Double, bottom: Double) {
        let frame = Frame(id: id, top: top, bottom: bottom)
        guard frames.updateValue(frame, forKey: key) != frame else { return }
        moved()
    }

    /// An item is laid out no longer.
    public func remove(_ key: String) {
        guard frames.removeValue(forKey: key) != nil else { return }
        moved()
    }

    /// The visible part is so high.
    public func resize(height: Double) {
        guard height != self.height else { return }
        self.height = height
        moved()
    }

    /// The list's content ends here, from the upper edge of the visible part.
    public func endsAt(_ end: Double) {
        guard end != self.end else { return }
        self.end = end
        moved()
    }

    /// The newest row there is.
    public func newest(_ newest: EventId?) {
        guard newest != self.newest else { return }
        self.newest = newest
        moved()
    }

    /// The list is about to be scrolled somewhere, or has got there.
    public func positioning(_ positioning: Bool) {
        guard positioning != self.positioning else { return }
        self.positioning = positioning
        moved()
    }

    /// Forgets everything; the list is gone.
    public func reset() {
        waiting?.cancel()
        waiting = nil
        frames = [:]
    }

    private func moved() {
        changed = pace.now()
        guard waiting == nil else { return }
        tell(layout(settled: false))
        waiting = Task { [weak self, pace] in
            while let left = self?.left(), left > .zero {
                await pace.sleep(left)
                if Task.isCancelled { return }
            }
            self?.rested()
        }
    }

    private func left() -> Duration {
        changed + Self.quiet - pace.now()
    }

    private func rested() {
        guard waiting != nil else { return }
        waiting = nil
        tell(layout(settled: !positioning))
    }

    private func layout(settled: Bool) -> ListLayout {
        let rows = frames.values.sorted { $0.top < $1.top }.map { PlacedRow(id: $0.id, top: $0.top, bottom: $0.bottom) }
        return ListLayout(rows: rows, height: height, atEnd: end - height <= 1, newest: newest, settled: settled)
    }
}
