import Foundation
import Hornbeam
import Testing

/// A post that several people like, rate and tag concurrently.
final class Post: ManagedObject {
    static let mail = Attribute<String?>("slug", unique: true)
    static let title = Attribute<String?>("title")
    static let likes = Attribute<Int>("likes", default: 0, merge: .sum)
    static let best = Attribute<Int?>("best", merge: .maximum)
    static let first = Attribute<Date?>("first", merge: .minimum)
    static let tags = Attribute<Coded<[String]>?>("tags", merge: .union)
    static let mood = Attribute<String?>("mood", merge: .theirs)
    static let note = Attribute<String?>("note", merge: .custom)
    static let answer = ToOne<Post>("answer", inverse: "question", merge: .mine)
    static let question = ToOne<Post>("question", to: "Post", inverse: "answer")

    static let all: [any PropertyToken] = [mail, title, likes, best, first, tags, mood, note, answer, question]
    override class var tokens: [any PropertyToken] { all }

    var title: String? { get { self[Self.title] } set { self[Self.title] = newValue } }
    var likes: Int { get { self[Self.likes] } set { self[Self.likes] = newValue } }
    var tags: [String] { get { self[Self.tags]?.value ?? [] } set { self[Self.tags] = Coded(newValue) } }

    override class func mergedValue(for conflict: PropertyConflict) -> PropertyValue? {
        guard case .string(let mine) = conflict.mine, case .string(let theirs) = conflict.theirs else { return nil }
        return .string("\(theirs) & \(mine)")
    }

    static func stack(_ kind: StoreKind) throws -> Stack {
        try Stack(kind, ManagedObjectModel { Entity("Post") { for token in Post.all { token } } }, [Post.self])
    }
}

@Suite struct MergeReportTests {
    /// Two contexts that have both read one saved post.
    private struct Pair {
        let stack: Stack
        let mine: ManagedObjectContext
        let theirs: ManagedObjectContext
        let a: Post
        let b: Post

        init(_ kind: StoreKind, follows: Bool = true) throws {
            var setting = Setting(kind: kind)
            setting.follows = follows
            try self.init(setting)
        }

        init(_ setting: Setting) throws {
            stack = try Post.stack(setting.kind)
            let writer = stack.newContext()
            let post = Post(context: writer)
            post.title = "title"
            post.likes = 10
            post.tags = ["x"]
            try writer.save()
            mine = setting.context(of: stack)
            theirs = stack.newOtherContext()
            a = try mine.existingObject(Post.self, with: post.objectID)
            b = try theirs.existingObject(Post.self, with: post.objectID)
            _ = (a.title, b.title)
            if setting.isBusy { Post(context: mine).title = "unrelated" }
        }

        /// The merges of all contexts from mine to the store.
        var merged: [MergeReport.Property] { mine.mergeReports.flatMap(\.properties) }

        func stored() throws -> Post { try stack.newContext().existingObject(Post.self, with: a.objectID) }
    }

    @Test("MRG-6: merge rules of the model resolve properties that both sides changed, under every policy and without one",
          arguments: Setting.saved + Setting.shared)
    func mergeRulesResolveConflicts(setting: Setting) throws {
        for policy in [MergePolicy.error, .rollback, .overwrite] {
            let pair = try Pair(setting)
            pair.mine.setMergePolicies(policy)
            func change(_ post: Post, _ who: String, _ number: Int) {
                post.likes += number
                post[Post.best] = number
                post[Post.first] = Date(timeIntervalSinceReferenceDate: Double(number))
                post.tags += [who]
                post[Post.mood] = who
                post[Post.note] = who
            }
            change(pair.a, "me", 1)
            change(pair.b, "you", 2)
            try pair.theirs.save()
            try pair.mine.saveToStore()
            let stored = try pair.stored()
            #expect(stored.likes == 13 && stored[Post.best] == 2 && stored.tags == ["x", "you", "me"])
            #expect(stored[Post.first] == Date(timeIntervalSinceReferenceDate: 1))
            #expect(stored[Post.mood] == "you" && stored[Post.note] == "you & me")
            // A child that does not follow keeps its values.
            #expect(setting.keepsWhatItHas || (pair.a.likes == 13 && pair.a[Post.mood] == "you"))
            #expect(pair.merged.map(\.conflict.key) == ["likes", "best", "first", "tags", "mood", "note"])
            #expect(pair.merged.first?.result == 13 && pair.merged.first?.decision == .rule(.sum))
            #expect(pair.mine.mergeReports.flatMap(\.objects).isEmpty)
        }
    }

    @Test("MRG-6: a context that follows shows the merged counter before it saves", arguments: StoreKind.withOtherProcess)
    func countersMergeInMemory(kind: StoreKind) throws {
        let pair = try Pair(kind)
        pair.a.likes += 1
        for round in 1...3 {
            pair.b.likes += 5
            try pair.theirs.save()
            try pair.mine.mergeChanges()
            #expect(pair.a.likes == 11 + 5 * round && pair.a.hasChanges)
        }
        try pair.mine.save()
        #expect(try pair.stored().likes == 26)
        try pair.mine.save()
        try pair.mine.mergeChanges()
        #expect(pair.a.likes == 26)
    }

    @Test("MRG-6: a rule for a to-one sets both ends", arguments: StoreKind.withOtherProcess)
    func ruleForToOne(kind: StoreKind) throws {
        let pair = try Pair(kind)
        let mine = Post(context: pair.mine)
        let theirs = Post(context: pair.theirs)
        pair.a[Post.answer] = mine
        pair.b[Post.answer] = theirs
        try pair.theirs.save()
        try pair.mine.save()
        #expect(try pair.stored()[Post.answer]?.objectID == mine.objectID)
        #expect(mine[Post.question] === pair.a)
        let report = pair.mine.lastMergeReport.properties
        #expect(report.contains { $0.conflict.key == "answer" && $0.decision == .rule(.mine) })
    }

    @Test("the report names what each policy did with a property that both changed", arguments: Setting.saved + Setting.shared, [
        (MergePolicy.mergeByPropertyStoreTrump, "theirs"), (.mergeByPropertyObjectTrump, "mine"),
        (.overwrite, "mine"), (.rollback, "theirs"),
    ])
    func reportNamesWinner(setting: Setting, expected: (MergePolicy, String)) throws {
        let pair = try Pair(setting)
        pair.mine.setMergePolicies(expected.0)
        pair.a.title = "mine"
        pair.b.title = "theirs"
        try pair.theirs.save()
        try pair.mine.saveToStore()
        #expect(try pair.stored().title == expected.1)
        let merged = try #require(pair.merged.first)
        #expect(pair.merged.count == 1 && merged.conflict.objectID == pair.a.objectID)
        #expect(merged.conflict.key == "title" && merged.conflict.base == "title")
        #expect(merged.conflict.mine == "mine" && merged.conflict.theirs == "theirs")
        #expect(merged.result == .string(expected.1) && merged.decision == .policy(expected.0))
        let description = "Post \(pair.a.objectID).title: \(expected.1), by the policy \(expected.0)"
        #expect(pair.mine.mergeReports.contains { $0.description == description })
        if setting.keepsWhatItHas { return }
        pair.a.title = "later"
        try pair.mine.saveToStore()
        #expect(pair.mine.mergeReports.map(\.description).allSatisfy { $0 == "nothing was merged" })
    }

    @Test("MRG-4: overwriting reports changes of theirs to properties that I did not change", arguments: StoreKind.withOtherProcess)
    func overwriteReportsLosses(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: false)
        pair.mine.mergePolicy = .overwrite
        pair.a[Post.mood] = "mine"
        pair.b.title = "theirs"
        try pair.theirs.save()
        try pair.mine.save()
        #expect(try pair.stored().title == "title")
        let lost = pair.mine.lastMergeReport.properties.first { $0.conflict.key == "title" }
        #expect(lost?.result == "title" && lost?.conflict.theirs == "theirs")
    }

    @Test("changes of different properties are reported as merged without a conflict", arguments: (Setting.saved + Setting.shared).filter(\.follows))
    func cleanMergeIsReported(setting: Setting) throws {
        let pair = try Pair(setting)
        pair.a.title = "mine"
        pair.b[Post.mood] = "theirs"
        try pair.theirs.save()
        try pair.mine.saveToStore()
        #expect(pair.mine.lastMergeReport.rebased == [pair.a.objectID] && pair.merged.isEmpty)
    }

    @Test("MRG-10: the report names deletions against changes", arguments: Setting.saved + Setting.shared, [
        (MergePolicy.mergeByPropertyStoreTrump, MergeReport.Object.Outcome.deletedByThem, MergeReport.Object.Outcome.kept),
        (.mergeByPropertyObjectTrump, .writtenAgain, .deletedDespiteChanges),
        (.overwrite, .writtenAgain, .deletedDespiteChanges), (.rollback, .deletedByThem, .kept),
    ])
    func reportNamesDeletions(
        setting: Setting, expected: (MergePolicy, MergeReport.Object.Outcome, MergeReport.Object.Outcome)
    ) throws {
        for iDelete in [false, true] {
            let pair = try Pair(setting)
            pair.mine.setMergePolicies(expected.0)
            if iDelete {
                pair.mine.delete(pair.a)
                pair.b.title = "theirs"
            } else {
                pair.a.title = "mine"
                pair.theirs.delete(pair.b)
            }
            try pair.theirs.save()
            try pair.mine.saveToStore()
            #expect(pair.mine.mergeReports.flatMap(\.objects).map(\.outcome) == [iDelete ? expected.2 : expected.1])
        }
    }

    @Test("MRG-6: a custom policy chooses values, and another policy decides the rest", arguments: StoreKind.withOtherProcess)
    func customPolicy(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: false)
        pair.mine.mergePolicy = .custom(over: .mergeByPropertyStoreTrump) { conflict in
            guard conflict.properties.map(\.key).contains("title"), let mine = conflict.mine?["title"],
                let theirs = conflict.theirs?["title"], case .string(let a) = mine, case .string(let b) = theirs
            else { return [:] }
            return ["title": .string("\(b), \(a), after \(conflict.base["title"] == "title"), \(conflict.newVersion - conflict.oldVersion)")]
        }
        pair.a.title = "mine"
        pair.a[Post.best] = 1
        pair.b.title = "theirs"
        pair.b[Post.mood] = "good"
        try pair.theirs.save()
        try pair.mine.save()
        let stored = try pair.stored()
        #expect(stored.title == "theirs, mine, after true, 1" && stored[Post.mood] == "good" && stored[Post.best] == 1)
        #expect(pair.mine.lastMergeReport.properties.first?.decision == .policy(pair.mine.mergePolicy))
    }

    @Test("MRG-6: the save throws the error that a custom policy throws, and nothing is lost", arguments: StoreKind.withOtherProcess)
    func customPolicyThrows(kind: StoreKind) throws {
        let pair = try Pair(kind)
        pair.mine.mergePolicy = .custom(over: .error) { _ in throw HornbeamError(.mergeConflict, "Ask the user.") }
        pair.a.title = "mine"
        pair.b.title = "theirs"
        try pair.theirs.save()
        #expect(hornbeamError { try pair.mine.save() }?.message == "Ask the user.")
        #expect(pair.a.title == "mine" && pair.mine.hasChanges)
        pair.mine.mergePolicy = .custom(over: .error) { _ in [:] }
        #expect(hornbeamError { try pair.mine.save() }?.code == .mergeConflict)
        pair.mine.mergePolicy = .custom(over: .error) { ["title": $0.mine?["title"] ?? .null] }
        try pair.mine.save()
        #expect(try pair.stored().title == "mine")
    }

    @Test("NOT-7, NOT-8, MOC-32: a context that does not follow merges a save on request, and saves of contexts that it observes",
          arguments: StoreKind.allCases)
    func mergingOnRequest(kind: StoreKind) throws {
        let pair = try Pair(kind, follows: false)
        pair.a[Post.best] = 3
        pair.b.title = "one"
        let saved = Box<ObjectChanges>()
        let observer = NotificationCenter.default.addObserver(
            forName: ManagedObjectContext.didSaveObjectIDsNotification, object: pair.theirs, queue: nil
        ) { saved.value = $0.objectChanges }
        try pair.theirs.save()
        NotificationCenter.default.removeObserver(observer)
        try pair.mine.fetch(FetchRequest<Post>()).forEach { _ in }
        #expect(pair.a.title == "title")
        try ManagedObjectContext.mergeChanges(from: try #require(saved.value), into: [pair.mine])
        #expect(pair.a.title == "one" && pair.a[Post.best] == 3)
        pair.b.title = "two"
        try pair.theirs.save()
        pair.mine.observeSaves(of: pair.theirs.identity)
        try pair.mine.mergeChanges()
        pair.b.title = "three"
        try pair.theirs.save()
        try pair.mine.mergeChanges()
        #expect(pair.a.title == "three" && pair.a[Post.best] == 3)
        pair.mine.stopObservingSaves(of: pair.theirs.identity)
        pair.b.title = "four"
        try pair.theirs.save()
        try pair.mine.mergeChanges()
        #expect(pair.a.title == "three")
    }

    @Test("MRG-8: an upsert finds the object, or makes one that becomes the stored one at the save", arguments: StoreKind.withOtherProcess)
    func upsert(kind: StoreKind) throws {
        let stack = try Post.stack(kind)
        let (one, two) = (stack.newContext(), stack.newOtherContext())
        let first = try one.upsert(Post.self, where: Post.mail, is: "s")
        #expect(first.isInserted && first[Post.mail] == "s")
        #expect(try one.upsert(Post.self, where: Post.mail, is: "s") === first)
        first.title = "first"
        first.likes = 4
        let second = try two.upsert(Post.self, where: Post.mail, is: "s")
        second[Post.mood] = "second"
        try one.save()
        try two.save()
        #expect(second.objectID == first.objectID)
        let stored = try stack.newContext().fetch(FetchRequest<Post>())
        #expect(stored.count == 1 && stored[0].title == "first" && stored[0].likes == 4 && stored[0][Post.mood] == "second")
        #expect(two.lastMergeReport.objects.map(\.outcome) == [.became(first.objectID)])
        #expect(try two.upsert(entityNamed: "Post", ["slug": "s"]) === second)
        #expect(hornbeamError { _ = try two.upsert(entityNamed: "Post", ["title": "t"]) }?.code == .unsupportedRequest)
    }
}

private final class Box<Value>: @unchecked Sendable {  // written and read on the test's thread
    var value: Value?
}
