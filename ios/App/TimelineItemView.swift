import SwiftUI
import Waggle
import WaggleKit

/// One item of a timeline.
struct TimelineItemView: View {
    let item: TimelineItem
    let place: Place
    let community: CommunityModel
    let model: TimelineModel
    let formats: Formats

    var body: some View {
        switch item {
        case .message(let row) where row.kind == .notice:
            Mark { Text(verbatim: row.text).font(.footnote).foregroundStyle(.secondary) }
        case .message(let row):
            MessageView(row: row, place: place, community: community, formats: formats)
        case .day(let day):
            Mark { Text(verbatim: formats.day(day, now: .now)).font(.footnote.bold()) }.accessibilityAddTraits(.isHeader)
        case .firstUnread:
            Mark { Label("New messages", systemImage: "arrow.down").font(.footnote.bold()).foregroundStyle(.tint) }
                .accessibilityAddTraits(.isHeader)
        case .gap:
            Mark {
                Text("Messages may be missing here.").font(.footnote).foregroundStyle(.secondary)
                Button("Load them") { model.loadMore() }.font(.footnote).disabled(model.isLoading)
            }
        case .goesOn:
            Mark { if model.failure == nil { ProgressView("Loading…") } }
                .onAppear { model.loadMore() }
        case .uncertain:
            Mark { Text("Whether there is more is not known while offline.").font(.footnote).foregroundStyle(.secondary) }
        case .beginning:
            Mark { Text("This is the beginning.").font(.footnote).foregroundStyle(.secondary) }
        }
    }
}

/// What stands between messages.
private struct Mark<Content: View>: View {
    @ViewBuilder let content: Content

    var body: some View {
        HStack {
            Spacer()
            content
            Spacer()
        }
        .padding()
    }
}

/// A message, alone or below others of its author.
struct MessageView: View {
    let row: TimelineRow
    let place: Place
    let community: CommunityModel
    let formats: Formats
    @ScaledMetric private var indent = 34.0

    var body: some View {
        HStack(alignment: .top) {
            if row.grouped {
                Spacer().frame(width: indent)
            } else {
                Portrait(name: row.authorName)
            }
            VStack(alignment: .leading, spacing: 4) {
                if !row.grouped { header }
                content
                if !row.reactions.isEmpty { reactions }
                if row.replies > 0, isInChannel { replyButton }
            }
            Spacer(minLength: 0)
        }
        .padding(.horizontal)
        .padding(.vertical, 4)
        .background(row.mentioned ? AnyShapeStyle(Color.accentColor.opacity(0.12)) : AnyShapeStyle(.clear))
        .contentShape(Rectangle())
        .onLongPressGesture { community.question = .message(row, place) }
        .accessibilityElement(children: .ignore)
        .accessibilityLabel(Text(verbatim: spoken(row, formats)))
        .accessibilityAction(named: "Message actions") { community.question = .message(row, place) }
        .accessibilityAction(named: "Open thread") { if isInChannel { openThread() } }
    }

    private var isInChannel: Bool {
        place == .channel(place.channel)
    }

    private var header: some View {
        HStack(alignment: .firstTextBaseline) {
            Text(verbatim: row.authorName).font(.subheadline.bold())
            Text(verbatim: formats.time(row.createdAt)).font(.caption).foregroundStyle(.secondary)
        }
    }

    @ViewBuilder private var content: some View {
        switch row.kind {
        case .diff: Text(verbatim: row.text).font(.footnote.monospaced())
        case .job: Label(row.text, systemImage: "gearshape")
        case .huddle: Label(row.text, systemImage: "waveform")
        case .message, .notice: Text(verbatim: row.text)
        }
        if row.edited { Text("edited").font(.caption).foregroundStyle(.secondary) }
    }

    private var reactions: some View {
        ScrollView(.horizontal, showsIndicators: false) {
            HStack {
                ForEach(row.reactions, id: \.emoji) { reaction in
                    Text(verbatim: "\(reaction.emoji) \(formats.count(reaction.count))")
                        .font(.caption)
                        .padding(.horizontal, 8)
                        .padding(.vertical, 2)
                        .background(
                            reaction.mine ? AnyShapeStyle(Color.accentColor.opacity(0.2)) : AnyShapeStyle(.quaternary),
                            in: Capsule())
                }
            }
        }
    }

    private var replyButton: some View {
        Button(action: openThread) {
            HStack {
                Label(replies(row, formats), systemImage: "bubble.left").font(.footnote)
                if row.threadDot { Dot() }
            }
        }
        .buttonStyle(.borderless)
    }

    private func openThread() {
        community.open(.thread(place.channel, root: row.id))
    }
}
