// SwiftUI inside UIKit.

public import UIKit

@MainActor open class UIHostingController<Content: View>: UIViewController {
    public init(rootView: Content) {
        super.init(nibName: nil, bundle: nil)
    }
    public func sizeThatFits(in size: CGSize) -> CGSize { size }
    public required init?(coder: NSCoder) { nil }
}
