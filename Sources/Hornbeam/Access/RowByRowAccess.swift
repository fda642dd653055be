internal import Foundation
internal import HornbeamModel
#if canImport(Runtime)
internal import Runtime
#endif

/// A place in the code that reads objects one at a time, each with a look-up of its own: what is known as N + 1.
public struct RowByRowAccess: Sendable, CustomStringConvertible {
    /// The entity of the objects read.
    public let entityName: String
    /// The relationship that led to them, where one did.
    public let relationship: String?
    /// How many were read.
    public let count: Int
    /// The calls that led there, the innermost first, without those of Hornbeam itself.
    public let callStack: [String]

    /// The innermost call outside of Hornbeam.
    public var callSite: String { callStack.first ?? "an unknown place" }

    /// What happens where, and what to do about it.
    public var description: String {
        let advice = relationship.map { "Prefetch “\($0)” with the fetch of the objects that lead there." }
            ?? "Fetch them with one request."
        return "\(count) objects of \(entityName) were looked up one at a time by \(callSite). \(advice)"
    }
}

extension ManagedObjectContext {
    /// True to take down where objects are read one at a time. For the developer's eyes: it costs, and turns off reading ahead.
    public var tracksRowByRowAccess: Bool {
        get { access.log != nil }
        set {
            guard newValue != tracksRowByRowAccess else { return }
            access.log = newValue ? AccessLog() : nil
        }
    }

    /// Where ten objects and more were read one at a time since tracking began, the worst place first.
    public var rowByRowAccesses: [RowByRowAccess] { access.log?.report(atLeast: 10) ?? [] }
}

/// The single look-ups of a context by the place in the code.
final class AccessLog {
    private struct Place: Hashable {
        var returnAddresses: [UInt]
        var entityName: String
        var relationship: String?
    }

    private struct Visits {
        var count = 0
        var callStack: [String]
    }

    private var visits: [Place: Visits] = [:]
    /// The object that a relationship led to last.
    var lastStep: (key: UInt64, property: PropertyDescription)?

    /// Takes down the look-up of one object.
    func note(_ object: ManagedObject) {
        let relationship = lastStep.flatMap { $0.key == object.key ? $0.property.name : nil }
        let place = Place(
            returnAddresses: Thread.callStackReturnAddresses.map(\.uintValue), entityName: object.scope.entity.name,
            relationship: relationship)
        visits[place, default: Visits(callStack: [])].count += 1
        if visits[place]?.count == 2 { visits[place]?.callStack = Self.callStack() }
    }

    func report(atLeast limit: Int) -> [RowByRowAccess] {
        visits.filter { $0.value.count >= limit }
            .map {
                RowByRowAccess(
                    entityName: $0.key.entityName, relationship: $0.key.relationship, count: $0.value.count,
                    callStack: $0.value.callStack)
            }
            .sorted { ($0.count, $1.callSite) > ($1.count, $0.callSite) }
    }

    /// The present calls in words, without Hornbeam's own.
    private static func callStack() -> [String] {
        #if canImport(Runtime)
        guard let trace = try? Backtrace.capture(limit: 64).symbolicated() else { return [] }
        return trace.frames.compactMap { frame in
            guard let symbol = frame.symbol, !isOwn(symbol.rawName), !frame.isSwiftThunk else { return nil }
            let place = symbol.sourceLocation.map { " at \(URL(filePath: $0.path).lastPathComponent):\($0.line)" } ?? ""
            return symbol.name + place
        }
        #else
        return Thread.callStackSymbols.filter { symbol in !symbol.split(separator: " ").contains { isOwn(String($0)) } }
        #endif
    }

    /// True for the mangled names of Hornbeam's modules.
    private static func isOwn(_ rawName: String) -> Bool {
        ["$s8Hornbeam", "$s13HornbeamModel", "$s13HornbeamStore", "$s10Foundation"].contains { rawName.hasPrefix($0) }
    }
}
