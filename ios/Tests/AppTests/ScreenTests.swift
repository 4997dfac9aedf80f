import SwiftUI
import Testing
import UIKit
import Waggle
import WaggleFakes

@testable import WaggleKit
@testable import WaggleReader

/// Every screen, laid out once in a window, by a scripted session. Runs in a simulator only; on Linux its types are checked.
@MainActor @Suite struct ScreenTests {
    private func draw(_ view: some View) async {
        let controller = UIHostingController(rootView: view)
        controller.view.frame = CGRect(x: 0, y: 0, width: 390, height: 844)
        controller.view.layoutIfNeeded()
        try? await Task.sleep(for: .milliseconds(100))
        let size = controller.sizeThatFits(in: CGSize(width: 390, height: 844))
        #expect(size.width > 0 && size.height > 0)
    }

    private func community() -> CommunityModel {
        let session = FakeSession()
        session.show(sidebar: [
            Fake.sidebarRow(1, strong: true, dot: true), Fake.sidebarRow(2, section: .directMessages, bell: true),
        ])
        let rows = [
            Fake.row(1, startsDay: true), Fake.row(2, text: "Two", edited: true, grouped: true), Fake.row(3, kind: .notice),
            Fake.row(4, replies: 2, threadDot: true, reactions: [Reaction(emoji: "🐝", count: 2, mine: true)]),
        ]
        session.add(FakeTimeline(rows: rows, status: Fake.status(more: .yes, gap: 1, firstUnread: Fake.event(2))))
        session.add(FakeTimeline(rows: rows, status: Fake.status(root: Fake.event(1))))
        return CommunityModel(host: "chat.example", session: session, settings: MemorySettings(), utcOffset: 0)
    }

    @Test func signingIn() async {
        let reader = ReaderModel(client: FakeClient(), settings: MemorySettings(), utcOffset: { 0 })
        await draw(SignInView(reader: reader))
        await draw(BackupView(key: BackupKey(text: "nsec1")) {})
        await draw(AddCommunityView(reader: reader))
    }

    @Test func aCommunity() async {
        let reader = ReaderModel(client: FakeClient(), settings: MemorySettings(), utcOffset: { 0 })
        let community = community()
        community.start()
        await draw(CommunityView(reader: reader, community: community))
        for place in [Place.channel(Fake.channel(1)), .thread(Fake.channel(1), root: Fake.event(1))] {
            community.open(place)
            await draw(TimelineScreen(place: place, community: community, model: community.timeline(place)))
        }
        await draw(DiagnosticsView(community: community, place: .channel(Fake.channel(1))))
        await draw(ActivityView(community: community, channel: Fake.channel(1)))
        await draw(CommunitiesView(reader: reader, community: community))
        await draw(FailureView(failure: Fake.failure(retry: .now)) {})
        await community.close()
    }
}
