import Foundation
import Hornbeam
import HornbeamStore
import Testing

@Suite("Batch updates")
struct BatchUpdateTests {
    @Test("BAT-2: constants and expressions are set, and registered objects show them", arguments: StoreKind.allCases)
    func constantsAndExpressions(kind: StoreKind) throws {
        let stack = try Catalogue.stack(kind)
        let context = stack.newContext()
        for number in 1 ... 5 { context.book("\(number)", pages: Int32(number)) }
        try context.save()
        let third = try context.books()[2]
        #expect(third.pages == 3)
        var request = BatchUpdateRequest(Book.self, predicate: Book.isbn >= "3")
        request.set(Book.title, to: "thick")
        request.set(Book.isLent, to: true)
        request.set(Book.price, to: 2.5)
        request.set(Book.pages, to: try FetchExpression(format: "pages * 10 + 1"))
        request.resultType = .objectIDs
        let result = try context.execute(request)
        #expect(result.count == 3 && result.objectIDs.contains(third.objectID))
        let books = try context.books()
        #expect(books.map(\.pages) == [1, 2, 31, 41, 51])
        #expect(books.map(\.title) == ["untitled", "untitled", "thick", "thick", "thick"])
        #expect(books.map(\.price) == [nil, nil, 2.5, 2.5, 2.5])
        #expect(books.map(\.isLent) == [false, false, true, true, true])
        #expect(try context.count(FetchRequest<Book>(predicate: Book.pages > 30)) == 3)
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-2: columns of fixed width are set as rows are, nil and all", arguments: StoreKind.allCases)
    func columnsAreSet(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        for number in 1 ... 18_000 { _ = context.employee("e", salary: number) }
        try context.save()
        var request = BatchUpdateRequest(Employee.self, predicate: Employee.salary > 1000)
        request.set(Employee.salary, to: try FetchExpression(format: "salary + 1000000"))
        request.set(Employee.hired, to: Date(timeIntervalSinceReferenceDate: 60))
        #expect(try context.execute(request).count == 17_000)
        request = BatchUpdateRequest(Employee.self, predicate: Employee.salary == 1_001_001)
        request.set(Employee.hired, to: nil)
        try context.execute(request)
        func count(_ predicate: FetchPredicate) throws -> Int { try context.count(FetchRequest<Employee>(predicate: predicate)) }
        #expect(try count(Employee.salary > 1_001_000) == 17_000)
        #expect(try count(Employee.salary == 1_018_000) == 1)
        #expect(try count(Employee.hired == nil) == 1_001)
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-2: adding integers by columns gives the same results as row by row, up to the ends of their range and beyond", arguments: StoreKind.allCases)
    func sumsAtTheEndsOfTheRange(kind: StoreKind) throws {
        let context = try Company.stack(kind).newContext()
        let employees = (0..<38).map { _ in context.employee("e", salary: 0) }
        /// The expected sums; nil for refused ones.
        func sums(_ salaries: [Int], _ format: String, _ step: Int) throws -> [Int]? {
            for (employee, salary) in zip(employees, salaries) { employee.salary = salary }
            try context.save()
            var request = BatchUpdateRequest(Employee.self)
            request.set(Employee.salary, to: try FetchExpression(format: format, step))
            do { try context.execute(request) } catch is HornbeamError { return nil }
            return employees.map(\.salary)
        }
        let quarter = 1 << 62
        for extreme in [Int.max - 1, .min, .min + 1, quarter, quarter - 1, -quarter, -quarter - 1] {
            for step in [1, -1, quarter, -quarter, quarter + 1, -quarter - 1] {
                // One deviating number among many, in a leaf that is processed in groups and a remainder.
                let salaries = (0..<38).map { $0 == [5, 37][abs(step) % 2] ? extreme : $0 }
                let byColumn = try sums(salaries, "salary + %@", step)
                #expect(try byColumn == sums(salaries, "%@ + salary", step), "\(extreme) + \(step)")
                let exact = salaries.map { $0.addingReportingOverflow(step) }
                if !exact.contains(where: \.overflow) { #expect(byColumn == exact.map(\.partialValue), "\(extreme) + \(step)") }
            }
        }
    }

    @Test("BAT-2: to-one relationships can be set, and the other ends follow", arguments: StoreKind.allCases)
    func relationshipTargets(kind: StoreKind) throws {
        let stack = try Catalogue.stack(kind)
        let context = stack.newContext()
        let (oak, pine) = (context.shelf("oak"), context.shelf("pine"))
        for number in 1 ... 3 { context.book("\(number)", on: oak) }
        let label = Label(context: context)
        let books = try context.books()
        books[0].label = label
        try context.save()
        var request = BatchUpdateRequest(Book.self, predicate: Book.isbn >= "2")
        request.set(Book.shelf, to: pine.objectID)
        try context.execute(request)
        #expect(pine.books.map(\.isbn) == ["2", "3"] && oak.books.map(\.isbn) == ["1"])
        request = BatchUpdateRequest(Book.self, predicate: Book.isbn == "3")
        request.set(Book.label, to: label.objectID)
        try context.execute(request)
        #expect(label.book?.isbn == "3" && books[0].label == nil)
        request.set(Book.label, to: nil)
        try context.execute(request)
        #expect(label.book == nil)
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-2: unique values may be exchanged, and not doubled", arguments: StoreKind.allCases)
    func uniqueValues(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        for number in 1 ... 3 { context.book("\(number)") }
        try context.save()
        var request = BatchUpdateRequest(Book.self)
        request.set(Book.isbn, to: "same")
        #expect(hornbeamError { try context.execute(request) }?.code == .constraintConflict)
        #expect(try context.books().map(\.isbn) == ["1", "2", "3"])
        let turned = try FetchExpression(format: "TERNARY(isbn == '3', '1', TERNARY(isbn == '1', '2', '3'))")
        request.set(Book.isbn, to: turned)
        try context.execute(request)
        #expect(try context.books().map(\.isbn) == ["1", "2", "3"])
    }

    @Test("BAT-2: unique values may be exchanged between entities with one superentity", arguments: StoreKind.own)
    func uniqueValuesOfSubentities(kind: StoreKind) throws {
        let stack = try Catalogue.stack(kind)
        let context = stack.newContext()
        context.book("1")
        try context.insert(entityNamed: "Comic").setValue(.string("2"), forKey: "isbn")
        try context.save()
        var request = BatchUpdateRequest(Book.self)
        request.set(Book.isbn, to: try FetchExpression(format: "TERNARY(isbn == '1', '2', '1')"))
        request.resultType = .count
        #expect(try context.execute(request).count == 2)
        #expect(try context.books().map { [$0.entity.name, $0.isbn] } == [["Comic", "1"], ["Book", "2"]])
        let report = try stack.container.openStore().check()
        #expect(report.isSound, "\(report)")
    }

    @Test("BAT-2: an update of unique values or of partners that finds no object changes nothing", arguments: StoreKind.allCases)
    func updatesWithoutObjects(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        context.book("1")
        try context.save()
        // No index has the price, so the rows are scanned.
        var request = BatchUpdateRequest(Book.self, predicate: try FetchPredicate(format: "price == -7"))
        request.resultType = .count
        request.set(Book.isbn, to: "2")
        #expect(try context.execute(request).count == 0)
        request.propertiesToUpdate = [:]
        request.set(Book.label, to: nil)
        #expect(try context.execute(request).count == 0)
        #expect(try context.books().map(\.isbn) == ["1"])
    }

    @Test("BAT-2: subentities are included unless the request excludes them, and derived values are updated", arguments: StoreKind.allCases)
    func subentitiesAndDerivedValues(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        context.book("1")
        try context.insert(entityNamed: "Comic").setValue(.string("2"), forKey: "isbn")
        _ = context.shelf("oak")
        try context.save()
        var request = BatchUpdateRequest(Book.self)
        request.set(Book.price, to: 1)
        #expect(try context.execute(request).count == 2)
        request.includesSubentities = false
        #expect(try context.execute(request).count == 1)
        var renaming = BatchUpdateRequest(Shelf.self)
        renaming.set(Shelf.name, to: "elm")
        try context.execute(renaming)
        #expect(try context.fetch(FetchRequest<Shelf>()).map(\.shouted) == ["ELM"])
    }

    @Test("BAT-2: a property that cannot be set is refused by name", arguments: StoreKind.allCases)
    func impossibleTargetsAreRefused(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        context.book("1")
        try context.save()
        func failure(_ name: String, _ value: PropertyValue, _ entity: String = "Book") -> HornbeamError? {
            var request = BatchUpdateRequest(entityName: entity)
            request.set(name, to: value)
            return hornbeamError { try context.execute(request) }
        }
        #expect(failure("titel", .string("x"))?.code == .unknownKey)
        #expect(failure("topics", .null)?.code == .unsupportedRequest)
        #expect(failure("shouted", .string("x"), "Shelf")?.code == .unsupportedRequest)
        #expect(failure("pages", .string("x"))?.code == .typeMismatch)
        #expect(failure("pages", .int(1 << 40))?.code == .numberTooLarge)
        #expect(try context.books().map(\.pages) == [100])
    }

    @Test("BAT-4: a pending change of the same property conflicts with the batch", arguments: StoreKind.allCases)
    func pendingChangesConflict(kind: StoreKind) throws {
        let context = try Catalogue.stack(kind).newContext()
        let book = context.book("1")
        try context.save()
        book.title = "mine"
        var request = BatchUpdateRequest(Book.self)
        request.set(Book.title, to: "theirs")
        try context.execute(request)
        #expect(book.title == "mine")
        #expect(hornbeamError { try context.save() }?.code == .mergeConflict)
        context.mergePolicy = .mergeByPropertyStoreTrump
        try context.save()
        #expect(book.title == "theirs")
    }
}
