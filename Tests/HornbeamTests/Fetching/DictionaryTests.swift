import Foundation
import Hornbeam
import HornbeamModel
import Testing

/// Fetches of dictionaries: columns, totals, groups.
@Suite struct DictionaryTests {
    private func stack(_ setting: Setting) throws -> (Stack, ManagedObjectContext) {
        let stack = try Company.stack(setting.kind)
        let context = stack.newContext()
        let departments = ["Sales", "Research", "Empty"].map(context.department)
        for number in 0 ..< 12 {
            let employee = context.employee("e\(number)", salary: number % 5 * 100)
            if number % 4 > 0 { employee.department = departments[number % 2] }
        }
        try context.save()
        let reader = setting.context(of: stack)
        // Changes that no request reads.
        if setting.isBusy { for project in 0 ..< 3 { reader.project("p\(project)") } }
        return (stack, reader)
    }

    private func text(_ rows: [[String: PropertyValue]]) -> [String] {
        rows.map { row in
            row.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.expandedDescription)" }.joined(separator: ", ")
        }
    }

    // MARK: Columns

    @Test("FET-12: columns are attributes, paths over to-ones and expressions; a missing value is nil", arguments: Setting.saved)
    func columns(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let request = try FetchRequest<Employee>().where("salary >= 300").sorted(by: "name").limit(3)
            .selecting("name", "department.name", .expression("double", "salary * 2"))
        #expect(
            text(try context.fetch(request)) == [
                "department.name: \"Research\", double: 600, name: \"e3\"",
                "department.name: nil, double: 800, name: \"e4\"",
                "department.name: nil, double: 600, name: \"e8\"",
            ])
    }

    @Test("FET-12: a to-one is an object ID, a to-many is refused, and without columns there are all attributes", arguments: Setting.saved)
    func toOneIsID(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let employee = try context.fetch(FetchRequest<Employee>().where("name == 'e1'"))[0]
        let row = try context.fetch(FetchRequest<Employee>().where("name == 'e1'").selecting("department"))[0]
        #expect(row == ["department": .objectID(try #require(employee.department).objectID)])
        #expect(hornbeamError { _ = try context.fetch(FetchRequest<Employee>().selecting("projects")) }?.code == .predicateInvalid)
        let whole = try context.fetch(FetchRequest<[String: PropertyValue]>(entityName: "Employee").where("name == 'e1'"))
        #expect(text(whole) == ["hired: nil, isActive: true, name: \"e1\", salary: 100"])
    }

    @Test("FET-13: distinct dictionaries without an order are the first of equal ones in the order of objects, beside unsaved changes too",
          arguments: Setting.saved)
    func distinctInOrderOfObjects(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let expressions = ["length:(name)", "salary", "salary * 2", "projects.@count", "department.name", "isActive"]
        for isChanged in [false, true] {
            if isChanged {
                context.employee("another", salary: 100)
                for employee in try context.fetch(FetchRequest<Employee>().where("salary == 300")) { employee.salary = 200 }
            }
            for first in ["department", "isActive", "salary", "hired", "department.name"] {
                for second in expressions {
                    let request = try FetchRequest<Employee>().selecting(.property(first), .expression("n", second))
                    let all = try context.fetch(request)
                    var seen: Set<[String: PropertyValue]> = []
                    let wanted = all.filter { seen.insert($0).inserted }
                    let title: Comment = "\(first), \(second), changed: \(isChanged)"
                    #expect(try context.fetch(request.distinct()) == wanted, title)
                    #expect(try context.count(request.distinct()) == wanted.count, title)
                    #expect(try context.fetch(request.distinct().offset(1).limit(3)) == Array(wanted.dropFirst().prefix(3)), title)
                }
                let single = FetchRequest<Employee>().selecting(.property(first))
                var seen: Set<[String: PropertyValue]> = []
                let wanted = try context.fetch(single).filter { seen.insert($0).inserted }
                #expect(try context.fetch(single.distinct()) == wanted, "\(first)")
            }
        }
    }

    @Test("FET-13: distinct dictionaries come once, before offset and limit", arguments: Setting.saved)
    func distinct(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let request = FetchRequest<Employee>().sorted(by: "salary", ascending: false).selecting("salary").distinct()
        #expect(try context.fetch(request).map { $0["salary"] } == [400, 300, 200, 100, 0])
        #expect(try context.fetch(request.offset(1).limit(2)).map { $0["salary"] } == [300, 200])
        #expect(try context.count(request) == 5)
    }

    @Test("FET-16: dictionaries can be ordered by a computed column", arguments: Setting.saved)
    func orderByExpression(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let request = try FetchRequest<Employee>().selecting("name", .expression("rest", "modulus:by:(salary, 300)"))
            .sorted(by: "rest", ascending: false).sorted(by: "name").limit(3)
        #expect(try context.fetch(request).map { $0["name"] } == ["e2", "e7", "e1"])
    }

    @Test("FET-16: a page ordered by a computed column is the page of all dictionaries", arguments: Setting.saved)
    func pageOrderedByExpression(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let unsaved = context.employee("unsaved", salary: 250)
        unsaved.department = try context.fetch(FetchRequest<Department>().where("name == 'Sales'"))[0]
        for ascending in [true, false] {
            let request = try FetchRequest<Employee>().selecting("name", .expression("rest", "modulus:by:(salary, 300)"))
                .sorted(by: "rest", ascending: ascending)
            let all = try context.fetch(request)
            #expect(all.count == 13)
            for (offset, limit) in [(0, 1), (0, 2), (1, 2), (5, 3), (11, 9), (20, 1)] {
                let page = try context.fetch(request.offset(offset).limit(limit))
                #expect(page == Array(all.dropFirst(offset).prefix(limit)), "offset \(offset), limit \(limit)")
            }
            #expect(try context.fetch(request.distinct().limit(2)) == Array(all.prefix(2)))
        }
        let counts = try FetchRequest<Department>().selecting("name", .expression("heads", "employees.@count"))
            .sorted(by: "heads", ascending: false).limit(2)
        #expect(try context.fetch(counts).map { $0["heads"] } == [6, 4])
    }

    @Test("FET-10, FET-16: an order by a computed column and then by other properties includes their unsaved changes", arguments: Setting.saved)
    func orderByExpressionAndChangedProperties(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let request = try FetchRequest<Employee>().selecting("name", .expression("size", "length:(name)")).sorted(by: "size")
        let bySalary = request.sorted(by: "salary", ascending: false).limit(2)
        #expect(try context.fetch(bySalary).map { $0["name"] } == ["e4", "e9"])
        try context.fetch(FetchRequest<Employee>().where("name == 'e0'"))[0].salary = 900
        #expect(try context.fetch(bySalary).map { $0["name"] } == ["e0", "e4"])
        let byBudget = request.sorted(by: "department.budget", ascending: false).limit(2)
        #expect(try context.fetch(byBudget).map { $0["name"] } == ["e1", "e2"])
        try context.fetch(FetchRequest<Department>().where("name == 'Sales'"))[0].budget = 5
        #expect(try context.fetch(byBudget).map { $0["name"] } == ["e2", "e6"])
    }

    // MARK: Totals and groups

    @Test("FET-14: totals without groups are one dictionary, of nothing too", arguments: Setting.saved)
    func totals(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let request = FetchRequest<Employee>().selecting(
            .count(as: "n"), .count(of: "department", as: "placed"), .sum(of: "salary", as: "sum"), .average(of: "salary", as: "average"),
            .minimum(of: "name", as: "first"), .maximum(of: "salary", as: "most"))
        #expect(
            text(try context.fetch(request)) == [
                "average: \(2100.0 / 12), first: \"e0\", most: 400, n: 12, placed: 9, sum: 2100"
            ])
        #expect(
            text(try context.fetch(request.where("salary > 999"))) == ["average: nil, first: nil, most: nil, n: 0, placed: 0, sum: 0"])
    }

    @Test("FET-14: groups have one dictionary each, nil among them; they are ordered and cut as groups", arguments: Setting.saved)
    func groups(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let request = FetchRequest<Employee>().selecting("department.name", .count(as: "n"), .sum(of: "salary", as: "sum"))
            .grouped(by: "department.name")
        #expect(
            text(try context.fetch(request)) == [
                "department.name: nil, n: 3, sum: 700", "department.name: \"Research\", n: 6, sum: 1100",
                "department.name: \"Sales\", n: 3, sum: 300",
            ])
        #expect(try context.fetch(request.sorted(by: "n").limit(1)).map { $0["n"] } == [3])
        #expect(try context.fetch(request.sorted(by: "sum").offset(1)).map { $0["sum"] } == [700, 1100])
        #expect(try context.count(request) == 3)
    }

    @Test("FET-14: different values are counted once, in groups, over all objects and of a to-many; nil is not counted", arguments: Setting.saved)
    func distinctCounts(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let totals = FetchRequest<Employee>().selecting(
            .count(of: "salary", as: "all"), .count(distinct: "salary", as: "salaries"), .count(distinct: "department", as: "departments"),
            .count(distinct: "department.name", as: "names"))
        #expect(text(try context.fetch(totals)) == ["all: 12, departments: 2, names: 2, salaries: 5"])
        #expect(text(try context.fetch(totals.where("salary > 999"))) == ["all: 0, departments: 0, names: 0, salaries: 0"])
        let groups = try FetchRequest<Employee>()
            .selecting("department.name", .count(distinct: "salary", as: "n"), .expression("sum", "sum:(distinct:(salary))"))
            .grouped(by: "department.name").having("count:(distinct:(salary)) > 2").sorted(by: "department.name")
        #expect(
            text(try context.fetch(groups)) == [
                "department.name: nil, n: 3, sum: 700", "department.name: \"Research\", n: 5, sum: 1000",
                "department.name: \"Sales\", n: 3, sum: 300",
            ])
        #expect(
            try context.explain(groups).contains(
                setting.kind == .onServer
                    ? "by the server" : "group by department.name, totalling count:(distinct:(salary)), sum:(distinct:(salary))"))
        let members = try FetchRequest<Department>().selecting("name", .expression("n", "count:(distinct:(employees.salary))")).sorted(by: "name")
        #expect(try context.fetch(members).map { $0["n"] } == [0, 5, 3])
        let selection = Employee.select(\.department.name, \.salary.distinctCount).grouped(by: \.department.name).sorted(by: \.department.name)
        #expect(try context.fetch(selection).map { $0.1 } == [3, 5, 3])
        // Unsaved changes join the groups: a value that another object has, and a new one.
        context.employee("same", salary: 400)
        context.employee("new", salary: 999)
        #expect(try context.fetch(totals).map { $0["salaries"] } == [6])
    }

    @Test("FET-14: the name of a column with an expression groups by its values", arguments: Setting.saved)
    func groupedByExpression(setting: Setting) throws {
        let (_, context) = try stack(setting)
        context.employee("unsaved", salary: 900)
        let request = try FetchRequest<Employee>()
            .selecting(.expression("rest", "modulus:by:(salary, 300)"), .count(as: "n"), .sum(of: "salary", as: "sum"))
            .grouped(by: "rest").sorted(by: "rest")
        #expect(
            text(try context.fetch(request)) == [
                "n: 6, rest: 0, sum: 1500", "n: 5, rest: 100, sum: 1100", "n: 2, rest: 200, sum: 400",
            ])
        #expect(text(try context.fetch(request.having("rest == 100 AND n > 2"))) == ["n: 5, rest: 100, sum: 1100"])
        let both = try FetchRequest<Employee>()
            .selecting("department.name", .expression("digits", "length:(name)"), .expression("more", "length:(name) + 1"), .count(as: "n"))
            .grouped(by: "department.name", "digits").sorted(by: "department.name").sorted(by: "digits")
        #expect(
            text(try context.fetch(both)) == [
                "department.name: nil, digits: 2, more: 3, n: 3", "department.name: nil, digits: 7, more: 8, n: 1",
                "department.name: \"Research\", digits: 2, more: 3, n: 5", "department.name: \"Research\", digits: 3, more: 4, n: 1",
                "department.name: \"Sales\", digits: 2, more: 3, n: 2", "department.name: \"Sales\", digits: 3, more: 4, n: 1",
            ])
        let total = try FetchRequest<Employee>().selecting(.expression("most", "max:(salary)")).grouped(by: "most")
        #expect(hornbeamError { _ = try context.fetch(total) }?.code == .predicateInvalid)
        let several = try FetchRequest<Employee>().selecting(.expression("all", "projects.name"), .count(as: "n")).grouped(by: "all")
        #expect(hornbeamError { _ = try context.fetch(several) }?.code == .predicateInvalid)
        let unknown = FetchRequest<Employee>().selecting(.count(as: "n")).grouped(by: "unknown")
        #expect(hornbeamError { _ = try context.fetch(unknown) }?.code == .predicateInvalid)
    }

    @Test("FET-15 (1.29, 6): a having predicate speaks of columns by name, of totals and of grouped values", arguments: Setting.saved)
    func having(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let request = FetchRequest<Employee>().selecting("salary", .count(as: "n")).grouped(by: "salary").sorted(by: "salary")
        #expect(try context.fetch(request.having("n > 2")).map { $0["salary"] } == [0, 100])
        #expect(try context.fetch(request.having("max:(name) ENDSWITH '9'")).map { $0["salary"] } == [400])
        #expect(try context.fetch(request.having("salary > %d AND n == 2", 200)).map { $0["salary"] } == [300, 400])
    }

    @Test("FET-14: groups of many texts are those of equal bytes", arguments: StoreKind.allCases)
    func groupsOfTexts(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let maker = stack.newContext()
        let special = ["", "\u{e9}", "e\u{301}", "E", "the same first sixteen bytes 1", "the same first sixteen bytes 2", String(repeating: "x", count: 20_000)]
        let names = (0 ..< 900).map { $0 % 3 == 0 ? special[$0 / 3 % special.count] : "name \($0 * 7919 % 150)" }
        for (number, name) in names.enumerated() { maker.employee(name, salary: number % 7) }
        try maker.save()
        var expected: [[UInt8]: Int64] = [:]
        for (number, name) in names.enumerated() where number % 7 > 0 { expected[Array(name.utf8), default: 0] += 1 }
        for format in ["salary > 0", "salary IN {1, 2, 3, 4, 5, 6}"] {
            let request = try FetchRequest<Employee>().where(format).selecting("name", .count(as: "n")).grouped(by: "name")
            var found: [[UInt8]: Int64] = [:]
            for row in try stack.newContext().fetch(request) {
                guard case .string(let name)? = row["name"], case .int(let count)? = row["n"] else { continue }
                found[Array(name.utf8)] = count
            }
            #expect(found == expected)
        }
    }

    @Test("FET-14: a column with many values in a group is refused by name", arguments: Setting.saved)
    func manyValuedColumn(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let error = hornbeamError { _ = try context.fetch(FetchRequest<Employee>().selecting("name", .count(as: "n"))) }
        #expect(
            error?.message == "“name” in “name” has many values in a group of objects of “Employee”: group by it too, or use a function such "
                + "as max:(name).")
        let objects = FetchRequest<Employee>(FetchRequest<Employee>().selecting("name").untyped)
        #expect(hornbeamError { _ = try context.fetch(objects) }?.code == .unsupportedRequest)
    }

    @Test("FET-6: a request without a type returns the kind of result that it names", arguments: Setting.saved)
    func resultKinds(setting: Setting) throws {
        let (_, context) = try stack(setting)
        var request = FetchDescription(entityName: "Department")
        guard case .objects(let objects) = try context.execute(request) else { return #expect(Bool(false)) }
        request.resultType = .objectIDs
        guard case .objectIDs(let ids) = try context.execute(request) else { return #expect(Bool(false)) }
        #expect(ids == objects.map(\.objectID))
        #expect(try context.fetch(FetchRequest<Department>().selectingIDs()) == ids)
        request.resultType = .count
        guard case .count(3) = try context.execute(request) else { return #expect(Bool(false)) }
        request.resultType = .dictionaries
        guard case .dictionaries(let rows) = try context.execute(request) else { return #expect(Bool(false)) }
        let names = try objects.map { try $0.value(forKey: "name") }
        #expect(rows.map { $0["name"] } == names)
    }

    // MARK: Unsaved changes

    @Test("FET-10: unsaved changes are included in columns, totals and groups, in child contexts too", arguments: Setting.saved)
    func pendingChanges(setting: Setting) throws {
        let (_, context) = try stack(setting)
        let sums = FetchRequest<Employee>().selecting("department.name", .sum(of: "salary", as: "sum")).grouped(by: "department.name")
            .sorted(by: "department.name")
        func sum(_ context: ManagedObjectContext) throws -> [PropertyValue?] { try context.fetch(sums).map { $0["sum"] } }
        #expect(try sum(context) == [700, 1100, 300])
        let first = try context.fetch(FetchRequest<Employee>().where("name == 'e1'"))[0]
        first.salary = 1100
        context.employee("new", salary: 5).department = first.department
        context.delete(try context.fetch(FetchRequest<Employee>().where("name == 'e4'"))[0])
        #expect(try sum(context) == [300, 2105, 300])
        try #require(first.department).name = "Lab"
        #expect(try context.fetch(sums).map { $0["department.name"] } == [.null, "Lab", "Sales"])
        #expect(try sum(context) == [300, 2105, 300])
        let names = FetchRequest<Employee>().sorted(by: "salary", ascending: false).selecting("name").limit(2)
        #expect(try context.fetch(names).map { $0["name"] } == ["e1", "e9"])
        var stored = sums
        stored.includesPendingChanges = false
        #expect(try context.fetch(stored).map { $0["sum"] } == [700, 1100, 300])

        let child = context.newChildContext()
        #expect(try sum(child) == [300, 2105, 300])
        _ = child.employee("third", salary: 7)
        #expect(try sum(child) == [307, 2105, 300])
        #expect(try child.fetch(names).map { $0["name"] } == ["e1", "e9"])
    }

    @Test("FET-10, MRG-1: columns and totals show properties that both sides changed as the merge policy decides",
          arguments: Setting.contested, Setting.policies.indices)
    func contestedTotals(setting: Setting, policy: Int) throws {
        let (stack, context) = try stack(setting)
        context.setMergePolicies(Setting.policies[policy].policy)
        let sums = FetchRequest<Employee>().selecting("department.name", .sum(of: "salary", as: "sum")).grouped(by: "department.name")
            .sorted(by: "department.name")
        func expect(_ context: ManagedObjectContext, _ sum: [PropertyValue?]) throws {
            #expect(try context.fetch(sums).map { $0["sum"] } == sum)
        }
        func employee(_ name: String, _ context: ManagedObjectContext) throws -> Employee {
            try #require(context.fetch(FetchRequest<Employee>().where("name == %@", name)).first)
        }
        try employee("e1", context).salary = 1100
        try employee("e3", context).department = nil
        try expect(context, [1000, 1800, 300])
        try setting.contest(stack) { others in
            try employee("e1", others).salary = 50
            try employee("e7", others).department = nil
        }
        if setting.follows {
            try context.mergeFromStore()
            try expect(context, setting.isContested ? [1200, 1600, 300] : [1000, 1800, 300])
        }
        try context.saveToStore()
        let mine = Setting.policies[policy].mineHolds
        let expected: [PropertyValue?] = setting.isContested ? [1200, mine ? 1600 : 550, 300] : [1000, 1800, 300]
        try expect(stack.newContext(), expected)
        try context.parent?.refreshAllObjects()
        try context.refreshAllObjects()
        try expect(context, expected)
    }

    @Test("FET-10 (1.29, 5): groups over stored and changed objects agree with a reference", arguments: StoreKind.allCases, [21 as UInt64, 22, 23])
    func groupsAgreeWithReference(kind: StoreKind, seed: UInt64) throws {
        var random = SplitMix(seed)
        let stack = try Company.stack(kind)
        let maker = stack.newContext()
        let departments = (0 ..< 4).map { maker.department("d\($0 % 3)") }
        for number in 0 ..< 60 {
            let employee = maker.employee("e\(number)", salary: Int(random.next() % 7))
            if random.next() % 5 > 0 { employee.department = departments[Int(random.next() % 4)] }
        }
        try maker.save()
        let context = stack.newContext()
        var all = try context.fetch(FetchRequest<Employee>())
        for round in 0 ..< 10 {
            let employee = all[Int(random.next() % UInt64(all.count))]
            switch random.next() % 4 {
            case 0: employee.salary = Int(random.next() % 7)
            case 1: all.append(context.employee("x\(round)", salary: Int(random.next() % 7)))
            case 2: employee.department = nil
            default:
                context.delete(employee)
                all.removeAll { $0 == employee }
            }
            let bound = Int(random.next() % 4)
            var expected: [String: (count: Int, sum: Int)] = [:]
            for employee in all where employee.salary >= bound {
                let name = employee.department?.name ?? "-"
                expected[name, default: (0, 0)].count += 1
                expected[name, default: (0, 0)].sum += employee.salary
            }
            let request = try FetchRequest<Employee>().where("salary >= %d", bound)
                .selecting("department.name", .count(as: "n"), .sum(of: "salary", as: "sum")).grouped(by: "department.name")
                .sorted(by: "department.name")
            let found = try context.fetch(request).map { row in
                let name = if case .string(let name)? = row["department.name"] { name } else { "-" }
                return "\(name) \(row["n"] ?? .null) \(row["sum"] ?? .null)"
            }
            let wanted = expected.sorted { $0.key < $1.key }.map { "\($0.key) \(PropertyValue.int(Int64($0.value.count))) \(PropertyValue.int(Int64($0.value.sum)))" }
            #expect(found == wanted, "seed \(seed), round \(round)")
        }
    }
}
