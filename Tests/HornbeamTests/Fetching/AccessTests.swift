import Foundation
import Testing
@testable import Hornbeam

@Suite("Reading together") struct AccessTests {
    /// 40 departments with 5 employees each.
    private func company(_ kind: StoreKind) throws -> Stack {
        let stack = try Stack(kind, Company.model(), Company.classes)
        try stack.container.performAndWait { context in
            for number in 0..<40 {
                let department = Department(context: context)
                department.name = "d\(number)"
                for place in 0..<5 {
                    let employee = Employee(context: context)
                    employee.name = "e\(number)-\(place)"
                    employee.salary = number
                    employee.department = department
                }
            }
            try context.save()
        }
        return stack
    }

    /// In a child over a server, the rows are looked up in the cache.
    @Test(
        "FET-11: prefetched objects need no look-up of their own, over several steps",
        arguments: Setting.contexts.filter { $0.kind != .onServer || !$0.isChild })
    func prefetching(setting: Setting) throws {
        let context = setting.context(of: try company(setting.kind))
        let plain = try context.fetch(FetchRequest<Employee>())
        #expect(plain.count == 200)
        context.reset()
        let employees = try context.fetch(FetchRequest<Employee>().prefetching("department", "department.employees"))
        #expect(Set(employees.map(\.department!.name)).count == 40)
        #expect(context.rowsLookedUp == 0)
        let departments = try context.fetch(FetchRequest<Department>().prefetching("employees"))
        let salaries = departments.flatMap { department in department.employees.map(\.salary) }
        #expect(salaries.reduce(0, +) == 3_900)
        #expect(context.rowsLookedUp == 0)
    }

    @Test("FET-11: a path that is no relationship is an error that names it", arguments: Setting.contexts)
    func wrongPaths(setting: Setting) throws {
        let context = setting.context(of: try company(setting.kind))
        for path in ["salary", "department.boss", "nothing"] {
            let error = hornbeamError { _ = try context.fetch(FetchRequest<Employee>().prefetching(path)) }
            #expect(error?.code == .predicateInvalid, "\(path)")
        }
    }

    @Test("MOC-12, FET-11: firing faults one after the other also reads the destinations of their neighbours", arguments: StoreKind.allCases)
    func siblingsComeAlong(kind: StoreKind) throws {
        let context = try company(kind).newContext()
        let employees = try context.fetch(FetchRequest<Employee>())
        for employee in employees { #expect(employee.department?.name == "d\(employee.salary)") }
        #expect(context.rowsLookedUp < 12)
    }

    @Test("REL-2: counting members loads nothing, unsaved ones included", arguments: Setting.contexts)
    func countsLoadNothing(setting: Setting) throws {
        let context = setting.context(of: try company(setting.kind))
        let department = try #require(try context.fetch(FetchRequest<Department>().limit(1)).first)
        #expect(department.employees.count == 5)
        #expect(context.registeredObjects.count == 1)
        Employee(context: context).department = department
        #expect(department.employees.count == 6)
        #expect(context.registeredObjects.count == 2)
    }

    @Test("FET-5: a lazy result makes a batch at a time, and stays lazy through slices and lazy maps", arguments: Setting.contexts)
    func batchesStayLazy(setting: Setting) throws {
        let context = setting.context(of: try company(setting.kind))
        let found = try context.fetchLazily(FetchRequest<Employee>().sorted(by: "name").batches(of: 20))
        #expect(found.count == 200)
        #expect(context.registeredObjects.isEmpty)
        #expect(found[0].name == "e0-0")
        #expect(context.registeredObjects.count == 20)
        let names = found[100...].lazy.map(\.name)
        #expect(context.registeredObjects.count == 20)
        #expect(names.first == found[100].name)
        #expect(context.registeredObjects.count == 20, "only the batch touched last is held")
        #expect(Array(found.map(\.name)) == found.map(\.name).sorted())
        #expect(context.rowsLookedUp == 0)
    }

    @Test("FET-5: a lazy result reads its batches together after the context has moved on", arguments: StoreKind.allCases)
    func batchesAfterMoving(kind: StoreKind) throws {
        let stack = try company(kind)
        let context = stack.newContext()
        let found = try context.fetchLazily(FetchRequest<Employee>().batches(of: 50))
        try stack.container.performAndWait { other in
            for employee in try other.fetch(FetchRequest<Employee>()) { employee.salary += 1 }
            try other.save()
        }
        try context.mergeChanges()
        let salaries = found.map(\.salary)
        #expect(salaries.reduce(0, +) == 4_100)
        #expect(context.rowsLookedUp == 0)
    }

    @Test("reading objects one at a time is reported with the location in the code", arguments: [Setting(kind: .onDisk), Setting(isChild: true)])
    func rowByRowIsReported(setting: Setting) throws {
        let context = setting.context(of: try company(setting.kind))
        context.tracksRowByRowAccess = true
        let employees = try context.fetch(FetchRequest<Employee>().where("name ENDSWITH '-0'"))
        for employee in employees { #expect(employee.department?.name.isEmpty == false) }
        let reports = context.rowByRowAccesses
        let report = try #require(reports.first)
        #expect(reports.count == 1)
        #expect(report.entityName == "Department" && report.relationship == "department" && report.count == 40)
        #expect(report.description.contains("Prefetch “department”"))
        #if os(Linux)
        #expect(report.callStack.contains { $0.contains("rowByRowIsReported") }, "\(report.callStack)")
        #endif
        context.tracksRowByRowAccess = false
        #expect(context.rowByRowAccesses.isEmpty)
    }
}
