import Foundation
import HornbeamEngine

/// One of several processes that write one store in turns. It commits continuously, and reports each acknowledged commit.
struct ProcessesChild {
    static let command = "processes-child"

    private let path: String
    private let seed: UInt64
    /// True for a process that closes and opens the store all the time.
    private let reopens: Bool

    init(_ options: HarnessOptions) throws {
        guard let path = options.extras["path"], let seed = options.seed, let role = options.extras["role"] else {
            throw UsageError("\(Self.command) needs --path, --role and --seed")
        }
        (self.path, self.seed, reopens) = (path, seed, role == "reopens")
    }

    /// Runs until the process is killed, or until no process reads its reports any more.
    func run() throws -> Int32 {
        let oracle = ProcessesTrial.workload(seed)
        var random = SystemRandomNumberGenerator()
        while true {
            let engine = try Engine.open(path, options: oracle.options)
            for _ in 0..<(reopens ? 20 : Int.max) {
                let transaction = try engine.begin()
                let number = try oracle.next(for: transaction)
                try oracle.change(transaction, number)
                _ = try transaction.commit()
                guard Self.report(number) else { return 0 }
                if Int.random(in: 0..<400, using: &random) == 0 { try engine.checkpoint() }
                if Int.random(in: 0..<4000, using: &random) == 0 { try engine.compact() }
            }
            try engine.close()
        }
    }

    /// Writes a report in one call, which a kill cannot split. Returns false if no process reads it.
    private static func report(_ number: UInt64) -> Bool {
        let line = Array("\(number)\n".utf8)
        return unsafe write(1, line, line.count) == line.count
    }
}
