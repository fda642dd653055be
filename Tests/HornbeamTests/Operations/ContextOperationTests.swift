import Foundation
import Hornbeam
import HornbeamThreads
import Testing

/// Work on an operation queue.
@Suite struct ContextOperationTests {
    /// Inserts books; a subclass as an app writes it.
    private final class InsertBooks: ContextOperation<Int>, @unchecked Sendable {  // Its fields do not change.
        private let numbers: Range<Int>

        init(_ numbers: Range<Int>, in container: PersistentContainer) {
            self.numbers = numbers
            super.init(in: container)
        }

        override func performWork(in context: ManagedObjectContext) throws -> Int {
            for number in numbers { Shelves.book(number, in: context) }
            return numbers.count
        }
    }

    /// Notes its results.
    private final class Noting: ContextOperation<Int>, @unchecked Sendable {  // Its field is guarded.
        let noted = Guarded<[Int?]>([])

        override func finish(_ result: Result<Int, any Error>) { noted.withLock { $0.append(try? result.get()) } }
    }

    /// Work as an app writes it: without `@unchecked Sendable`.
    private final class InsertAndNote: ContextWork {
        private let numbers: Range<Int>
        let noted = Guarded<[Int?]>([])

        init(_ numbers: Range<Int>) { self.numbers = numbers }

        func performWork(in context: ManagedObjectContext) throws -> Int {
            for number in numbers { Shelves.book(number, in: context, number < 0 ? "" : "A title") }
            return numbers.count
        }

        func finish(_ result: Result<Int, any Error>) { noted.withLock { $0.append(try? result.get()) } }
    }

    @Test("ASY-4: work that is a value of the app is saved, and finished once, also after a failed save", arguments: StoreKind.allCases)
    func workAsValue(kind: StoreKind) throws {
        let container = try Shelves.stack(kind).container
        let works = [InsertAndNote(0..<10), InsertAndNote(-1..<1)]
        let inserting = ContextOperation(works[0], in: container)
        let failing = ContextOperation(works[1], in: container)
        failing.addDependency(inserting)
        OperationQueue().addOperations([failing, inserting], waitUntilFinished: true)
        #expect(try inserting.get() == 10)
        #expect(hornbeamError { _ = try failing.get() } != nil)
        #expect(works.map { $0.noted.withLock(\.self) } == [[10], [nil]])
        #expect(try container.newContext().count(ShelfBook.self) == 10)
    }

    @Test("ASY-4: an operation saves its work at its end, and has a result", arguments: StoreKind.allCases)
    func savesAtEnd(kind: StoreKind) throws {
        let container = try Shelves.stack(kind).container
        let operation = InsertBooks(0..<10, in: container)
        #expect(operation.result == nil)
        #expect(hornbeamError { _ = try operation.get() }?.code == .unsupportedRequest)
        let queue = OperationQueue()
        queue.addOperations([operation], waitUntilFinished: true)
        #expect(try operation.get() == 10 && operation.isFinished)
        #expect(try container.newContext().count(ShelfBook.self) == 10)
    }

    @Test("ASY-4: an operation begins after its dependencies, and sees what they saved", arguments: StoreKind.allCases)
    func dependencies(kind: StoreKind) throws {
        let container = try Shelves.stack(kind).container
        let counting = ContextOperation(in: container) { try $0.count(ShelfBook.self) }
        let inserting = (0..<4).map { InsertBooks($0 * 10..<$0 * 10 + 10, in: container) }
        for operation in inserting { counting.addDependency(operation) }
        let queue = OperationQueue()
        queue.addOperations([counting] + inserting, waitUntilFinished: true)
        #expect(try counting.get() == 40)
    }

    @Test("ASY-4: a cancelled operation saves nothing, before and during its work", arguments: StoreKind.allCases)
    func cancellation(kind: StoreKind) throws {
        let container = try Shelves.stack(kind).container
        let before = InsertBooks(0..<10, in: container)
        before.cancel()
        let box = Guarded<Operation?>(nil)
        let during = ContextOperation(in: container) { context in
            Shelves.book(1, in: context)
            box.withLock { $0?.cancel() }
        }
        box.withLock { $0 = during }
        OperationQueue().addOperations([before, during], waitUntilFinished: true)
        #expect(throws: CancellationError.self) { try during.get() }
        #expect(throws: CancellationError.self) { try before.get() }
        #expect(try container.newContext().count(ShelfBook.self) == 0)
    }

    @Test("ASY-4: an operation whose save fails has the error; finish is called once", arguments: StoreKind.allCases)
    func failures(kind: StoreKind) throws {
        let container = try Shelves.stack(kind).container
        let failing = Noting(in: container) { context in
            Shelves.book(1, in: context, "")
            return 1
        }
        let working = Noting(in: container) { try $0.count(ShelfBook.self) }
        OperationQueue().addOperations([failing, working], waitUntilFinished: true)
        #expect(hornbeamError { _ = try failing.get() } != nil)
        #expect(failing.noted.withLock(\.self) == [nil] && working.noted.withLock(\.self) == [0])
    }
}
