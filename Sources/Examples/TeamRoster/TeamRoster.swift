import Foundation
import Hornbeam
import HornbeamLists

/// A roster with unique numbers that several parts of an app use: objects by key, a stack that is handed over, an operation, a list.
@MainActor enum TeamRoster {
    @Entity final class Player: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var number: Int
        var name: String = ""
        var goals: Int = 0

        static var uniqueKey: Hornbeam.Attribute<Int> { number }
        override class var defaultOrder: [FetchSort] { [FetchSort(name)] }
    }

    /// A part of the app that receives the stack.
    final class ScoreBoard: DataStackSettable {
        var dataStack: DataStack?
    }

    /// Work on a background thread, saved when it returns.
    struct AddGoals: ContextWork {
        let number: Int
        let goals: Int

        func performWork(in context: ManagedObjectContext) throws -> Int {
            let player = try context.upsert(Player.self, key: number)
            player.goals += goals
            return player.goals
        }
    }

    static func run() async throws -> [String] {
        let board = ScoreBoard()
        let stack = DataStack { try .inMemory(for: Player.self) }
        board.dataStack = stack
        let context = try stack.mainContext

        try context.insert(Player.self, key: 7) { $0.name = "Mia" }
        try context.upsert(Player.self, key: 7) { $0.goals = 1 }
        try context.upsert(Player.self, key: 9) { $0.name = "Ann" }
        try stack.saveMainContext()
        var lines = ["Number 7: \(try context.object(Player.self, key: 7)?.name ?? "nobody")"]

        let list = RecordingList()
        let source = try ListDataSource(FetchRequest<Player>().inDefaultOrder(), in: context, view: list) { cell, player in
            cell.text = "\(player.name) \(player.goals)"
        }
        try source.startVending()
        lines += list.lines

        lines.append("Goals of 9: \(try addGoals(stack.container))")
        lines += try await otherSaves(stack)
        try context.mergeChanges()
        context.processPendingChanges()
        lines += list.lines
        source.stopVending()
        return lines
    }

    /// The goals after an operation on a queue.
    private static func addGoals(_ container: PersistentContainer) throws -> Int {
        let queue = OperationQueue()
        let operation = ContextOperation(AddGoals(number: 9, goals: 2), in: container)
        queue.addOperation(operation)
        queue.waitUntilAllOperationsAreFinished()
        return try operation.get()
    }

    /// The background context has changes of its own until it is saved.
    private static func otherSaves(_ stack: DataStack) async throws -> [String] {
        _ = try await stack.backgroundContext.perform { context in
            try context.delete(Player.self) { $0.goals == 1 }
        }
        let isSaved = try await stack.saveBackgroundContext()
        return ["Background saved: \(isSaved)"]
    }
}
