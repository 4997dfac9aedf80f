// Views and controllers of UIKit, as far as samples and tests use them.

public struct UIEdgeInsets: Sendable {
    public static let zero = UIEdgeInsets()
}

extension CGRect {
    public func inset(by insets: UIEdgeInsets) -> CGRect { self }
}

@MainActor open class UIView {
    public init(frame: CGRect = .zero) {}
    open var frame: CGRect = .zero
    open var bounds: CGRect = .zero
    open var accessibilityLabel: String?
    open func layoutIfNeeded() {}
    open func addSubview(_ view: UIView) {}
}

@MainActor open class UIViewController {
    public init(nibName nibNameOrNil: String?, bundle nibBundleOrNil: Bundle?) {}
    public required init?(coder: NSCoder) {}
    open var view: UIView! = UIView()
    open var presentedViewController: UIViewController? { nil }
    open func viewDidLoad() {}
    open func viewDidAppear(_ animated: Bool) {}
    open func viewWillDisappear(_ animated: Bool) {}
    open func present(_ controller: UIViewController, animated: Bool, completion: (() -> Void)? = nil) {}
}

@MainActor open class UIAlertController: UIViewController {
    public enum Style: Int, Sendable { case actionSheet, alert }
    public convenience init(title: String?, message: String?, preferredStyle: Style) { self.init(nibName: nil, bundle: nil) }
    open func addAction(_ action: UIAlertAction) {}
}

@MainActor open class UIAlertAction {
    public enum Style: Int, Sendable { case `default`, cancel, destructive }
    public init(title: String?, style: Style, handler: ((UIAlertAction) -> Void)? = nil) {}
}

@MainActor open class UILabel: UIView {
    open var text: String?
}

@MainActor open class UIScrollView: UIView {
    open var adjustedContentInset: UIEdgeInsets { .zero }
}

@MainActor public protocol UIScrollViewDelegate: AnyObject {
    func scrollViewWillBeginDragging(_ scrollView: UIScrollView)
    func scrollViewDidEndDragging(_ scrollView: UIScrollView, willDecelerate decelerate: Bool)
    func scrollViewDidEndDecelerating(_ scrollView: UIScrollView)
}

@MainActor public protocol UITableViewDelegate: UIScrollViewDelegate {}

@MainActor open class UITableView: UIScrollView {
    open weak var delegate: (any UITableViewDelegate)?
    open var indexPathsForVisibleRows: [IndexPath]? { nil }
    open func rectForRow(at indexPath: IndexPath) -> CGRect { .zero }
    open func register(_ cellClass: AnyClass?, forCellReuseIdentifier identifier: String) {}
    open func dequeueReusableCell(withIdentifier identifier: String, for indexPath: IndexPath) -> UITableViewCell {
        UITableViewCell()
    }
}

@MainActor open class UITableViewCell: UIView {
    open var textLabel: UILabel? { nil }
}

extension IndexPath {
    public var row: Int { self[1] }
    public var section: Int { self[0] }
}

public struct NSDiffableDataSourceSnapshot<SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable> {
    public init() {}
    public mutating func appendSections(_ identifiers: [SectionIdentifierType]) {}
    public mutating func appendItems(_ identifiers: [ItemIdentifierType], toSection sectionIdentifier: SectionIdentifierType? = nil) {}
    public mutating func reconfigureItems(_ identifiers: [ItemIdentifierType]) {}
}

@MainActor @preconcurrency open class UITableViewDiffableDataSource<
    SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable
> {
    public typealias CellProvider = (
        _ tableView: UITableView, _ indexPath: IndexPath, _ itemIdentifier: ItemIdentifierType
    ) -> UITableViewCell?
    public init(tableView: UITableView, cellProvider: @escaping CellProvider) {}
    open func apply(
        _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>, animatingDifferences: Bool = true,
        completion: (() -> Void)? = nil
    ) {}
    open func itemIdentifier(for indexPath: IndexPath) -> ItemIdentifierType? { nil }
}
