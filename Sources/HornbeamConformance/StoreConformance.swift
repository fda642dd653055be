internal import Foundation
public import Hornbeam
public import HornbeamModel

/// Tests whether a store behaves as contexts require. For developers of custom stores (CST-1 to CST-3).
///
/// ```swift
/// let conformance = StoreConformance { PersistentStoreDescription.custom(MyStore(at: path)) }
/// for failure in conformance.run() { Issue.record("\(failure)") }
/// ```
/// The closure is called once for each check, and the store that it returns must be empty. Hornbeam's own stores pass all checks.
public struct StoreConformance {
    /// A failed check.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The expected behaviour, as a sentence.
        public let check: String
        /// The observed behaviour.
        public let finding: String

        public var description: String { "\(check): \(finding)" }
    }

    /// The model of the objects that the checks create. A store can prepare itself for this model.
    public static func model() throws -> ManagedObjectModel { try ConformanceModel.model() }

    private let makeStore: () throws -> PersistentStoreDescription
    private let reopen: ((PersistentStoreDescription) throws -> PersistentStoreDescription)?

    /// The checks of one kind of store.
    ///
    /// - Parameters:
    ///   - reopening: Returns the description that opens the same rows again; nil for a store that discards them when it is closed.
    ///   - makeStore: Makes an empty store.
    public init(
        reopening: ((PersistentStoreDescription) throws -> PersistentStoreDescription)? = nil,
        _ makeStore: @escaping () throws -> PersistentStoreDescription
    ) {
        self.makeStore = makeStore
        reopen = reopening
    }

    /// The names of the checks, in the order in which they run.
    public var checks: [String] { ConformanceCheck.all.map(\.name) }

    /// Runs all checks and returns those that failed.
    public func run() -> [Failure] { ConformanceCheck.all.compactMap(run) }

    private func run(_ check: ConformanceCheck) -> Failure? {
        do {
            let description = try makeStore()
            let reopen = reopen
            let bench = try ConformanceBench(description) { try reopen?(description) }
            defer { try? bench.close() }
            try check.body(bench)
        } catch let finding as ConformanceFinding {
            return Failure(check: check.name, finding: finding.text)
        } catch {
            return Failure(check: check.name, finding: "\(error)")
        }
        return nil
    }
}

/// The behaviour that makes a check fail.
struct ConformanceFinding: Error {
    let text: String
}

/// One requirement for stores.
struct ConformanceCheck: Sendable {
    let name: String
    let body: @Sendable (ConformanceBench) throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (ConformanceBench) throws -> Void) {
        self.name = name
        self.body = body
    }
}

/// A container with the store under test.
final class ConformanceBench {
    private(set) var container: PersistentContainer
    private let reopening: () throws -> PersistentStoreDescription?

    init(_ description: PersistentStoreDescription, reopening: @escaping () throws -> PersistentStoreDescription?) throws {
        container = try Self.open(description)
        self.reopening = reopening
    }

    private static func open(_ description: PersistentStoreDescription) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Conformance", model: ConformanceModel.model())
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }

    func newContext() -> ManagedObjectContext { container.newContext() }

    func close() throws { try container.close() }

    /// Runs a check of the saved data in a new context, and again after the store was reopened, if it is persistent.
    func everywhere(_ body: (ManagedObjectContext) throws -> Void) throws {
        try body(newContext())
        guard let description = try reopening() else { return }
        try container.close()
        container = try Self.open(description)
        try body(newContext())
    }

    func require(_ holds: Bool, _ text: @autoclosure () -> String) throws {
        if !holds { throw ConformanceFinding(text: text()) }
    }

    func requireError(_ codes: HornbeamError.Code..., from body: () throws -> Void) throws {
        do { try body() } catch let error as HornbeamError {
            return try require(codes.contains(error.code), "the error is \(error)")
        }
        throw ConformanceFinding(text: "nothing was thrown")
    }
}
