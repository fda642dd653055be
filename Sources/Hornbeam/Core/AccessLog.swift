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
        var callStack: [String]
    }

    private var visits: [Place: Visits] = [:]
    /// The destination of the to-one relationship that was read last.
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

    /// The symbols of the current call stack, without those of Hornbeam.
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

    /// True for mangled names of Hornbeam's modules and Foundation.
    private static func isOwn(_ rawName: String) -> Bool {
        ["$s8Hornbeam", "$s13HornbeamModel", "$s13HornbeamStore", "$s10Foundation"].contains { rawName.hasPrefix($0) }
    }
}
