import Hornbeam
import HornbeamEngine
import HornbeamModel
import HornbeamStore

/// Two stores of one container, and saves that change both.
///
/// The first step inserts an author in each store. In each store, each step updates the author, inserts a book and a mark, renames the book of
/// the previous step, and deletes the book of the step before that.
struct TwoStoreGraph {
    static let names = ["left.hornbeam", "right.hornbeam"]
    let container: PersistentContainer

    /// - Parameter model: The harness's model. It is shared, because building it takes longer than a trial.
    init(on fileSystem: any FileSystem, model: ManagedObjectModel) throws {
        let stores = try Self.names.map { name in
            var options = Store.Options()
            options.fileSystem = fileSystem
            options.backgroundCheckpoints = false
            options.poolBytes = 1 << 18
            options.engine.pageSize = 2048
            options.engine.log = LogOptions(firstSegmentBytes: 32_768, largestSegmentBytes: 65_536)
            return try Store.open(.directory(name), model: model, options: options)
        }
        container = try PersistentContainer.over(stores[0], stores[1], classes: TrialModel.classes)
    }

    var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

    /// Makes the changes of a step and does not save them.
    func change(_ step: Int, in context: ManagedObjectContext) throws {
        for (side, store) in coordinator.persistentStores.enumerated() {
            let author = try find(Author.self, side, side, context) ?? Author(context: context)
            author.number = side
            author.stamp = step
            try book(step - 1, side, context)?.title = "after \(step)"
            try book(step - 2, side, context).map(context.delete)
            let mark = Mark(context: context)
            (mark.step, mark.part) = (step, side)
            let book = Book(context: context)
            (book.number, book.title, book.author) = (step, "book \(step)", author)
            if author.isInserted { try context.assign(author, to: store) }
            for object in [mark, book] { try context.assign(object, to: store) }
        }
    }

    func book(_ step: Int, _ side: Int, _ context: ManagedObjectContext) throws -> Book? {
        try find(Book.self, step, side, context)
    }

    private func find<Object: ManagedObject>(
        _ type: Object.Type, _ number: Int, _ side: Int, _ context: ManagedObjectContext
    ) throws -> Object? {
        var request = try FetchRequest<Object>().where("number == %d", number)
        request.affectedStores = [coordinator.persistentStores[side].identifier]
        let found = try context.fetch(request)
        guard found.count < 2 else { throw Finding("\(Object.self) \(number) occurs \(found.count) times in a store") }
        return found.first
    }

    /// The newest step that a context shows. Throws if the mark of a step is missing in one of the stores.
    func newestStep(in context: ManagedObjectContext) throws -> Int {
        let marks = try context.fetch(FetchRequest<Mark>(sortedBy: [.ascending("step"), .ascending("part")]))
        let step = marks.last?.step ?? 0
        let found = marks.map { [$0.step, $0.part] }
        let expected = (0..<step * 2).map { [$0 / 2 + 1, $0 % 2] }
        guard found == expected else { throw Finding("the marks are \(found) after step \(step)") }
        return step
    }

    /// Throws unless the context shows the state after a step.
    func expect(_ step: Int, in context: ManagedObjectContext) throws {
        let newest = try newestStep(in: context)
        guard newest == step else { throw Finding("step \(newest) is shown instead of \(step)") }
        for side in 0..<2 {
            let titles = try [step - 2, step - 1, step].map { try book($0, side, context)?.title }
            guard titles == [nil, step > 1 ? "after \(step)" : nil, step > 0 ? "book \(step)" : nil] else {
                throw Finding("the books of side \(side) after step \(step) are \(titles)")
            }
            let author = try find(Author.self, side, side, context)
            guard author?.stamp == (step > 0 ? step : nil), author?.books.count == (step > 0 ? min(step, 2) : nil) else {
                throw Finding("the author of side \(side) is wrong after step \(step)")
            }
        }
    }

    /// Checks both stores, then closes them.
    func finish() throws {
        for store in coordinator.persistentStores {
            let report = try coordinator.check(store)
            guard report.isSound else { throw Finding(report.description) }
        }
        try container.close()
    }
}
