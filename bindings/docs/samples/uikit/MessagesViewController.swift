// Waggle in a UIKit app that already exists. The marked regions are the blocks of ../../howto.md.

import Foundation
import UIKit
import Waggle

// howto: uikit-controller
final class MessagesViewController: UIViewController, UITableViewDelegate {
    private let session: any WaggleSession
    private let channel: ChannelId
    private let table = UITableView()
    private var source: UITableViewDiffableDataSource<Int, EventId>?
    private var rows: [EventId: TimelineRow] = [:]
    private var timeline: (any WaggleTimeline)?
    private var surface: (any WaggleSurface)?
    private var showing: Task<Void, Never>?

    init(session: any WaggleSession, channel: ChannelId) {
        self.session = session
        self.channel = channel
        super.init(nibName: nil, bundle: nil)
    }

    required init?(coder: NSCoder) { nil }

    override func viewDidLoad() {
        super.viewDidLoad()
        view.addSubview(table)
        table.delegate = self
        table.register(UITableViewCell.self, forCellReuseIdentifier: "message")
        source = UITableViewDiffableDataSource(tableView: table) { [weak self] table, path, id in
            let cell = table.dequeueReusableCell(withIdentifier: "message", for: path)
            cell.textLabel?.text = self?.rows[id]?.text
            cell.accessibilityLabel = self?.rows[id].map { "\($0.authorName), \($0.text)" }
            return cell
        }
    }
    // howto: end

    // howto: uikit-show
    override func viewDidAppear(_ animated: Bool) {
        super.viewDidAppear(animated)
        showing = Task { [weak self, session, channel] in
            do throws(SessionError) {
                let timeline = try await session.timeline(channel, utcOffset: Int32(TimeZone.current.secondsFromGMT()))
                let surface = try await session.surface(channel)
                self?.timeline = timeline
                self?.surface = surface
                for await snapshot in timeline.rows { self?.apply(snapshot) }
                surface.close()
                try await timeline.close()
            } catch {
                self?.tell(error.failure)
            }
        }
    }

    override func viewWillDisappear(_ animated: Bool) {
        super.viewWillDisappear(animated)
        // At once: nothing is read that the person does not look at.
        surface?.close()
        showing?.cancel()
    }

    private func apply(_ snapshot: TimelineSnapshot) {
        let before = rows
        rows = Dictionary(uniqueKeysWithValues: snapshot.rows.map { ($0.id, $0) })
        var list = NSDiffableDataSourceSnapshot<Int, EventId>()
        list.appendSections([0])
        list.appendItems(snapshot.rows.map(\.id), toSection: 0)
        list.reconfigureItems(snapshot.rows.filter { before[$0.id].map { old in old != rows[old.id] } ?? false }.map(\.id))
        source?.apply(list, animatingDifferences: false) { [weak self] in self?.report(settled: true) }
    }
    // howto: end

    // howto: uikit-visible
    func scrollViewWillBeginDragging(_ scrollView: UIScrollView) { report(settled: false) }

    func scrollViewDidEndDecelerating(_ scrollView: UIScrollView) { report(settled: true) }

    func scrollViewDidEndDragging(_ scrollView: UIScrollView, willDecelerate decelerate: Bool) {
        if !decelerate { report(settled: true) }
    }

    private func report(settled: Bool) {
        guard settled else {
            try? surface?.report(Viewport(active: true, settled: false, visible: [], bottom: nil))
            return
        }
        let seen = table.bounds.inset(by: table.adjustedContentInset)
        let paths = (table.indexPathsForVisibleRows ?? []).sorted()
        let full = paths.filter { seen.contains(table.rectForRow(at: $0)) }.compactMap { source?.itemIdentifier(for: $0) }
        let last = paths.last.flatMap { path -> EventId? in
            let frame = table.rectForRow(at: path)
            let isNewest = path.row == rows.count - 1
            return isNewest && frame.maxY > seen.minY && frame.maxY <= seen.maxY ? source?.itemIdentifier(for: path) : nil
        }
        try? surface?.report(Viewport(active: presentedViewController == nil, settled: true, visible: full, bottom: last))
    }
    // howto: end

    private func tell(_ failure: Failure) {
        let alert = UIAlertController(title: nil, message: failure.sentence, preferredStyle: .alert)
        alert.addAction(UIAlertAction(title: "All right", style: .default, handler: nil))
        present(alert, animated: true, completion: nil)
    }
}
