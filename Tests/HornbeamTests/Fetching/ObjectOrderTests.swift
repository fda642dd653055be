import Foundation
import Hornbeam
import Testing

/// The order of unsaved objects, which are compared in memory, is the order of the store.
@Suite struct ObjectOrderTests {
    private static let names = [
        "", "a", "a\u{1}", "ab", "abcdefg", "abcdefgh", "abcdefgh\u{1}", "abcdefghi", "abcdefghj", "Abcdefghi", "Z", "z", "zzzzzzzzzz", "é", "e\u{301}",
        "日本語の名前", "日本", "item 2", "item 10", "🙂",
    ]
    private static let sorts = FetchSort.Comparison.allCases.flatMap { comparison in
        [true, false].map { FetchSort("name", ascending: $0, comparison: comparison) }
    } + ["salary", "hired"].flatMap { key in [true, false].map { FetchSort(key, ascending: $0) } }

    @Test("FET-3: unsaved objects have the order of stored ones", arguments: Self.sorts, StoreKind.allCases)
    func unsavedObjectsAreInTheOrderOfTheStore(sort: FetchSort, kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let numbers = [Int.min, -256, -1, 0, 1, 255, Int.max]
        for (place, name) in Self.names.shuffled().enumerated() {
            let employee = context.employee(name, salary: numbers[place % numbers.count])
            employee.hired = place % 3 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(place - 10))
        }
        let request = FetchRequest<Employee>(sortedBy: [sort, FetchSort("name")])
        let unsaved = try context.fetch(request).map(\.name)
        try context.save()
        let stored = try stack.newContext().fetch(request).map(\.name)
        // The texts are compared as bytes: two of them are canonically equivalent.
        #expect(unsaved.map { Array($0.utf8) } == stored.map { Array($0.utf8) })
    }
}
