import Foundation
import Hornbeam
import HornbeamSimulation
import Synchronization

/// The process that is killed while it changes documents. It reports the beginning and the end of each operation.
struct DocumentChild {
    static let command = "document-child"

    private let folder: URL
    private let seed: UInt64
    private let number: Int
    /// The step at which the process kills itself; nil if another process kills it.
    private let step: Int?
    private let operations: Int

    /// The command line of a child that changes the documents of a trial.
    static func words(_ trial: DocumentTrial, seed: UInt64, step: Int? = nil, operations: Int? = nil) -> [String] {
        var words = [command, "--path", trial.folder.path, "--seed", String(seed), "--document", String(trial.number)]
        if let step { words += ["--step", String(step)] }
        if let operations { words += ["--operations", String(operations)] }
        return words
    }

    init(_ options: HarnessOptions) throws {
        guard let path = options.extras["path"], let seed = options.seed, let number = options.extras["document"].flatMap({ Int($0) })
        else { throw UsageError("\(Self.command) needs --path, --seed and --document") }
        (folder, self.seed, self.number) = (URL(fileURLWithPath: path), seed, number)
        step = options.extras["step"].flatMap { Int($0) }
        operations = options.extras["operations"].flatMap { Int($0) } ?? .max
    }

    /// Runs until the process is killed, until all operations are done, or until no process reads its reports any more.
    func run() throws -> Int32 {
        let count = Mutex(0)
        let step = step
        let observer = DocumentFiles.Observer { _ in
            let isDue = count.withLock { count in
                count += 1
                return count == step
            }
            if isDue { kill(getpid(), SIGKILL) }
        }
        return try DocumentFiles.$observer.withValue(observer) {
            try MainActor.assumeIsolated {
                var changes = DocumentChanging(folder: folder, number: number, seed: seed)
                return try changes.run(operations)
            }
        }
    }
}

/// Random operations on a document and its successors.
@MainActor private struct DocumentChanging {
    let folder: URL
    var number: Int
    var random: SimulationRandom
    private var document: PersistentDocument?

    init(folder: URL, number: Int, seed: UInt64) {
        (self.folder, self.number) = (folder, number)
        random = SimulationRandom(seed: seed)
    }

    mutating func run(_ operations: Int) throws -> Int32 {
        if FileManager.default.fileExists(atPath: DocumentTrial.url(number, in: folder).path) { try open() } else { try create() }
        var done = 0
        while done < operations {
            let kind = DocumentOperation.Kind.allCases.randomElement(using: &random)!
            guard try perform(kind) else { return 0 }
            done += 1
        }
        return 0
    }

    /// Returns false if no process reads the reports.
    private mutating func perform(_ kind: DocumentOperation.Kind) throws -> Bool {
        guard let document else { preconditionFailure("An operation needs an open document.") }
        let step = try GraphTrial.newestStep(in: document.context)
        switch kind {
        case .autosave:
            return try report(kind, step + 1) { try GraphTrial.perform(step + 1, in: document.context) }
        case .save:
            // Half of the saves begin with changes that were not autosaved.
            guard GraphOracle.kind(step + 1) == .save, Bool.random(using: &random) else { return try report(kind, step) { try document.save() } }
            try GraphTrial.change(step + 1, in: document.context)
            return try report(kind, step + 1) { try document.save() }
        case .revert: return try report(kind, step) { try document.revert() }
        case .saveAs:
            number += 1
            let url = DocumentTrial.url(number, in: folder)
            return try report(kind, step) { try document.save(as: url) }
        case .close:
            let isClosed = try report(kind, step) { try document.close() }
            self.document = nil
            guard isClosed else { return false }
            try open()
            return true
        case .create: return true
        }
    }

    private mutating func create() throws {
        var made: PersistentDocument?
        _ = try report(.create, 0) {
            made = try PersistentDocument.create(at: DocumentTrial.url(number, in: folder), model: TrialModel.make(), classes: TrialModel.classes)
        }
        use(made)
    }

    private mutating func open() throws {
        use(try PersistentDocument(opening: DocumentTrial.url(number, in: folder), model: TrialModel.make(), classes: TrialModel.classes))
        if document?.recovery != nil, Bool.random(using: &random) { document?.recover() }
    }

    private mutating func use(_ document: PersistentDocument?) {
        document?.autosaveDelay = nil
        self.document = document
    }

    /// Reports an operation before and after it. Returns false if no process reads the reports.
    private func report(_ kind: DocumentOperation.Kind, _ step: Int, _ body: () throws -> Void) throws -> Bool {
        let operation = DocumentOperation(kind: kind, step: step)
        guard Self.write("begin \(operation.text)") else { return false }
        try body()
        return Self.write("end \(operation.text)")
    }

    /// Writes a line in one call, which a kill cannot split.
    private static func write(_ text: String) -> Bool {
        let line = Array((text + "\n").utf8)
        return unsafe Foundation.write(1, line, line.count) == line.count
    }
}

/// An operation on a document, as a report names it.
struct DocumentOperation {
    enum Kind: String, CaseIterable { case create, autosave, save, revert, saveAs, close }

    let kind: Kind
    /// The newest step in the document after the operation; for a revert, before it.
    let step: Int

    var text: String { "\(kind.rawValue) \(step)" }

    init(kind: Kind, step: Int) { (self.kind, self.step) = (kind, step) }

    init?(_ text: Substring) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])), let step = Int(parts[1]) else { return nil }
        self.init(kind: kind, step: step)
    }
}
