// Values that views and modifiers take.

public struct LocalizedStringKey: ExpressibleByStringInterpolation, Equatable, Sendable {
    public init(_ value: String) {}
    public init(stringLiteral value: String) {}
}

public struct Font: Hashable, Sendable {
    public static let body = Font()
    public static let callout = Font()
    public static let caption = Font()
    public static let caption2 = Font()
    public static let footnote = Font()
    public static let headline = Font()
    public static let subheadline = Font()
    public func bold() -> Font { self }
    public func monospaced() -> Font { self }

    public struct Weight: Hashable, Sendable {
        public static let regular = Weight()
        public static let bold = Weight()
    }
}

public struct Alignment: Equatable, Sendable {
    public static let center = Alignment()
    public static let top = Alignment()
    public static let bottom = Alignment()
    public static let bottomTrailing = Alignment()
}

public struct HorizontalAlignment: Equatable, Sendable {
    public static let leading = HorizontalAlignment()
    public static let center = HorizontalAlignment()
    public static let trailing = HorizontalAlignment()
}

public struct VerticalAlignment: Equatable, Sendable {
    public static let top = VerticalAlignment()
    public static let center = VerticalAlignment()
    public static let firstTextBaseline = VerticalAlignment()
}

public struct UnitPoint: Hashable, Sendable {
    public static let top = UnitPoint()
    public static let center = UnitPoint()
    public static let bottom = UnitPoint()
}

public enum Edge: Sendable {
    case top, leading, bottom, trailing

    public struct Set: OptionSet, Sendable {
        public let rawValue: Int8
        public init(rawValue: Int8) { self.rawValue = rawValue }
        public static let all = Set(rawValue: 15)
        public static let horizontal = Set(rawValue: 10)
        public static let vertical = Set(rawValue: 5)
    }
}

public enum HorizontalEdge: Sendable { case leading, trailing }
public enum VerticalEdge: Sendable { case top, bottom }

public enum Axis: Sendable {
    case horizontal, vertical

    public struct Set: OptionSet, Sendable {
        public let rawValue: Int8
        public init(rawValue: Int8) { self.rawValue = rawValue }
        public static let horizontal = Set(rawValue: 1)
        public static let vertical = Set(rawValue: 2)
    }
}

public enum Visibility: Hashable, Sendable { case automatic, visible, hidden }

public struct ButtonRole: Equatable, Sendable {
    public static let destructive = ButtonRole()
    public static let cancel = ButtonRole()
}

public struct PinnedScrollableViews: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
}

// MARK: Styles

public protocol ShapeStyle: Sendable {}

public struct Color: ShapeStyle, View, Hashable {
    public typealias Body = Never
    nonisolated init() {}
    public static let accentColor = Color()
    public static let primary = Color()
    public static let secondary = Color()
    public static let clear = Color()
    public func opacity(_ opacity: Double) -> Color { self }
}

extension ShapeStyle where Self == Color {
    public static var clear: Color { Color() }
}

public struct HierarchicalShapeStyle: ShapeStyle {}

extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var primary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
    public static var secondary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
    public static var quaternary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
}

public struct TintShapeStyle: ShapeStyle {}

extension ShapeStyle where Self == TintShapeStyle {
    public static var tint: TintShapeStyle { TintShapeStyle() }
}

public struct Material: ShapeStyle {}

extension ShapeStyle where Self == Material {
    public static var regularMaterial: Material { Material() }
    public static var thinMaterial: Material { Material() }
    public static var bar: Material { Material() }
}

public struct AnyShapeStyle: ShapeStyle {
    public init<S: ShapeStyle>(_ style: S) {}
}

public protocol PrimitiveButtonStyle {}
public struct BorderedButtonStyle: PrimitiveButtonStyle {}
public struct BorderedProminentButtonStyle: PrimitiveButtonStyle {}
public struct BorderlessButtonStyle: PrimitiveButtonStyle {}

extension PrimitiveButtonStyle where Self == BorderedButtonStyle {
    public static var bordered: BorderedButtonStyle { BorderedButtonStyle() }
}

extension PrimitiveButtonStyle where Self == BorderedProminentButtonStyle {
    public static var borderedProminent: BorderedProminentButtonStyle { BorderedProminentButtonStyle() }
}

extension PrimitiveButtonStyle where Self == BorderlessButtonStyle {
    public static var borderless: BorderlessButtonStyle { BorderlessButtonStyle() }
}

public struct ButtonBorderShape: Equatable, Sendable {
    public static let capsule = ButtonBorderShape()
}

public protocol LabelStyle {}
public struct IconOnlyLabelStyle: LabelStyle {}

extension LabelStyle where Self == IconOnlyLabelStyle {
    public static var iconOnly: IconOnlyLabelStyle { IconOnlyLabelStyle() }
}

public protocol ListStyle {}
public struct SidebarListStyle: ListStyle {}

extension ListStyle where Self == SidebarListStyle {
    public static var sidebar: SidebarListStyle { SidebarListStyle() }
}

// MARK: Shapes

public protocol Shape: Sendable, View {}

extension Shape {
    nonisolated public func fill<S: ShapeStyle>(_ content: S) -> some View { self }
}

public struct Rectangle: Shape {
    public typealias Body = Never
    nonisolated public init() {}
}

public struct Circle: Shape {
    public typealias Body = Never
    nonisolated public init() {}
}

public struct Capsule: Shape {
    public typealias Body = Never
    nonisolated public init() {}
}

public struct RoundedRectangle: Shape {
    public typealias Body = Never
    nonisolated public init(cornerRadius: CGFloat) {}
}

// MARK: Geometry

public struct GeometryProxy {
    public var size: CGSize { .zero }
    public func frame(in coordinateSpace: some CoordinateSpaceProtocol) -> CGRect { .zero }
}

public protocol CoordinateSpaceProtocol {}
public struct NamedCoordinateSpace: CoordinateSpaceProtocol, Equatable, Sendable {}

extension CoordinateSpaceProtocol where Self == NamedCoordinateSpace {
    public static func named(_ name: some Hashable) -> NamedCoordinateSpace { NamedCoordinateSpace() }
}

@MainActor @preconcurrency public struct ScrollViewProxy {
    public func scrollTo<ID: Hashable>(_ id: ID, anchor: UnitPoint? = nil) {}
}

// MARK: Accessibility

public struct AccessibilityTraits: SetAlgebra, Sendable, ExpressibleByArrayLiteral {
    public typealias Element = AccessibilityTraits
    public static let isHeader = AccessibilityTraits()
    public static let isButton = AccessibilityTraits()
    public init() {}
    public func contains(_ member: Self) -> Bool { true }
    public func union(_ other: Self) -> Self { self }
    public func intersection(_ other: Self) -> Self { self }
    public func symmetricDifference(_ other: Self) -> Self { self }
    public mutating func insert(_ newMember: Self) -> (inserted: Bool, memberAfterInsert: Self) { (true, self) }
    public mutating func remove(_ member: Self) -> Self? { nil }
    public mutating func update(with newMember: Self) -> Self? { nil }
    public mutating func formUnion(_ other: Self) {}
    public mutating func formIntersection(_ other: Self) {}
    public mutating func formSymmetricDifference(_ other: Self) {}
}

public struct AccessibilityChildBehavior: Hashable, Sendable {
    public static let ignore = AccessibilityChildBehavior()
    public static let combine = AccessibilityChildBehavior()
}

public enum AccessibilityNotification {
    public struct Announcement {
        public init(_ announcement: String) {}
        @_disfavoredOverload public init(_ announcement: LocalizedStringKey) {}
        public func post() {}
    }
}

// MARK: Text input

public struct TextInputAutocapitalization: Sendable {
    public static var never: TextInputAutocapitalization { TextInputAutocapitalization() }
}
