import Foundation
import Hornbeam

/// One of several processes that increment the same counters on a server. It reports its tally as JSON at its end.
struct CountersChild {
    static let command = "counters-child"

    private let schema: String
    private let number: Int
    private let seed: UInt64
    private let steps: Int
    /// The least time for which the process saves.
    private let seconds: Double

    static func words(_ schema: String, number: Int, seed: UInt64, steps: Int, seconds: Double) -> [String] {
        [command, "--schema", schema, "--number", "\(number)", "--seed", "\(seed)", "--steps", "\(steps)", "--work", "\(seconds)"]
    }

    init(_ options: HarnessOptions) throws {
        guard let schema = options.extras["schema"], let number = options.extras["number"].flatMap({ Int($0) }),
            let steps = options.extras["steps"].flatMap({ Int($0) }), let seed = options.seed,
            let seconds = Double(options.extras["work"] ?? "0")
        else { throw UsageError("\(Self.command) needs --schema, --number, --seed and --steps") }
        (self.schema, self.number, self.seed, self.steps, self.seconds) = (schema, number, seed, steps, seconds)
    }

    func run() throws -> Int32 {
        let stack = try open()
        let tally = try stack.worker(number, seed, steps, seconds: seconds)
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(tally))
        try stack.container.close()
        return 0
    }

    /// Opens the store. A server that restarts meanwhile is an error of the opening, which is tried again.
    private func open() throws -> StressStack {
        for _ in 1 ..< Self.openingsMax {
            do { return try StressStack(ServerStores.description(schema)) } catch let error as HornbeamError where error.code == .storeOperationFailed {
                usleep(100_000)
            }
        }
        return try StressStack(ServerStores.description(schema))
    }

    private static let openingsMax = 50
}
