import Foundation
import Hornbeam

/// Runs all operations of contexts for any duration. Contexts are created and released, rows are imported and deleted, changes are merged
/// and undone, old snapshots are read. The amount of content stays constant, so the memory and the size of the store must stay constant too.
enum SoakMode: Mode {
    static let name = "soak"
    static let summary = "contexts that come and go for a long time, with memory and store size watched"
    static let unit = "steps"
    static let extras = ["rows"]

    static func round(_ seed: UInt64, _ run: Run) throws {
        let rows = run.options.extras["rows"].flatMap { Int($0) } ?? 20_000
        let soak = try Soak(seed: seed, rows: rows)
        defer { soak.remove() }
        var gauge = SoakGauge()
        do {
            while true {
                try run.beginCase("step")
                try soak.step()
                if gauge.isDue { gauge.note(try soak.measure()) }
            }
        } catch is Run.Finished {
            try soak.judge()
            for line in gauge.lines { Terminal.printLine("  " + line) }
            if let finding = gauge.finding { throw finding }
            throw Run.Finished()
        }
    }
}

/// One measurement of the process and its store.
struct SoakSample {
    /// The resident memory in bytes.
    var resident: Int
    /// The total size of the store's files in bytes.
    var stored: Int
    var openFiles: Int
}

/// The measurements of the whole run.
struct SoakGauge {
    private var samples: [SoakSample] = []
    private var last = ContinuousClock.now

    var isDue: Bool { ContinuousClock.now - last >= .seconds(1) }

    mutating func note(_ sample: SoakSample) {
        samples.append(sample)
        last = ContinuousClock.now
    }

    /// The medians of the second and of the last quarter. The first quarter is ignored, because caches fill during it.
    private func medians(_ value: (SoakSample) -> Int) -> (early: Int, late: Int)? {
        let quarter = samples.count / 4
        guard quarter >= 5 else { return nil }
        func median(_ part: ArraySlice<SoakSample>) -> Int { part.map(value).sorted()[part.count / 2] }
        return (median(samples[quarter..<2 * quarter]), median(samples[(samples.count - quarter)...]))
    }

    var lines: [String] {
        func line(_ what: String, _ unit: Int, _ value: (SoakSample) -> Int) -> String {
            let values = samples.map(value)
            let quarters = medians(value).map { ", second quarter \($0.early / unit), last quarter \($0.late / unit)" } ?? ""
            return "\(what): \((values.min() ?? 0) / unit) to \((values.max() ?? 0) / unit)\(quarters)"
        }
        return [
            line("MiB resident", 1 << 20) { $0.resident }, line("MiB stored", 1 << 20) { $0.stored },
            line("open files", 1) { $0.openFiles }, "samples: \(samples.count)",
        ]
    }

    /// The finding if a median has grown by more than a tenth plus an allowance between the second and the last quarter.
    var finding: Finding? {
        func growth(_ what: String, _ slack: Int, _ value: (SoakSample) -> Int) -> String? {
            guard let (early, late) = medians(value), late > early + early / 10 + slack else { return nil }
            return "\(what) grew from \(early) to \(late)"
        }
        let grown = [
            growth("memory", 4 << 20) { $0.resident },
            // The log can grow to 64 MiB before a checkpoint releases it.
            growth("the store", 64 << 20) { $0.stored },
            growth("the number of open files", 4) { $0.openFiles },
        ].compactMap(\.self)
        return grown.isEmpty ? nil : Finding(grown.joined(separator: "; "))
    }
}
