import Foundation
import Hornbeam
import Testing

/// The calls that the handler of a batch insert may make, and those that it may not, because the batch has the writer's turn.
@Suite struct BatchHandlerTests {
    /// The calls of a handler besides filling its row.
    enum Call: CaseIterable {
        case save, saveElsewhere, insert, update, delete, write, close, compact, moreKeys
        case fetch, fetchElsewhere, count

        /// A server gives keys without waiting for the batch.
        func isRefused(_ kind: StoreKind) -> Bool { ![.fetch, .fetchElsewhere, .count].contains(self) && !(self == .moreKeys && kind == .onServer) }

        func perform(_ context: ManagedObjectContext, _ container: PersistentContainer) throws {
            switch self {
            case .save:
                context.employee("beside")
                try context.save()
            case .saveElsewhere:
                try container.performAndWait { other in
                    other.employee("beside")
                    try other.save()
                }
            case .insert: _ = try context.execute(BatchInsertRequest(entityName: "Employee", objects: [["name": "inner"]]))
            case .update:
                var request = BatchUpdateRequest(Employee.self, predicate: nil)
                request.set(Employee.salary, to: 9)
                _ = try context.execute(request)
            case .delete: _ = try context.execute(BatchDeleteRequest(Employee.self))
            case .write: try container.write { _ = $0.employee("beside") }
            case .close: try container.close()
            case .compact:
                let coordinator = container.persistentStoreCoordinator
                try coordinator.compact(coordinator.persistentStores[0])
            case .moreKeys: try context.obtainPermanentIDs(for: (0..<20_000).map { context.employee("\($0)") })
            case .fetch: #expect(try context.fetch(FetchRequest<Employee>()).count == 1)
            case .fetchElsewhere: #expect(try container.performAndWait { try $0.fetch(FetchRequest<Employee>()).count } == 1)
            case .count: #expect(try context.count(FetchRequest<Employee>()) == 1)
            }
        }
    }

    @Test("BAT-1: a handler may read; calls that would wait for the batch are refused, and nothing hangs", arguments: StoreKind.allCases, Call.allCases)
    func callsInHandlers(kind: StoreKind, call: Call) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        context.employee("stored")
        try context.save()
        let names = ["a", "b", "c"]
        let request = BatchInsertRequest(Employee.self, from: names) { name, row in
            row.set(Employee.name, name)
            if name == "b" { try call.perform(context, stack.container) }
        }
        if call.isRefused(kind) {
            #expect(hornbeamError { try context.execute(request) }?.code == .unsupportedRequest)
        } else {
            try context.execute(request)
        }
        context.rollback()
        // A refused batch writes nothing, and the writer's turn is free again.
        let other = stack.newContext()
        #expect(try other.count(FetchRequest<Employee>()) == (call.isRefused(kind) ? 1 : 4))
        other.employee("afterwards")
        try other.save()
        #expect(try stack.newContext().count(FetchRequest<Employee>().where("name == 'afterwards'")) == 1)
    }

    @Test("BAT-1: a handler that throws ends the batch, and the writer is free", arguments: StoreKind.allCases)
    func handlersThatThrow(kind: StoreKind) throws {
        struct Stop: Error {}
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let request = BatchInsertRequest(Employee.self, from: ["a", "b"]) { name, row in
            row.set(Employee.name, name)
            if name == "b" { throw Stop() }
        }
        #expect(throws: Stop.self) { try context.execute(request) }
        context.employee("afterwards")
        try context.save()
        #expect(try stack.newContext().fetch(FetchRequest<Employee>()).map(\.name) == ["afterwards"])
    }
}
