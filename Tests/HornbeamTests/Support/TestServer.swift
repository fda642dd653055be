import Foundation
import Hornbeam
import HornbeamPostgres
import Testing

/// The PostgreSQL server of `Scripts/with-postgres`.
enum TestServer {
    private static let connection = ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES"]

    #if Postgres
    static let isThere = connection != nil

    /// A store in a schema of its own. The script removes the server with all schemas.
    static func description() -> PersistentStoreDescription {
        ServerUse.current?.wasUsed = true
        return .postgres(connection ?? "", schema: "test " + UUID().uuidString, connectionsMax: 3, connectionTimeout: .seconds(120))
    }
    #else
    static let isThere = false

    static func description() -> PersistentStoreDescription { preconditionFailure("No test has the kind onServer without a server.") }
    #endif
}

/// Records whether a test case has used the server.
final class ServerUse: @unchecked Sendable {  // a test case uses it in its own task
    @TaskLocal static var current: ServerUse?

    var wasUsed = false
}

/// The features that a store on a server refuses. `Docs/Postgres.md` names each of them.
enum ServerLimit: String, CaseIterable {
    case generations = "query generations"
    case severalStores = "saves over several stores"
    case sharedDescriptions = "a description in two containers"
    case moving = "moving stores"
    case upkeep = "check, compaction, space, backup and packing"

    /// The error that the caller receives.
    var code: HornbeamError.Code {
        switch self {
        case .generations, .severalStores, .moving, .upkeep: .unsupportedRequest
        case .sharedDescriptions: .storeInUse
        }
    }
}

/// Expects that a test with a store on the server ends with the documented error.
struct RefusedByServer: TestTrait, SuiteTrait, TestScoping {
    let limit: ServerLimit
    var isRecursive: Bool { true }

    func provideScope(for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void) async throws {
        let use = ServerUse()
        try await ServerUse.$current.withValue(use) {
            do {
                try await body()
                if use.wasUsed { Issue.record("The server does not refuse \(limit.rawValue).") }
            } catch let error as HornbeamError where use.wasUsed {
                #expect(error.code == limit.code, "\(error)")
            }
        }
    }
}

extension Trait where Self == RefusedByServer {
    /// A store on the server refuses the feature that the test uses.
    static func refusedByServer(_ limit: ServerLimit) -> Self { Self(limit: limit) }
}
