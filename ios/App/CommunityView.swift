import SwiftUI
import Waggle
import WaggleKit

/// A community: its channel list, what is open over it, and everything that lies over both.
struct CommunityView: View {
    let reader: ReaderModel
    @Bindable var community: CommunityModel
    @State private var followed: Bool?

    var body: some View {
        NavigationStack(path: $community.path) {
            SidebarView(reader: reader, community: community)
                .navigationDestination(for: Place.self) { place in
                    TimelineScreen(place: place, community: community, model: community.timeline(place))
                }
        }
        .overlay(alignment: .bottom) { NoticeBar(community: community) }
        .sheet(item: $community.sheet) { sheet in
            NavigationStack {
                switch sheet {
                case .diagnostics(let place): DiagnosticsView(community: community, place: place)
                case .activity(let channel): ActivityView(community: community, channel: channel)
                case .communities: CommunitiesView(reader: reader, community: community)
                }
            }
        }
        .confirmationDialog("Mark every channel read?", isPresented: $community.asksToMarkAll, titleVisibility: .visible) {
            Button("Mark all read") { community.markAllRead() }
        } message: {
            Text("On all your devices. This cannot be undone.")
        }
        .confirmationDialog("Message", isPresented: $community.asksAboutMessage) {
            if case .message(let row, let place) = community.question { actions(row, place) }
        }
        .confirmationDialog("Timeline", isPresented: $community.asksAboutPlace) {
            if case .place(let place) = community.question { actions(place) }
        }
        .task(id: community.question) {
            followed = nil
            if case .message(let row, let place) = community.question {
                followed = await community.isFollowed(place.channel, root: row.threadRoot ?? row.id)
            }
        }
    }

    @ViewBuilder private func actions(_ row: TimelineRow, _ place: Place) -> some View {
        let root = row.threadRoot ?? row.id
        if !row.quiet {
            Button("Mark unread") { community.markUnread(row, in: place) }
            Button("Mark read") { community.markRead(row, in: place) }
            Button("Mark read through here") { community.markRead(through: row, in: place) }
        }
        if place == .channel(place.channel) {
            Button("Open thread") { community.open(.thread(place.channel, root: root)) }
        }
        if let followed {
            Button(followed ? "Unfollow thread" : "Follow thread") { community.follow(place.channel, root: root, !followed) }
        }
        Button("Copy text") {
            Clipboard.copy(row.text)
            community.copied()
        }
    }

    @ViewBuilder private func actions(_ place: Place) -> some View {
        switch place {
        case .thread(let channel, let root):
            if let followed = community.timeline(place).isFollowed {
                Button(followed ? "Unfollow thread" : "Follow thread") { community.follow(channel, root: root, !followed) }
            }
        case .channel(let channel):
            Button("Mark channel read") { community.markRead(channel) }
            Button("Threads with new replies") { community.sheet = .activity(channel) }
            if let row = community.sidebar.row(channel) {
                Button(row.muted ? "Unmute" : "Mute") { community.mute(channel, !row.muted) }
            }
        }
        Button("Diagnostics") { community.sheet = .diagnostics(place) }
    }
}
