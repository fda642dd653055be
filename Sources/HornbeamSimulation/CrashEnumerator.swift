// Runs a workload once on a simulated disk and makes the images of a crash at every operation. The caller opens each image and compares it
// with the acknowledged commits. The verification runs recovery, so its operations are crashed again, to the given depth.

internal import HornbeamEngine

/// Crashes a workload everywhere.
package struct CrashEnumerator: Sendable {
    /// The disk after a crash, with the commits that were acknowledged before it.
    package struct Image {
        package let disk: SimulatedDisk
        /// The newest acknowledged commit: it and everything before it must be present.
        package let acknowledged: UInt64
        /// The newest submitted commit: nothing after it may be present.
        package let submitted: UInt64
        /// The operation and the choice of the crash. Name and seed reproduce the image.
        package let name: String
        /// 0 for a crash of the workload, 1 for a crash during the recovery from such a crash, and so on.
        package let depth: Int

        package init(disk: SimulatedDisk, acknowledged: UInt64, submitted: UInt64, name: String, depth: Int) {
            (self.disk, self.acknowledged, self.submitted) = (disk, acknowledged, submitted)
            (self.name, self.depth) = (name, depth)
        }
    }

    /// The number of tested images and crash points.
    package struct Report: Hashable, Sendable, CustomStringConvertible {
        package var points = 0
        package var images = 0
        package var nestedImages = 0

        package var description: String { "\(points) crash points, \(images) images, \(nestedImages) nested images" }
    }

    /// An image for which the verification threw an error.
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
    /// The largest number of unsynced pieces for which all subsets are tested.
    package var subsetsUpTo = 5
    package var randomImagesPerPoint = 2
    /// The distance of two crash points, in operations.
    package var stride = 1
    /// The first operation that is followed by a crash.
    package var start = 0
    /// The depth of nested crashes of a recovery. The next property is their number for each image.
    package var nestingDepth = 0
    package var nestedImagesPerImage = 2
    /// Only each n-th image of the workload has nested crashes.
    package var nestingStride = 1
    /// Tests only the image with this name, which a failure reports.
    package var only: String?

    package init(seed: UInt64 = 1) { self.seed = seed }

    /// Runs the workload and verifies every image. Returns the report, or throws a `Failure` for the first image whose verification throws.
    package func run(
        on disk: SimulatedDisk = SimulatedDisk(), workload: (SimulatedDisk) throws -> Void, verify: (Image) throws -> Void
    ) throws -> Report {
        try workload(disk)
        return try crash(disk, verify: verify)
    }

    /// Verifies every image of the operations recorded on a disk.
    package func crash(_ disk: SimulatedDisk, verify: (Image) throws -> Void) throws -> Report {
        var report = Report()
        let journal = disk.journal
        var model = CrashModel(journal)
        var bounds = Bounds()
        // The number of newest pieces that no earlier image contains; nil when all images differ from earlier ones.
        var unseen: Int?
        for point in 0...journal.operations.count {
            if point > 0 {
                let added = model.apply(journal.operations[point - 1])
                unseen = unseen.flatMap { seen in added.map { seen + $0 } }
            }
            if bounds.advance(to: point, journal) { unseen = nil }
            guard point >= start, (point - start) % stride == 0 || point == journal.operations.count else { continue }
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

    /// The newest acknowledged and submitted commits at a crash point.
    private struct Bounds {
        var acknowledged: UInt64 = 0
        var submitted: UInt64 = 0
        private var next = 0

        /// Applies the marks up to a crash point, including those between the operations before and after it.
        ///
        /// Returns true if there are new acknowledged commits: then an image that was valid before may be invalid now.
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

        /// A copy with the same commits that starts at the first mark of another journal.
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

    /// Crashes the operations of a verification at some random points.
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
