import SwiftUI
import Waggle
import WaggleKit

/// A failure that leaves nothing to show: a sentence and what can be done.
struct FailureView: View {
    let failure: Failure
    let again: @MainActor () -> Void

    var body: some View {
        ContentUnavailableView {
            Label("That did not work", systemImage: "exclamationmark.triangle")
        } description: {
            Text(failure.sentence)
        } actions: {
            if failure.canTryAgain {
                Button("Try again", action: again).buttonStyle(.borderedProminent)
            }
        }
    }
}

/// A failure among rows that stay.
struct FailureRow: View {
    let failure: Failure
    let again: @MainActor () -> Void

    var body: some View {
        HStack {
            Label(failure.sentence, systemImage: "exclamationmark.triangle").font(.footnote)
            Spacer()
            if failure.canTryAgain {
                Button("Try again", action: again).font(.footnote)
            }
        }
        .padding()
        .background(.thinMaterial)
    }
}

/// What the session is doing, while that is not the usual.
struct ConnectivityBar: View {
    let connectivity: Connectivity?
    let isCached: Bool
    let connect: @MainActor () -> Void
    let diagnose: @MainActor () -> Void

    var body: some View {
        if let connectivity, connectivity.phase != .online || connectivity.repair != nil || isCached {
            HStack {
                if connectivity.phase == .connecting || connectivity.repair != nil {
                    ProgressView().accessibilityHidden(true)
                }
                Text(connectivity.sentence).font(.footnote)
                Spacer()
                if connectivity.phase == .offline {
                    Button("Connect", action: connect).font(.footnote)
                } else if connectivity.phase == .refused {
                    Button("Details", action: diagnose).font(.footnote)
                }
            }
            .padding()
            .background(.bar)
            .accessibilityElement(children: .combine)
        }
    }
}

/// Something told in passing. It goes by itself, unless it offers something.
struct NoticeBar: View {
    let community: CommunityModel

    var body: some View {
        if let notice = community.notice {
            HStack {
                Text(words(notice.content)).font(.callout)
                Spacer()
                if let again = notice.again {
                    Button("Try again") {
                        community.dismiss(notice)
                        again()
                    }
                }
                Button("Dismiss", systemImage: "xmark") { community.dismiss(notice) }.labelStyle(.iconOnly)
            }
            .padding()
            .background(.regularMaterial, in: RoundedRectangle(cornerRadius: 12))
            .padding()
            .task(id: notice.id) {
                AccessibilityNotification.Announcement(words(notice.content)).post()
                try? await Task.sleep(for: .seconds(notice.again == nil ? 4 : 12))
                if !Task.isCancelled { community.dismiss(notice) }
            }
        }
    }

    private func words(_ content: Notice.Content) -> String {
        switch content {
        case .failed(let failure): failure.sentence
        case .onThisDeviceOnly: "Marked on this device only."
        case .markedRead(let count): count == 1 ? "1 channel marked read." : "\(count) channels marked read."
        case .copied: "Copied."
        }
    }
}

/// The accent dot.
struct Dot: View {
    @ScaledMetric private var size = 9.0

    var body: some View {
        Circle().fill(.tint).frame(width: size, height: size).accessibilityHidden(true)
    }
}

/// First letters in a circle.
struct Portrait: View {
    let name: String
    @ScaledMetric private var size = 34.0

    var body: some View {
        Text(verbatim: initials(name))
            .font(.caption.bold())
            .frame(width: size, height: size)
            .background(.quaternary, in: Circle())
            .accessibilityHidden(true)
    }
}

/// Where a view lies between top and bottom.
struct Span: Equatable, Sendable {
    let top: Double
    let bottom: Double

    init(_ frame: CGRect) {
        top = frame.minY
        bottom = frame.maxY
    }
}
