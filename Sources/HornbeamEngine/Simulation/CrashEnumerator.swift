// The oracle's engine room: runs a workload once on a simulated disk, then crashes it at every operation, in every
// chosen way, and lets the caller open what is left and judge it against what had been promised. What the verification
// itself does to the disk, recovery above all, is crashed again to the depth asked for.

/// Crashes a workload everywhere.
package struct CrashEnumerator: Sendable {
    /// What is left after a crash, and what had been promised before it.
    package struct Image {
        package let disk: SimulatedDisk
        /// The newest commit promised: everything up to it must be there.
        package let acknowledged: UInt64
        /// The newest commit begun: nothing after it may be there.
        package let submitted: UInt64
        /// Where and how the crash happened; with the seed, enough to see it again.
        package let name: String
        /// 0 for a crash of the workload, 1 for a crash while recovering from one …
        package let depth: Int

        package init(disk: SimulatedDisk, acknowledged: UInt64, submitted: UInt64, name: String, depth: Int) {
            (self.disk, self.acknowledged, self.submitted) = (disk, acknowledged, submitted)
            (self.name, self.depth) = (name, depth)
        }
    }

    /// What was tried.
    package struct Report: Hashable, Sendable, CustomStringConvertible {
        package var points = 0
        package var images = 0
        package var nestedImages = 0

        package var description: String { "\(points) crash points, \(images) images, \(nestedImages) nested images" }
    }

    /// An image that the verification refused.
    package struct Failure: Error, CustomStringConvertible {
        package let seed: UInt64
        package let image: String
        package let acknowledged: UInt64
        package let submitted: UInt64
        package let cause: any Error

        package var description: String {
            "seed \(seed), image \"\(image)\", commits \(acknowledged)…\(submitted) allowed: \(cause)"
        }
    }

    package var seed: UInt64
    /// All subsets are tried where at most this many pieces are unsynced.
    package var subsetsUpTo = 5
    package var randomImagesPerPoint = 2
    /// Every how many-th operation is a crash point.
    package var stride = 1
    /// The first operation that is followed by a crash.
    package var start = 0
    /// How deep crashes of a recovery are nested, and how many are tried of each.
    package var nestingDepth = 0
    package var nestedImagesPerImage = 2
    /// Every how many-th image of the workload is crashed again.
    package var nestingStride = 1
    /// Tries only the image of this name, from a failure's report.
    package var only: String?

    package init(seed: UInt64 = 1) { self.seed = seed }

    /// Runs the workload and verifies every image; returns what was tried, or throws a `Failure` for the first image
    /// that the verification throws on.
    package func run(
        on disk: SimulatedDisk = SimulatedDisk(), workload: (SimulatedDisk) throws -> Void, verify: (Image) throws -> Void
    ) throws -> Report {
        try workload(disk)
        return try crash(disk, verify: verify)
    }

    /// Verifies every image of what has been done to a disk already.
    package func crash(_ disk: SimulatedDisk, verify: (Image) throws -> Void) throws -> Report {
        var report = Report()
        let journal = disk.journal
        var model = CrashModel(journal)
        var bounds = Bounds()
        // How many of the newest pieces no image has shown yet; nil when all images differ from those before.
        var unseen: Int?
        for point in 0...journal.operations.count {
            if point > 0 {
                let added = model.apply(journal.operations[point - 1])
                unseen = unseen.flatMap { seen in added.map { seen + $0 } }
            }
            if bounds.advance(to: point, journal) { unseen = nil }
            guard point >= start, point % stride == 0 || point == journal.operations.count else { continue }
            report.points += 1
            defer { unseen = 0 }
            for choice in model.choices(subsetsUpTo: subsetsUpTo, random: randomImagesPerPoint, seed: seed &+ UInt64(point) << 20) {
                if let unseen, choice.fates.suffix(unseen).allSatisfy({ $0 == .dropped }) { continue }
                let name = "\(point):\(choice.name)"
                if let only, only != name, !only.hasPrefix(name + " > ") { continue }
                try examine(model.image(choice.fates), name, bounds, depth: 0, &report, verify)
            }
        }
        return report
    }

    /// What had been promised at a crash point.
    private struct Bounds {
        var acknowledged: UInt64 = 0
        var submitted: UInt64 = 0
        private var next = 0

        /// Takes in the marks before a point; one set between two operations counts for the crash there.
        ///
        /// True if more is promised than before: an image that would do then may not do now.
        @discardableResult
        mutating func advance(to point: Int, _ journal: SimulatedDisk.Journal) -> Bool {
            let before = acknowledged
            while next < journal.marks.count, journal.marks[next].operations <= point {
                switch journal.marks[next].mark {
                case .submitted(let number): submitted = max(submitted, number)
                case .acknowledged(let number): acknowledged = max(acknowledged, number)
                case .recovered: break
                }
                next += 1
            }
            return before != acknowledged
        }

        /// The same promises before another journal.
        var restarted: Bounds {
            var copy = self
            copy.next = 0
            return copy
        }
    }

    private func examine(
        _ state: DiskState, _ name: String, _ bounds: Bounds, depth: Int, _ report: inout Report,
        _ verify: (Image) throws -> Void
    ) throws {
        let disk = SimulatedDisk(state)
        let image = Image(
            disk: disk, acknowledged: bounds.acknowledged, submitted: bounds.submitted, name: name, depth: depth)
        if depth == 0 { report.images += 1 } else { report.nestedImages += 1 }
        do {
            try verify(image)
        } catch {
            throw Failure(
                seed: seed, image: name, acknowledged: image.acknowledged, submitted: image.submitted, cause: error)
        }
        guard depth > 0 || report.images % nestingStride == 0 || only?.hasPrefix(name + " > ") == true else { return }
        if depth < nestingDepth { try nest(disk.journal, name, bounds, depth: depth, &report, verify) }
    }

    /// Crashes what the verification of an image did, at a few random points.
    private func nest(
        _ journal: SimulatedDisk.Journal, _ name: String, _ outer: Bounds, depth: Int, _ report: inout Report,
        _ verify: (Image) throws -> Void
    ) throws {
        let end = journal.marks.first { $0.mark == .recovered }?.operations ?? journal.operations.count
        guard end > 0 else { return }
        var random = SimulationRandom(seed: name.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) })
        for _ in 0..<nestedImagesPerImage {
            let point = Int.random(in: 1...end, using: &random)
            var model = CrashModel(journal)
            for operation in journal.operations[..<point] { model.apply(operation) }
            var bounds = outer.restarted
            bounds.advance(to: point, journal)
            let choices = model.choices(subsetsUpTo: subsetsUpTo, random: 1, seed: random.next())
            let choice = choices[Int.random(in: 0..<choices.count, using: &random)]
            let inner = "\(name) > \(point):\(choice.name)"
            if let only, only != inner, !only.hasPrefix(inner + " > ") { continue }
            try examine(model.image(choice.fates), inner, bounds, depth: depth + 1, &report, verify)
        }
    }
}
