import Foundation
import Hornbeam
import HornbeamModel
import Testing

/// Plans that are kept for request shapes return the results of new plans.
struct KeptPlanTests {
    /// Entities with inheritance, an index of each kind, and values that are unevenly distributed.
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Group") {
                Attribute("name", .string, unique: true)
                Attribute("size", .integer32, optional: true, indexed: true)
                ToMany("items", to: "Item", inverse: "group")
            }
            Entity("Base", abstract: true) {
                Attribute("title", .string, optional: true, indexed: true)
                Indexed(.folded("title"), .descending("rank"), name: "title_rank")
                Attribute("rank", .integer32, optional: true, indexed: true)
            }
            Entity("Item", parent: "Base") {
                Attribute("code", .string, optional: true, unique: true)
                Attribute("note", .string, optional: true)
                ToOne("group", to: "Group", inverse: "items")
                Indexed("note", "rank", name: "note_rank")
            }
            Entity("Special", parent: "Item") { Attribute("flag", .boolean, optional: true) }
            Entity("Other", parent: "Base") { Attribute("ratio", .double, optional: true, indexed: true) }
            // Without subentities: the entries of its indexes are the objects of one table.
            Entity("Plain") {
                Attribute("title", .string, optional: true, indexed: true)
                Attribute("rank", .integer32, optional: true, indexed: true)
            }
        }
    }

    /// Changes objects and makes requests.
    private struct Round {
        var random: SeededGenerator
        var lastCode = 0

        mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
        mutating func pick<Value>(_ values: [Value]) -> Value { values[number(0 ..< values.count)] }

        /// Few values are frequent, many are rare.
        mutating func text() -> PropertyValue {
            switch number(0 ..< 10) {
            case 0: .null
            case 1 ..< 6: .string("often")
            case 6, 7: .string(pick(["Often", "oft", "öft", "", "zz"]))
            case 8: .string(String(repeating: "x", count: pick([899, 970, 1001])))
            default: .string("rare \(number(0 ..< 30))")
            }
        }

        mutating func rank() -> PropertyValue { number(0 ..< 8) == 0 ? .null : .int(Int64(pick([1, 1, 1, 2, number(0 ..< 60)]))) }

        mutating func change(_ context: ManagedObjectContext) throws {
            let groups = try context.fetch(FetchRequest<ManagedObject>(entityName: "Group"))
            for _ in 0 ..< number(1 ..< 6) {
                switch number(0 ..< 8) {
                case 0 ..< 4:
                    let name = pick(["Item", "Item", "Special", "Other", "Plain", "Plain"])
                    let object = try context.insert(entityNamed: name)
                    try object.setValue(text(), forKey: "title")
                    try object.setValue(rank(), forKey: "rank")
                    guard name != "Other", name != "Plain" else { continue }
                    lastCode += 1
                    try object.setValue(number(0 ..< 3) == 0 ? .null : .string("c\(lastCode)"), forKey: "code")
                    try object.setValue(text(), forKey: "note")
                    let living = groups.filter { !$0.isDeleted && $0.managedObjectContext != nil }
                    if !living.isEmpty, number(0 ..< 4) > 0 { try object.setValue(pick(living), forKey: "group") }
                default:
                    let all = try context.fetch(FetchRequest<ManagedObject>(entityName: pick(["Base", "Group", "Plain"])))
                    guard !all.isEmpty else { continue }
                    let object = pick(all)
                    if number(0 ..< 4) == 0, object.entity.name != "Group" || all.count > 3 {
                        context.delete(object)
                    } else if object.entity.name != "Group" {
                        try object.setValue(text(), forKey: "title")
                        try object.setValue(rank(), forKey: "rank")
                    }
                }
            }
        }

        // MARK: Requests

        private mutating func condition(
            _ entity: String, _ context: ManagedObjectContext, _ shape: inout SeededGenerator
        ) throws -> FetchPredicate {
            let order = ["==", "==", "==", "<", ">=", "!="].randomElement(using: &shape)!
            let textual = ["BEGINSWITH", "CONTAINS", "==[c]", "==[cd]", "BEGINSWITH[cd]"].randomElement(using: &shape)!
            if Int.random(in: 0 ..< 4, using: &shape) == 0 { return try listCondition(entity, context, &shape) }
            switch Int.random(in: 0 ..< (entity == "Item" ? 12 : 5), using: &shape) {
            case 0, 1: return try FetchPredicate(format: "title \(order) %@", text())
            case 2: return try FetchPredicate(format: "title \(textual) %@", text())
            case 3: return try FetchPredicate(format: "rank \(order) %@", rank())
            case 4: return try FetchPredicate(format: "rank \(order) %@", pick([0.5, 1.0, 1e300] as [PropertyValue]))
            case 5: return try FetchPredicate(format: "code \(order) %@", "c\(number(0 ..< 300))")
            case 6: return try FetchPredicate(format: "code == nil")
            case 7: return try FetchPredicate(format: "note \(order) %@", text())
            case 8, 9: return try FetchPredicate(format: "group.name \(order) %@", "g\(number(0 ..< 9))")
            case 10: return try FetchPredicate(format: "group.size \(order) %d", number(0 ..< 3))
            default:
                let groups = try context.fetch(FetchRequest<ManagedObject>(entityName: "Group"))
                return try FetchPredicate(format: "group == %@", groups.isEmpty || number(0 ..< 5) == 0 ? nil : pick(groups))
            }
        }

        /// A condition with a list, or an OR of conditions.
        private mutating func listCondition(
            _ entity: String, _ context: ManagedObjectContext, _ shape: inout SeededGenerator
        ) throws -> FetchPredicate {
            let key = ["title", "rank", entity == "Item" ? "note" : "title"].randomElement(using: &shape)!
            let count = [1, 2, 3, 7].randomElement(using: &shape)!
            let values = (0 ..< count).map { _ in key == "rank" ? rank() : text() }
            let kind = Int.random(in: 0 ..< 5, using: &shape)
            switch kind {
            case 0: return try FetchPredicate(format: "\(key) IN %@", PropertyValue.array(values))
            case 1: return try FetchPredicate(format: "rank IN {%@, %@}", rank(), rank())
            case 2: return try FetchPredicate(format: "rank BETWEEN %@", PropertyValue.array([.int(Int64(number(0 ..< 3))), .int(Int64(number(0 ..< 20)))]))
            case 3: return try FetchPredicate(format: "title BETWEEN {%@, %@}", text(), text())
            default:
                let first = try FetchPredicate(format: "\(key) == %@", key == "rank" ? rank() : text())
                let second = try FetchPredicate(format: "rank == %@", rank())
                let third = try FetchPredicate(format: entity == "Item" ? "code == %@" : "title == %@", text())
                return Bool.random(using: &shape) ? first || second : first || (second && third)
            }
        }

        /// A request with random constants, whose other parts are those of a template.
        mutating func request(_ context: ManagedObjectContext, template: UInt64) throws -> FetchRequest<ManagedObject> {
            var shape = SeededGenerator(state: template)
            let entity = ["Item", "Item", "Base", "Plain", "Plain"].randomElement(using: &shape)!
            var request = FetchRequest<ManagedObject>(entityName: entity)
            for _ in 0 ..< [0, 1, 1, 2, 2, 3].randomElement(using: &shape)! { request = request.where(try condition(entity, context, &shape)) }
            let sorts = [[], [], ["title"], ["rank"], ["rank", "title"]] + (entity == "Item" ? [["group.name"], ["note", "rank"]] : [])
            let isAscending = Int.random(in: 0 ..< 3, using: &shape) > 0
            for sort in sorts.randomElement(using: &shape)! { request = request.sorted(by: sort, ascending: isAscending) }
            request.fetchLimit = [0, 0, 1, 5, 50].randomElement(using: &shape)!
            request.fetchOffset = [0, 0, 0, 3].randomElement(using: &shape)!
            request.includesSubentities = Int.random(in: 0 ..< 5, using: &shape) > 0
            return request
        }
    }

    /// The request in a form that has no shape, so that it is planned each time.
    private func planned<Result>(_ request: FetchRequest<Result>) -> FetchRequest<Result> {
        var other = request
        other.untyped.predicate = !(!(request.untyped.predicate ?? FetchPredicate(value: true)))
        return other
    }

    /// Requests for dictionaries of the same objects: columns, groups, totals, different values, a computed order.
    private static func dictionaries(_ request: FetchRequest<ManagedObject>) throws -> [FetchRequest<[String: PropertyValue]>] {
        var unordered = request
        unordered.untyped.sortDescriptors = []
        return try [
            request.selecting("title", "rank"),
            unordered.selecting("title", .count(as: "count"), .sum(of: "rank", as: "sum")).grouped(by: "title"),
            unordered.selecting(.count(as: "count"), .maximum(of: "title", as: "last")),
            unordered.selecting("title").distinct(),
            unordered.selecting("title", .expression("double", "rank * 2")).sorted(by: "double"),
        ]
    }

    @Test("FET-2, FET-12, FET-14: requests by kept plans and by new plans agree beside unsaved changes, saves of other contexts and changed statistics",
          arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func keptPlansAgreeWithNewOnes(seed: UInt64) throws {
        let stack = try Stack(.inMemory, Self.model())
        var round = Round(random: SeededGenerator(state: seed))
        let (context, other) = (stack.newContext(), stack.newContext())
        for number in 0 ..< 9 {
            let group = try other.insert(entityNamed: "Group")
            try group.setValue("g\(number)", forKey: "name")
            try group.setValue(number % 3, forKey: "size")
        }
        for _ in 0 ..< 60 { try round.change(other) }
        try other.save()
        context.mergePolicy = .mergeByPropertyObjectTrump
        other.mergePolicy = .mergeByPropertyObjectTrump
        for number in 0 ..< 300 {
            if round.number(0 ..< 4) == 0 { try round.change(context) }
            if round.number(0 ..< 6) == 0 { try round.change(other); try other.save() }
            if round.number(0 ..< 3) == 0 { try context.save() }
            let request = try round.request(context, template: seed * 100 + UInt64(round.number(0 ..< 20)))
            let fresh = planned(request)
            let wanted = try context.fetchIDs(fresh)
            let title: Comment = "seed \(seed), round \(number): \(request.untyped)"
            #expect(try context.fetchIDs(request) == wanted, title)
            #expect(try context.fetch(request).map(\.objectID) == wanted, title)
            #expect(try context.count(request) == wanted.count, title)
            for request in try Self.dictionaries(request) {
                let wanted = try context.fetch(planned(request))
                #expect(try context.fetch(request) == wanted, "seed \(seed), round \(number): \(request.untyped)")
                #expect(try context.count(request) == wanted.count, "seed \(seed), round \(number): \(request.untyped)")
            }
        }
    }

    @Test("FET-16: a closure in a column is released with its request")
    func closuresOfColumnsAreReleased() throws {
        final class Token: Sendable {}
        weak var released: Token?
        let stack = try Stack(.inMemory, Self.model())
        do {
            let token = Token()
            released = token
            let block = FetchExpression.block { _, _ in
                withExtendedLifetime(token) {}
                return .int(1)
            }
            let request = FetchRequest<ManagedObject>(entityName: "Plain").selecting(.expression(name: "x", block, type: nil))
            #expect(try stack.newContext().fetch(request).isEmpty)
        }
        #expect(released == nil)
    }

    @Test("FET-2: a plan that was kept for a rare value serves a frequent one, and follows the constants of the request")
    func frequentValuesAreFound() throws {
        let stack = try Stack(.inMemory, Self.model())
        let context = stack.newContext()
        for number in 0 ..< 3000 {
            let item = try context.insert(entityNamed: "Item")
            try item.setValue(number % 10 == 0 ? "rare \(number)" : "often", forKey: "title")
            try item.setValue(number, forKey: "rank")
        }
        try context.save()
        let request = FetchRequest<ManagedObject>(entityName: "Item")
        for (title, count) in [("rare 10", 1), ("rare 20", 1), ("often", 2700), ("rare 30", 1), ("none", 0)] {
            #expect(try context.fetch(request.where("title == %@", title)).count == count)
            #expect(try context.count(request.where("title == %@ AND rank >= 0", title)) == count)
            #expect(try context.fetch(request.where("title == %@ AND rank < 1500", title)).count == min(count, count == 1 ? 1 : 1350))
            #expect(try context.fetch(request.where("title == %@", title).sorted(by: "rank").limit(2)).count == min(count, 2))
        }
    }

    @Test("FET-3: pages of one entity in the order of an index agree with new plans: with further conditions, long texts, and windows")
    func pagesAgreeWithNewOnes() throws {
        let stack = try Stack(.inMemory, Self.model())
        let (context, other) = (stack.newContext(), stack.newContext())
        var round = Round(random: SeededGenerator(state: 7))
        for number in 0 ..< 2000 {
            let object = try other.insert(entityNamed: "Plain")
            try object.setValue("t\(round.number(0 ..< 400))", forKey: "title")
            try object.setValue(number % 7, forKey: "rank")
        }
        try other.save()
        for step in 0 ..< 120 {
            if step == 60 {
                // The index then contains a truncated key, and has no longer the order of the values.
                let object = try other.insert(entityNamed: "Plain")
                try object.setValue("t2" + String(repeating: "x", count: 2000), forKey: "title")
                try other.save()
            }
            let (text, rank) = ("t\(round.number(0 ..< 500))", round.number(-1 ..< 9))
            let page = FetchRequest<ManagedObject>(entityName: "Plain").sorted(by: "title").limit([1, 50, 100][step % 3])
            for request in try [
                page.where("title >= %@", text), page.where("title >= %@ AND title < 't3'", text),
                page.where("title > %@ AND rank > %d", text, rank), page.where("title >= %@ AND rank == %d", text, rank),
                FetchRequest<ManagedObject>(entityName: "Plain").where("title == %@ AND rank < %d", text, rank),
            ] {
                let wanted = try context.fetchIDs(planned(request))
                #expect(try context.fetch(request).map(\.objectID) == wanted, "step \(step): \(request.untyped)")
                #expect(try context.fetchIDs(request) == wanted, "step \(step): \(request.untyped)")
                #expect(try context.count(request) == wanted.count, "step \(step): \(request.untyped)")
            }
        }
    }

    @Test("FET-2: requests of more shapes than a context remembers find their own plans")
    func manyShapesAlternate() throws {
        let stack = try Stack(.inMemory, Self.model())
        let context = stack.newContext()
        for number in 0 ..< 100 {
            let object = try context.insert(entityNamed: "Plain")
            try object.setValue("t\(number)", forKey: "title")
            try object.setValue(number, forKey: "rank")
        }
        try context.save()
        let request = FetchRequest<ManagedObject>(entityName: "Plain")
        for number in 0 ..< 50 {
            #expect(try context.fetch(request.where("title == %@", "t\(number)")).count == 1)
            #expect(try context.fetch(request.where("rank == %d", number)).count == 1)
            #expect(try context.fetch(request.where("rank > %d", number)).count == 99 - number)
            #expect(try context.fetch(request.where("rank > %d", number).limit(3)).count == 3)
            #expect(try context.fetch(request.where("rank != %d", number)).count == 99)
            #expect(try context.fetch(request.where("title == %@ AND rank == %d", "t\(number)", number)).count == 1)
            #expect(try context.fetch(request.where("title == %@ OR rank == %d", "t\(number)", number + 1)).count == 2)
        }
    }

    @Test("FET-2: a constant of another type is validated, although a request with the same words is known")
    func otherTypesAreValidated() throws {
        let context = try Stack(.inMemory, Self.model()).newContext()
        let request = FetchRequest<ManagedObject>(entityName: "Item")
        for _ in 0 ..< 3 {
            #expect(try context.fetch(request.where("rank == %@", 1 as PropertyValue)).isEmpty)
            #expect(throws: HornbeamError.self) { try context.fetch(request.where("rank == %@", "1")) }
            #expect(throws: HornbeamError.self) { try context.fetch(request.where("rank == %@ AND colour == 1", 1)) }
        }
    }
}
