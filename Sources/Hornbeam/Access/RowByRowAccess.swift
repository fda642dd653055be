internal import Foundation
internal import HornbeamModel
#if canImport(Runtime)
internal import Runtime
#endif

/// A place in the code that reads objects one at a time, each with a lookup of its own: the N + 1 problem.
public struct RowByRowAccess: Sendable, CustomStringConvertible {
    /// The entity of the objects read.
    public let entityName: String
    /// The relationship that led to them, if any.
    public let relationship: String?
    /// The number of objects read.
    public let count: Int
    /// The call stack, the innermost call first, without calls inside Hornbeam.
    public let callStack: [String]

    /// The innermost call outside of Hornbeam.
    public var callSite: String { callStack.first ?? "an unknown place" }

    /// A description of the access and its remedy.
    public var description: String {
        let advice = relationship.map { "Prefetch “\($0)” with the fetch of the objects that lead there." }
            ?? "Fetch them with one request."
        return "\(count) objects of \(entityName) were looked up one at a time by \(callSite). \(advice)"
    }
}

extension ManagedObjectContext {
    /// True to record where objects are read one at a time. For development: it is slow, and disables read-ahead.
    public var tracksRowByRowAccess: Bool {
        get { access.log != nil }
        set {
            guard newValue != tracksRowByRowAccess else { return }
            access.log = newValue ? AccessLog() : nil
        }
    }

    /// The places where at least ten objects were read one at a time since tracking began, the most frequent first.
    public var rowByRowAccesses: [RowByRowAccess] { access.log?.report(atLeast: 10) ?? [] }
}

/// The single lookups of a context by their place in the code.
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
    /// The object to which a relationship led last.
    var lastStep: (key: UInt64, property: PropertyDescription)?

    /// Records the lookup of one object.
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

    /// The symbols of the current call stack, without Hornbeam's own.
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

    /// True for mangled names in Hornbeam's modules.
    private static func isOwn(_ rawName: String) -> Bool {
        ["$s8Hornbeam", "$s13HornbeamModel", "$s13HornbeamStore", "$s10Foundation"].contains { rawName.hasPrefix($0) }
    }
}
