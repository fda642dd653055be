import Foundation
import Hornbeam

// The steps of a soak. Each uses separate contexts and releases them.

extension Soak {
    /// Inserts rows in one transaction, without creating objects.
    func importBatch(_ count: Int) throws {
        let range = next..<next + count
        next += count
        try container.performAndWait { context in
            let sources = try context.fetch(FetchRequest<Source>()).map(\.objectID)
            try context.execute(
                BatchInsertRequest(Event.self, from: range) { number, row in
                    row.set(Event.uid, "uid-\(number)")
                    row.set(Event.number, number)
                    row.set(Event.title, "Event \(number) imported in a batch")
                    row.set(Event.payload, Data(repeating: UInt8(truncatingIfNeeded: number), count: number % 300))
                    row.set(Event.source, sources[number % sources.count])
                })
        }
    }

    /// Inserts objects and saves them.
    func importObjects(_ count: Int) throws {
        let range = next..<next + count
        next += count
        try container.performAndWait { context in
            let sources = try context.fetch(FetchRequest<Source>())
            for number in range {
                let event = Event(context: context)
                event[Event.uid] = "uid-\(number)"
                event[Event.number] = number
                event[Event.title] = "Event \(number)"
                event[Event.source] = sources[number % sources.count]
            }
            try context.save()
        }
    }

    /// Deletes the oldest rows if there are more than `rows`, by a batch request or object by object.
    func prune() throws {
        let excess = next - oldest - rows
        guard excess > 0 else { return }
        oldest += excess
        let bound = oldest
        let isBatch = excess > 100
        try container.performAndWait { context in
            if isBatch {
                try context.execute(BatchDeleteRequest(Event.self, predicate: FetchPredicate(format: "number < %d", bound)))
            } else {
                try context.delete(matching: FetchRequest<Event>().where("number < %d", bound))
                try context.save()
            }
        }
    }

    /// Two contexts change the same objects, and the merge policy resolves the conflict.
    func overlap() throws {
        let policy = [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback]
            .randomElement(using: &random) ?? .rollback
        try container.performAndWait { first in
            try container.performAndWait { second in
                let mine = try first.fetch(FetchRequest<Event>().sorted(by: "number").limit(100))
                let theirs = try second.fetch(FetchRequest<Event>().sorted(by: "number").limit(100))
                for event in theirs { event[Event.title] = "theirs \(event[Event.number])" }
                for event in mine { event[Event.title] = "mine \(event[Event.number])" }
                if let source = mine.first?[Event.source] { source[Source.total] += 1 }
                try second.save()
                first.mergePolicy = policy
                try first.save()
            }
        }
    }

    /// Child contexts change objects. Some save into their parent; the others are discarded.
    func children() throws {
        let keeps = Bool.random(using: &random)
        try container.performAndWait { context in
            let child = context.newChildContext()
            let grandchild = child.newChildContext()
            for event in try grandchild.fetch(FetchRequest<Event>().limit(60)) { event[Event.title] += "!" }
            guard keeps else { return }
            try grandchild.save()
            try child.save()
            context.mergePolicy = .mergeByPropertyObjectTrump
            try context.save()
        }
    }

    /// Creates an object for every row and reads it.
    func readAll() throws {
        try container.performAndWait { context in
            var length = 0
            for event in try context.fetch(FetchRequest<Event>()) { length += event[Event.title].utf8.count }
            for source in try context.fetch(FetchRequest<Source>()) { length += source[Source.events].count }
            guard length > 0 else { throw Finding("nothing could be read") }
        }
    }

    /// Changes objects, undoes and redoes the changes, and saves.
    func undoing() throws {
        try container.performAndWait { context in
            let undo = UndoStack(levelsOfUndo: 5)
            context.undoStack = undo
            for event in try context.fetch(FetchRequest<Event>().limit(40)) {
                event[Event.title] = "changed"
                context.processPendingChanges()
            }
            while undo.canUndo { context.undo() }
            while undo.canRedo { context.redo() }
            context.mergePolicy = .mergeByPropertyObjectTrump
            try context.save()
        }
    }

    /// Deletes a source and inserts another one with its name, to which the events are moved first.
    func exchangeSource() throws {
        let number = Int.random(in: 0..<10, using: &random)
        try container.performAndWait { context in
            guard let source = try context.fetch(FetchRequest<Source>().where("name == %@", "source \(number)")).first else { return }
            let successor = Source(context: context)
            successor[Source.name] = "source \(number)"
            successor[Source.events] = ManagedSet(Array(source[Source.events]))
            context.delete(source)
            try context.save()
        }
    }

    /// Tries to save invalid changes, rolls back and resets.
    func failing() throws {
        try container.performAndWait { context in
            let twins = (0..<2).map { _ in Event(context: context) }
            for twin in twins {
                twin[Event.uid] = "twin"
                twin[Event.title] = "twin"
                twin[Event.number] = .max
            }
            do {
                try context.save()
                throw Finding("two objects of one unique value were saved")
            } catch let error as HornbeamError where error.code == .constraintConflict {
                context.rollback()
            }
            guard !context.hasChanges else { throw Finding("a rollback left changes") }
            context.reset()
        }
    }
}
