import Foundation
import Hornbeam
import Testing

@Suite("Frozen objects") struct FrozenObjectTests {
    @Test("MOC-1: a frozen object goes to another actor with its values", arguments: StoreKind.allCases)
    func frozenObjectsCross(kind: StoreKind) async throws {
        let stack = try Stack(kind, Company.model(), Company.classes)
        let frozen = try await stack.container.performBackgroundTask { context in
            let department = Department(context: context)
            department.name = "d"
            let ada = Employee(context: context)
            (ada.name, ada.salary, ada.department) = ("Ada", 10, department)
            ada.hired = Date(timeIntervalSinceReferenceDate: 5)
            try context.save()
            let frozen = (FrozenObject(ada), FrozenObject(department, including: ["employees"]))
            ada.name = "changed later"
            return frozen
        }
        let (ada, department) = frozen
        #expect(ada[Employee.name] == "Ada" && ada[Employee.salary] == 10 && ada[Employee.isActive])
        #expect(ada[Employee.hired] == Date(timeIntervalSinceReferenceDate: 5))
        #expect(ada[Employee.department] == department.objectID && ada[Employee.spouse] == nil)
        #expect(department[Department.employees] == [ada.objectID])
        #expect(try ada.value(forKey: "salary") == .int(10))
        #expect(try FetchPredicate(format: "salary > 9 AND name == 'Ada'").evaluate(with: ada))
        #expect(hornbeamError { _ = try ada.value(forKey: "sallary") }?.code == .unknownKey)
        #expect(!ada.objectID.isTemporaryID && ada.id == ada.objectID)
    }

    @Test("MOC-1: two frozen objects are equal when ID and values are", arguments: Setting.contexts)
    func equality(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        let (first, second) = (FrozenObject(object), FrozenObject(object))
        object.counter = 99
        #expect(first == second && first != FrozenObject(object))
    }
}
