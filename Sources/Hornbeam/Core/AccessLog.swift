internal import Foundation
internal import HornbeamModel
#if canImport(Runtime)
internal import Runtime
#endif

/// Counts the lookups of single objects by call stack.
final class AccessLog {
    private struct Place: Hashable {
        var returnAddresses: [UInt]
        var entityName: String
        var relationship: String?
    }

    private struct Visits {
        var count = 0
        /// The stack of the second visit. Its symbols are looked up for a report only, because that takes long in a large program.
        var stack: CapturedStack?
    }

    #if canImport(Runtime)
    private typealias CapturedStack = Backtrace
    #else
    private typealias CapturedStack = [String]
    #endif

    private var visits: [Place: Visits] = [:]
    /// The destination of the to-one relationship that was read last.
    var lastStep: (key: UInt64, property: PropertyDescription)?

    /// Records the lookup of one object.
    func note(_ object: ManagedObject) {
        let relationship = lastStep.flatMap { $0.key == object.key ? $0.property.name : nil }
        let place = Place(
            returnAddresses: Thread.callStackReturnAddresses.map(\.uintValue), entityName: object.scope.entity.name,
            relationship: relationship)
        visits[place, default: Visits()].count += 1
        if visits[place]?.count == 2 { visits[place]?.stack = Self.currentStack() }
    }

    func report(atLeast limit: Int) -> [RowByRowAccess] {
        visits.filter { $0.value.count >= limit }
            .map {
                RowByRowAccess(
                    entityName: $0.key.entityName, relationship: $0.key.relationship, count: $0.value.count,
                    callStack: $0.value.stack.map(Self.symbols) ?? [])
            }
            .sorted { ($0.count, $1.callSite) > ($1.count, $0.callSite) }
    }

    #if canImport(Runtime)
    private static func currentStack() -> CapturedStack? { try? Backtrace.capture(limit: 64) }

    /// The symbols of a call stack, without those of Hornbeam.
    private static func symbols(_ stack: CapturedStack) -> [String] {
        guard let trace = stack.symbolicated() else { return [] }
        return trace.frames.compactMap { frame in
            guard let symbol = frame.symbol, !isOwn(symbol.rawName), !frame.isSwiftThunk else { return nil }
            let place = symbol.sourceLocation.map { " at \(URL(filePath: $0.path).lastPathComponent):\($0.line)" } ?? ""
            return symbol.name + place
        }
    }
    #else
    private static func currentStack() -> CapturedStack? { Thread.callStackSymbols }

    /// The symbols of a call stack, without those of Hornbeam.
    private static func symbols(_ stack: CapturedStack) -> [String] {
        stack.filter { symbol in !symbol.split(separator: " ").contains { isOwn(String($0)) } }
    }
    #endif

    /// True for mangled names of Hornbeam's modules and Foundation.
    private static func isOwn(_ rawName: String) -> Bool {
        ["$s8Hornbeam", "$s13HornbeamModel", "$s13HornbeamStore", "$s10Foundation"].contains { rawName.hasPrefix($0) }
    }
}
