import Foundation
import Hornbeam
import Testing

/// A user with a unique mail.
final class Member: ManagedObject {
    static let mail = Attribute<String?>("mail", unique: true)
    static let name = Attribute<String?>("name")
    static let visits = Attribute<Int>("visits", default: 0)
    override class var tokens: [any PropertyToken] { [mail, name, visits] }
    var mail: String? { get { self[Self.mail] } set { self[Self.mail] = newValue } }
    var name: String? { get { self[Self.name] } set { self[Self.name] = newValue } }
    var visits: Int { get { self[Self.visits] } set { self[Self.visits] = newValue } }
}

/// Unique values and custom policies, and the contents of the thrown errors.
@Suite struct ConstraintPolicyTests {
    /// A context with a new member whose mail a stored one has. In a contested setting others change the visits of that one to 5.
    private func conflict(
        _ setting: Setting, isHere: Bool
    ) throws -> (stack: Stack, context: ManagedObjectContext, stored: ManagedObjectID, new: Member) {
        let model = try ManagedObjectModel { Entity("Member") { Member.mail; Member.name; Member.visits } }
        let stack = try Stack(setting.kind, model, [Member.self])
        let context = setting.context(of: stack)
        let writer = isHere ? context : stack.newOtherContext()
        let stored = Member(context: writer)
        (stored.mail, stored.name, stored.visits) = ("a@b", "stored", 3)
        try writer.saveToStore()
        let new = Member(context: context)
        (new.mail, new.name, new.visits) = ("a@b", "new", 4)
        try setting.contest(stack) { try $0.existingObject(Member.self, with: stored.objectID).visits = 5 }
        return (stack, context, stored.objectID, new)
    }

    @Test("MRG-6, MRG-8: a custom policy is called for unique values, and its decision applies", arguments: Setting.contested + Setting.shared, [false, true])
    func customPolicyDecides(setting: Setting, isHere: Bool) throws {
        let theirs = setting.isContested ? 5 : 3
        let answers: [(ConstraintResolution, String, Int)] = [
            (.stored, "stored", theirs), (.new, "new", 4), (.merged(["visits": 7]), "stored", 7), (.merged([:]), "stored", theirs),
        ]
        for (answer, name, visits) in answers {
            let (stack, context, stored, _) = try conflict(setting, isHere: isHere)
            // A context that does not follow the store has an older version of the stored object, which the base policy decides about.
            context.setMergePolicies(.custom(over: setting.follows ? .error : .mergeByPropertyObjectTrump) { _ in [:] } constraints: { conflict in
                guard conflict.keys == ["mail"], conflict.values == ["a@b"], conflict.storedID == stored,
                    conflict.mine.first?["visits"] == 4, conflict.theirs?["visits"] == .int(Int64(theirs)), conflict.objectIDs.count == 1
                else { throw HornbeamError(.general, "The conflict is \(conflict).") }
                return answer
            })
            try context.saveToStore()
            let members = try stack.newContext().fetch(FetchRequest<Member>())
            #expect(members.map(\.objectID) == [stored] && members[0].name == name && members[0].visits == visits)
            #expect(!context.hasChanges)
        }
    }

    @Test("MRG-6: the base policy decides if a custom policy returns no decision, and the save throws the error of the policy",
          arguments: Setting.contested + Setting.shared)
    func customPolicyLeavesItToTheBase(setting: Setting) throws {
        let (stack, context, stored, new) = try conflict(setting, isHere: false)
        context.setMergePolicies(.custom(over: .error) { _ in [:] } constraints: { _ in .base })
        #expect(hornbeamError { try context.saveToStore() }?.code == .constraintConflict)
        context.setMergePolicies(.custom(over: .error) { _ in [:] } constraints: { _ in throw HornbeamError(.general, "Ask the user.") })
        #expect(hornbeamError { try context.saveToStore() }?.message == "Ask the user.")
        // A child's save has handed the object to its parent.
        #expect(new.isInserted != setting.isChild)
        context.setMergePolicies(.custom(over: .mergeByPropertyObjectTrump) { _ in [:] })
        try context.saveToStore()
        #expect(try stack.newContext().fetch(FetchRequest<Member>()).map { [$0.objectID == stored, $0.name == "new"] } == [[true, true]])
    }

    @Test("MRG-9: of two new objects a custom policy makes one", arguments: Setting.contested + Setting.shared)
    func customPolicyOverNewObjects(setting: Setting) throws {
        let (stack, context, _, new) = try conflict(setting, isHere: false)
        let other = Member(context: context)
        (new.mail, other.mail, other.name) = ("x@y", "x@y", "other")
        context.setMergePolicies(.custom(over: .error) { _ in [:] } constraints: { conflict in
            .merged(["visits": conflict.storedID == nil && conflict.objectIDs.count == 2 ? 9 : 0])
        })
        try context.saveToStore()
        let found = try stack.newContext().fetch(FetchRequest<Member>().where("mail == 'x@y'"))
        #expect(found.map(\.visits) == [9] && found[0].name == "new")
    }

    @Test("MRG-7: a thrown error has the old value, the new value and the stored value", arguments: Setting.contested + Setting.shared)
    func errorsHaveTheConflict(setting: Setting) throws {
        let (stack, context, stored, new) = try conflict(setting, isHere: false)
        let unique = try #require(hornbeamError { try context.saveToStore() })
        #expect(unique.constraintConflicts.map(\.storedID) == [stored] && unique.constraintConflicts[0].theirs?["name"] == "stored")
        #expect(unique.constraintConflicts[0].objectIDs == [new.objectID] && unique.mergeConflicts.isEmpty)
        #expect(unique.message.contains("mergePolicy") && !unique.message.contains("refresh"))
        context.rollback()
        context.parent?.rollback()
        let mine = try context.existingObject(Member.self, with: stored)
        mine.name = "mine"
        let other = stack.newOtherContext()
        try other.existingObject(Member.self, with: stored).name = "theirs"
        try other.save()
        let merge = try #require(hornbeamError { try context.saveToStore() })
        let conflict = try #require(merge.mergeConflicts.first)
        #expect(conflict.properties.map { [$0.base, $0.mine, $0.theirs] } == [["stored", "mine", "theirs"]])
        #expect(merge.message.contains("mergePolicy") && merge.message.contains("refresh"))
    }

    @Test("MRG-7: the error of a stored object that is changed to a taken value, and of a batch, advises nothing that does not help",
          arguments: Setting.contested + Setting.shared)
    func adviceHelps(setting: Setting) throws {
        let (stack, context, _, new) = try conflict(setting, isHere: false)
        new.mail = "c@d"
        try context.saveToStore()
        new.mail = "a@b"
        context.setMergePolicies(.mergeByPropertyObjectTrump)
        let error = try #require(hornbeamError { try context.saveToStore() })
        #expect(error.code == .constraintConflict && !error.message.contains("olicy"))
        var isDone = false
        let insert = BatchInsertRequest(Member.self) { row in
            if isDone { return true }
            isDone = true
            row.set(Member.mail, "a@b")
            return false
        }
        let batch = try #require(hornbeamError { try stack.newContext().execute(insert) })
        #expect(batch.message.contains("onConflict") && !batch.message.contains("olicy"))
    }

    @Test("MRG-12, MRG-7: a child's error has the conflict with its parent", arguments: StoreKind.allCases)
    func childErrorsHaveTheConflict(kind: StoreKind) throws {
        let (_, context, stored, _) = try conflict(Setting(kind: kind), isHere: true)
        let child = context.newChildContext()
        try child.existingObject(Member.self, with: stored).name = "child"
        try context.existingObject(Member.self, with: stored).name = "parent"
        let error = try #require(hornbeamError { try child.save() })
        #expect(error.mergeConflicts.first?.properties.map { [$0.base, $0.mine, $0.theirs] } == [["stored", "child", "parent"]])
    }
}

/// An account with two unique attributes.
final class Account: ManagedObject {
    static let mail = Attribute<String?>("mail", unique: true)
    static let uid = Attribute<String?>("uid", unique: true)
    static let name = Attribute<String?>("name")
    override class var tokens: [any PropertyToken] { [mail, uid, name] }
    var mail: String? { get { self[Self.mail] } set { self[Self.mail] = newValue } }
    var uid: String? { get { self[Self.uid] } set { self[Self.uid] = newValue } }
    var name: String? { get { self[Self.name] } set { self[Self.name] = newValue } }
}

/// Conflicts of one save that name the same objects.
@Suite struct OverlappingConflictTests {
    private func stack(_ kind: StoreKind) throws -> Stack {
        let model = try ManagedObjectModel { Entity("Account") { Account.mail; Account.uid; Account.name } }
        return try Stack(kind, model, [Account.self])
    }

    @Test("MRG-9: two new objects that agree in two unique values become one", arguments: Setting.contexts)
    func twoConflictsOfTheSameObjectsKeepOne(setting: Setting) throws {
        for policy in [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback] {
            let stack = try stack(setting.kind)
            let context = setting.context(of: stack)
            context.setMergePolicies(policy)
            for name in ["a", "b"] {
                let account = Account(context: context)
                (account.mail, account.uid, account.name) = ("x", "1", name)
            }
            try context.saveToStore()
            let stored = try stack.newContext().fetch(FetchRequest<Account>())
            #expect(stored.map { [$0.mail, $0.uid] } == [["x", "1"]])
            #expect(!context.hasChanges)
        }
    }

    @Test("MRG-9: a chain of objects that agree in one value each becomes one", arguments: Setting.contexts)
    func aChainOfConflictsKeepsOne(setting: Setting) throws {
        let stack = try stack(setting.kind)
        let context = setting.context(of: stack)
        context.setMergePolicies(.mergeByPropertyObjectTrump)
        for (mail, uid) in [("x", "1"), ("x", "2"), ("y", "2")] {
            let account = Account(context: context)
            (account.mail, account.uid) = (mail, uid)
        }
        try context.saveToStore()
        let stored = try stack.newContext().fetch(FetchRequest<Account>())
        #expect(!stored.isEmpty && Set(stored.map(\.uid)).count == stored.count && Set(stored.map(\.mail)).count == stored.count)
        #expect(stored.contains { $0.uid == "2" && $0.mail == "y" })
    }
}

/// A device whose initial token is different for each object.
final class Device: ManagedObject {
    static let serial = Attribute<String?>("serial", unique: true)
    static let token = Attribute<String?>("token")
    override class var tokens: [any PropertyToken] { [serial, token] }
    override func assignInitialValues() {
        super.assignInitialValues()
        self[Self.token] = "initial"
    }
}

extension OverlappingConflictTests {
    @Test("MRG-8: an upserted object does not bring the initial values of its class", arguments: Setting.contexts)
    func initialValuesAreNotBrought(setting: Setting) throws {
        let model = try ManagedObjectModel { Entity("Device") { Device.serial; Device.token } }
        let stack = try Stack(setting.kind, model, [Device.self])
        let context = setting.context(of: stack)
        let mine = try context.upsert(Device.self, where: Device.serial, is: "s")
        #expect(mine.changedValues == ["serial": "s"])
        let other = stack.newOtherContext()
        let theirs = Device(context: other)
        theirs[Device.serial] = "s"
        theirs[Device.token] = "stored"
        try other.save()
        try context.saveToStore()
        #expect(try stack.newContext().fetch(FetchRequest<Device>()).map { $0[Device.token] } == ["stored"])
    }
}

extension OverlappingConflictTests {
    @Test("MRG-9, ATT-11: two new objects with one derived unique value become one", arguments: Setting.contexts.filter { $0.kind != .onServer })
    func derivedValuesOfNewObjects(setting: Setting) throws {
        let model = try ManagedObjectModel {
            Entity("Word") {
                Attribute<String?>("text")
                Attribute<String?>("folded", derivation: "canonical:(text)")
                Unique("folded")
            }
        }
        let stack = try Stack(setting.kind, model)
        let context = setting.context(of: stack)
        context.setMergePolicies(.mergeByPropertyObjectTrump)
        for text in ["Ada", "ADA"] { try context.insert(entityNamed: "Word").setValue(.string(text), forKey: "text") }
        try context.saveToStore()
        let words = try stack.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Word"))
        #expect(try words.map { try $0.value(forKey: "text") } == ["ADA"])
        #expect(!context.hasChanges)
    }
}
