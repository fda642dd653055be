import Foundation
import Hornbeam

/// Performance shapes: the time of one operation beside 0, 100 and 10,000 pending changes, registered objects or members.
/// An operation on one object should cost the same in each column.
struct ShapeProfile {
    static let counts = [0, 100, 10_000]
    /// The runs of an operation for one figure, and the number of figures of which the minimum is taken.
    private static let rounds = 100
    private static let tries = 3

    struct Operation {
        let name: String
        /// False if the operation reads or writes all pending objects, so that its cost must grow with their number.
        let isFlat: (ShapeAxis) -> Bool
        let run: (ShapeStage, Int) throws -> Void

        init(_ name: String, flat: @escaping (ShapeAxis) -> Bool = { _ in true }, _ run: @escaping (ShapeStage, Int) throws -> Void) {
            self.name = name
            isFlat = flat
            self.run = run
        }
    }

    private static var lookUps: [Operation] {[
        Operation("first by a unique text") { stage, n in
            _ = try stage.context.first(Owner.self, where: Owner.code, equals: "spare \(n)")
        },
        Operation("first of what is not there") { stage, n in
            _ = try stage.context.first(Owner.self, where: Owner.code, equals: "none \(n)")
        },
        Operation("fetch ==, limit 1") { stage, n in
            _ = try stage.context.fetch(FetchRequest<Owner>(predicate: Owner.code == "spare \(n)").limit(1))
        },
        Operation("fetch IN") { stage, n in
            _ = try stage.context.fetch(FetchRequest<Owner>(predicate: Owner.code.isIn(["spare \(n)", "none"])))
        },
        Operation("count ==") { stage, n in
            _ = try stage.context.count(FetchRequest<Owner>(predicate: Owner.code == "spare \(n)"))
        },
        Operation("existing object") { stage, n in
            _ = try stage.context.existingObject(Owner.self, with: stage.owners[n + 1].objectID)
        },
    ]}

    private static var changes: [Operation] {[
        Operation("find or create") { stage, n in
            let code = "made \(n)"
            let owner = try stage.context.first(Owner.self, where: Owner.code, equals: code) ?? Owner(context: stage.context)
            owner[Owner.code] = code
        },
        Operation("new object") { stage, n in Item(context: stage.context)[Item.number] = n },
        Operation("set an attribute") { stage, n in
            stage.owners[n + 1][Owner.rank] += 1
            stage.context.processPendingChanges()
        },
        Operation("set a to-one") { stage, n in stage.items[n][Item.owner] = stage.owners[0] },
        Operation("insert a member") { stage, n in stage.owners[0][Owner.items].insert(stage.items[n]) },
        Operation("contains a member") { stage, n in _ = stage.owners[0][Owner.items].contains(stage.items[n]) },
        Operation("count members") { stage, _ in _ = stage.owners[0][Owner.items].count },
        Operation("first member") { stage, _ in _ = stage.owners[0][Owner.items].first { _ in true } },
        Operation("append to an ordered one") { stage, n in stage.owners[0][Owner.steps].append(stage.items[n]) },
        Operation("first of an ordered one") { stage, _ in _ = stage.owners[0][Owner.steps].first },
        Operation("delete, take back") { stage, n in
            stage.context.delete(stage.owners[n + 1])
            stage.context.insert(stage.owners[n + 1])
        },
        Operation("refresh") { stage, n in try stage.context.refresh(stage.owners[n + 1], mergeChanges: true) },
        Operation("fetch after a save of others") { stage, n in
            let other = stage.container.newContext()
            try other.existingObject(Owner.self, with: stage.owners[n + 1].objectID)[Owner.rank] += 1
            try other.save()
            _ = try stage.context.fetch(FetchRequest<Owner>(predicate: Owner.code == "spare \(n)"))
        },
        Operation("save one change", flat: { !$0.isPending }) { stage, n in
            stage.owners[n + 1][Owner.rank] += 1
            try stage.context.save()
        },
    ]}

    /// - Parameter only: A part of an operation's name; nil for all.
    func run(_ only: String?) throws {
        print("nanoseconds of processor for one operation, the least of \(Self.tries); * grows\n")
        for axis in ShapeAxis.allCases {
            print("| \(axis.rawValue): | " + Self.counts.map(String.init).joined(separator: " | ") + " |")
            print("|---|" + String(repeating: "---:|", count: Self.counts.count))
            func isWanted(_ operation: Operation) -> Bool { only.map(operation.name.contains) ?? true }
            let looking = Self.lookUps.filter(isWanted)
            let stages = try looking.isEmpty ? [] : Self.counts.map { try ShapeStage(axis, $0) }
            for operation in looking { report(operation, try stages.map { try cost(operation, $0) }) }
            for operation in Self.changes where operation.isFlat(axis) && isWanted(operation) {
                report(operation, try Self.counts.map { try cost(operation, ShapeStage(axis, $0)) })
            }
            print("")
        }
    }

    private func report(_ operation: Operation, _ costs: [Double]) {
        let grows = costs[costs.count - 1] > 3 * costs[0] + 500
        let cells = costs.map { String(Int($0.rounded())) }.joined(separator: " | ")
        print("| \(operation.name)\(grows ? " *" : "") | \(cells) |")
        fflush(nil)
    }

    private func cost(_ operation: Operation, _ stage: ShapeStage) throws -> Double {
        // The first run makes the data that all later runs use.
        try operation.run(stage, Self.tries * Self.rounds)
        let costs = try (0..<Self.tries).map { part in
            try processorTimed { for n in 0..<Self.rounds { try operation.run(stage, part * Self.rounds + n) } }.seconds
        }
        return (costs.min() ?? 0) * 1e9 / Double(Self.rounds)
    }
}
