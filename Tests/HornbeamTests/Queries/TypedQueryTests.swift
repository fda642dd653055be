import Foundation
import Hornbeam
import Testing

/// Requests written in Swift: the same predicates, orders and columns as in the format language.
@Suite struct TypedQueryTests {
    private func format(_ condition: (FetchPath<Employee>) -> FetchPredicate) -> String? {
        FetchRequest<Employee>().where(condition).predicate?.predicateFormat
    }

    private func stack(_ kind: StoreKind) throws -> (Stack, ManagedObjectContext) {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let departments = ["Sales", "Research", "Empty"].map(context.department)
        let project = context.project("Apollo")
        for number in 0 ..< 12 {
            let employee = context.employee("e\(number)", salary: number % 5 * 100)
            if number % 4 > 0 { employee.department = departments[number % 2] }
            if number < 2 { employee.projects = [project] }
        }
        try context.save()
        return (stack, stack.newContext())
    }

    // MARK: Conditions

    @Test func membersOfAClassAreMembersOfAPath() {
        #expect(format { $0.salary < 100 && $0.name.contains("a", .caseInsensitive) } == "salary < 100 AND name CONTAINS[c] \"a\"")
        #expect(format { $0.hired == nil || !($0.isActive == true) } == "hired == nil OR (NOT isActive == 1)")
        #expect(format { $0.salary.isIn(1...3) } == "salary BETWEEN {1, 3}")
        #expect(format { $0.salary.isIn([1, 3]) } == "salary IN {1, 3}")
    }

    @Test func pathsLeadOverOptionalRelationships() {
        #expect(format { $0.department.name == "Sales" } == "department.name == \"Sales\"")
        #expect(format { $0.spouse.department.name.beginsWith("S") } == "spouse.department.name BEGINSWITH \"S\"")
        #expect(format { $0.department.name == nil } == "department.name == nil")
        #expect(format { $0.department == nil } == "department == nil")
        #expect(format { $0.department.employees.count > 3 } == "department.employees.@count > 3")
    }

    @Test func conditionsOnManyObjects() {
        #expect(format { $0.projects.any.name == "Apollo" } == "ANY projects.name == \"Apollo\"")
        #expect(format { $0.projects.all.name == "Apollo" } == "ALL projects.name == \"Apollo\"")
        #expect(format { $0.projects.isEmpty } == "projects.@count == 0")
        #expect(format { $0.projects.contains { $0.name == "Apollo" } } == "SUBQUERY(projects, $x, $x.name == \"Apollo\").@count > 0")
        #expect(format { $0.friends.sum(\.salary) > 10 } == "friends.@sum.salary > 10")
        #expect(format { $0.friends.max(\.hired) == nil } == "friends.@max.hired == nil")
        #expect(
            format { $0.projects.contains { $0.tasks.allSatisfy { $0.name == "t" } } }
                == "SUBQUERY(projects, $x1, SUBQUERY($x1.tasks, $x, NOT $x.name == \"t\").@count == 0).@count > 0")
        #expect(
            format { employee in employee.friends.contains { $0.salary > employee.salary } }
                == "SUBQUERY(friends, $x, $x.salary > salary).@count > 0")
        #expect(
            format { $0.friends.contains { friend in friend.friends.contains { $0.salary > friend.salary } } }
                == "SUBQUERY(friends, $x1, SUBQUERY($x1.friends, $x, $x.salary > $x1.salary).@count > 0).@count > 0")
    }

    @Test(arguments: StoreKind.allCases) func objectsAreComparedByIdentity(kind: StoreKind) throws {
        let (_, context) = try stack(kind)
        let sales = try #require(try context.first(Department.self) { $0.name == "Sales" })
        let apollo = try #require(try context.first(Project.self) { $0.name == "Apollo" })
        #expect(try context.count(Employee.self) { $0.department == sales } == 3)
        #expect(try context.count(Employee.self) { $0.department != sales } == 9)
        #expect(try context.count(Employee.self) { $0.department.isIn([sales]) } == 3)
        #expect(try context.count(Employee.self) { $0.projects.contains(apollo) } == 2)
        #expect(try context.exists(Department.self) { $0.employees.isEmpty })
        #expect(try !context.exists(Department.self) { $0.name == "Nowhere" })
    }

    @Test func aMemberThatIsNoPropertyIsRefusedWhenTheRequestRuns() throws {
        let (_, context) = try stack(.inMemory)
        let error = #expect(throws: HornbeamError.self) { try context.fetch(FetchRequest<Employee>().where { $0.hasChanges == true }) }
        #expect(error?.code == .predicateInvalid)
        #expect(error?.message.contains("a member of Employee that does not read exactly one property") == true)
    }

    @Test("#Predicate is a condition of a request", arguments: StoreKind.allCases)
    func foundationsPredicates(kind: StoreKind) throws {
        let (_, context) = try stack(kind)
        let request = try FetchRequest<Employee>().where(#Predicate<Employee> { $0.salary >= 300 }).where { $0.name != "e3" }
        #expect(request.predicate?.predicateFormat == "salary >= 300 AND name != \"e3\"")
        #expect(try context.count(request) == 3)
    }

    // MARK: Order and prefetching

    @Test func ordersAndPrefetchingTakePaths() {
        let request = FetchRequest<Employee>().sorted(by: \.department.name, .descending).sorted(by: \.name, comparison: .caseInsensitive)
            .prefetching(\.department, \.spouse.projects)
        #expect(
            request.sortDescriptors == [.descending("department.name"), .ascending("name", comparison: .caseInsensitive)])
        #expect(request.relationshipKeyPathsForPrefetching == ["department", "spouse.projects"])
    }

    @Test("a property may have the name of a reserved word", arguments: StoreKind.allCases)
    func reservedWordsAreNames(kind: StoreKind) throws {
        let stack = try Stack(kind, ManagedObjectModel { Entity("Box") { Box.size } }, [Box.self])
        let context = stack.newContext()
        for size in [2, 1] { Box(context: context)[Box.size] = size }
        try context.save()
        var request = FetchRequest<Box>()
        request.sortDescriptors = [.ascending(Box.size)]
        #expect(request.sortDescriptors == [FetchSort("size")])
        #expect(try context.fetch(request).map { $0[Box.size] } == [1, 2])
    }

    final class Box: ManagedObject {
        static let size = Attribute<Int>("size", default: 0)
    }

    @Test(arguments: StoreKind.allCases) func sectionsTakeAPath(kind: StoreKind) throws {
        let (_, context) = try stack(kind)
        let request = FetchRequest<Employee>().where { $0.department != nil }.sorted(by: \.department.name).sorted(by: \.name)
        let controller = try FetchedResultsController(request, in: context, sectionedBy: \.department.name)
        try controller.performFetch()
        #expect(controller.sections.map(\.name) == ["Research", "Sales"])
    }

    // MARK: Columns

    @Test("FET-12: columns are tuples of the properties' types", arguments: StoreKind.allCases)
    func columns(kind: StoreKind) throws {
        let (_, context) = try stack(kind)
        let rows = try context.fetch(
            Employee.select(\.name, \.salary, \.department.name).where { $0.salary >= 300 }.sorted(by: \.name).limit(3))
        #expect(rows.map(\.0) == ["e3", "e4", "e8"])
        #expect(rows.map(\.1) == [300, 400, 300])
        #expect(rows.map(\.2) == ["Research", nil, nil])
    }

    @Test("FET-14, FET-15: groups have totals, and conditions on them", arguments: StoreKind.allCases)
    func groups(kind: StoreKind) throws {
        let (_, context) = try stack(kind)
        let groups = try context.fetch(
            Employee.select(\.department.name, \.count, \.salary.max, \.salary.sum).grouped(by: \.department.name)
                .having { $0.count > 2 }.sorted(by: \.department.name))
        #expect(groups.map(\.0) == [nil, "Research", "Sales"])
        #expect(groups.map(\.1) == [3, 6, 3])
        let text = try context.fetch(
            FetchRequest<Employee>().sorted(by: "department.name")
                .selecting("department.name", .count(as: "n"), .maximum(of: "salary", as: "max"), .sum(of: "salary", as: "sum"))
                .grouped(by: "department.name").having("n > 2"))
        #expect(text.map { $0["n"] } == groups.map { .int(Int64($0.1)) })
        #expect(text.map { $0["max"] } == groups.map { $0.2.propertyValue })
        #expect(text.map { $0["sum"] } == groups.map { .int(Int64($0.3)) })
    }

    private struct Row: Equatable {
        var department: String?
        var count: Int
    }

    @Test("FET-12: rows are values of a type", arguments: StoreKind.allCases)
    func rowsAreValuesOfAType(kind: StoreKind) throws {
        let (_, context) = try stack(kind)
        let selection = Employee.select(\.department.name, \.count).grouped(by: \.department.name).having { $0.count > 2 }
            .sorted(by: \.department.name)
        let rows = try context.fetch(selection, as: Row.init)
        #expect(rows == [Row(department: nil, count: 3), Row(department: "Research", count: 6), Row(department: "Sales", count: 3)])
    }

    @Test("FET-13: distinct rows come once", arguments: StoreKind.allCases)
    func distinct(kind: StoreKind) throws {
        let (_, context) = try stack(kind)
        let selection = Employee.select(\.salary).sorted(by: \.salary, .descending).distinct()
        #expect(try context.fetch(selection) == [400, 300, 200, 100, 0])
        #expect(try context.fetch(selection.offset(1).limit(2)) == [300, 200])
    }

    final class Sample: ManagedObject {
        static let height = Attribute<Int16>("height", default: 0)

        var height: Int16 { get { self[Self.height] } set { self[Self.height] = newValue } }
    }

    @Test("FET-12: a total that the type of its column cannot hold is an error, not zero", arguments: StoreKind.own)
    func totalsBeyondTheirColumn(kind: StoreKind) throws {
        let stack = try Stack(kind, ManagedObjectModel { Entity("Sample") { Sample.height } }, [Sample.self])
        let context = stack.newContext()
        for _ in 0 ..< 2 { Sample(context: context).height = 20_000 }
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            let highest = try context.fetch(Sample.select(\.height.max))
            #expect(highest.first == 20_000)
            let error = hornbeamError { _ = try context.fetch(Sample.select(\.height.sum)) }
            #expect(error?.code == .typeMismatch)
            #expect(error?.message.contains("Int16") == true)
            let sums = try context.fetch(FetchRequest<Sample>().selecting(.sum(of: "height", as: "sum")))
            #expect(sums == [["sum": .int(40_000)]])
        }
    }

    @Test(arguments: StoreKind.allCases) func totalsOverAllObjectsAreOneRow(kind: StoreKind) throws {
        let (_, context) = try stack(kind)
        let rows = try context.fetch(Employee.select(\.count, \.salary.average).where { $0.name == "nobody" })
        #expect(rows.map(\.0) == [0])
        #expect(rows.map(\.1) == [nil])
    }
}
