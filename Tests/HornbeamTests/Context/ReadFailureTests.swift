import Foundation
import Hornbeam
import Testing

final class Paper: ManagedObject {
    static let title = Attribute<String>("title", default: "")
    static let scan = Attribute<Data?>("scan")
    override class var tokens: [any PropertyToken] { [title, scan] }
    var title: String { get { self[Self.title] } set { self[Self.title] = newValue } }
    var scan: Data? { get { self[Self.scan] } set { self[Self.scan] = newValue } }
}

/// The behaviour of a context after a getter could not read a value.
///
/// Found with a program that summed values: the getter returned zero, the sum was saved, and no error was reported.
@Suite struct ReadFailureTests {
    /// A store with two papers; the scan of the first is damaged.
    private static func damaged() throws -> PersistentContainer {
        let model = try ManagedObjectModel { Entity("Paper") { Paper.title; Paper.scan } }
        let stack = try Stack(.onDisk, model, [Paper.self])
        let context = stack.newContext()
        var generator = SystemRandomNumberGenerator()
        for title in ["bad", "good"] {
            let paper = Paper(context: context)
            paper.title = title
            paper.scan = Data((0..<40_000).map { _ in UInt8.random(in: 0...255, using: &generator) })
            try context.save()
        }
        let scan = try #require(context.fetch(FetchRequest<Paper>().where("title == 'bad'")).first?.scan)
        try stack.container.close()
        try damage(scan, in: stack.url)
        return try stack.reopened()
    }

    /// Changes a byte in the middle of some data, in any file of the store.
    private static func damage(_ data: Data, in folder: URL) throws {
        let needle = data[20_000..<20_064]
        for url in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            guard var bytes = try? Data(contentsOf: url), let place = bytes.firstRange(of: needle) else { continue }
            bytes[place.lowerBound] ^= 0xFF
            try bytes.write(to: url)
            return
        }
        Issue.record("The data does not lie in the store's files.")
    }

    private static func bad(_ context: ManagedObjectContext) throws -> Paper {
        try #require(context.fetch(FetchRequest<Paper>().where("title == 'bad'")).first)
    }

    @Test("MOC-24: the next fetches, counts and saves throw the read failure of a getter until it is acknowledged",
          arguments: [false, true])
    func damageIsReported(isChild: Bool) throws {
        let root = try Self.damaged().newContext()
        let context = isChild ? root.newChildContext() : root
        // The failed object is released: the context keeps the failure.
        func sum() throws -> Int { try Self.bad(context).scan?.count ?? 0 }
        let computed = Paper(context: context)
        computed.title = "\(try sum()) bytes"
        #expect(computed.title == "0 bytes" && context.readFailures.count == 1)
        #expect(context.readFailures.first?.entity == "Paper" && context.readFailures.first?.objectIDs.count == 1)
        for call in [
            { try context.save() }, { _ = try context.fetch(FetchRequest<Paper>()) }, { _ = try context.count(FetchRequest<Paper>()) },
            { _ = try context.fetchIDs(FetchRequest<Paper>()) }, { _ = try context.first(Paper.self, where: Paper.title, equals: "x") },
        ] {
            let error = hornbeamError { try call() }
            #expect(error?.code == .damaged && error?.message.contains("acknowledgeReadFailures()") == true)
            #expect(error?.details == context.readFailures)
        }
        #expect(context.acknowledgeReadFailures().count == 1 && context.readFailures.isEmpty)
        try context.saveToStore()
        #expect(try context.count(FetchRequest<Paper>()) == 3)
    }

    @Test("MOC-12: a throwing read throws its failure at once, and the context does not report it again")
    func throwingReads() throws {
        let context = try Self.damaged().newContext()
        let bad = try Self.bad(context)
        try bad.fire()
        #expect(try bad.value(of: Paper.title) == "bad")
        #expect(hornbeamError { _ = try bad.value(of: Paper.scan) }?.code == .damaged)
        #expect(hornbeamError { _ = try bad.value(of: Paper.scan) }?.code == .damaged)
        #expect(hornbeamError { _ = try bad.value(forKey: "scan") }?.code == .damaged)
        #expect(context.readFailures.isEmpty)
        let good = try #require(try context.fetch(FetchRequest<Paper>().where("title == 'good'")).first)
        #expect(try good.value(of: Paper.scan)?.count == 40_000)
        good.title = "better"
        try context.save()
    }

    @Test("MOC-24: changes of an object that could not be read are never saved; a refresh reads it again")
    func failedObjectsAreNotSaved() throws {
        let context = try Self.damaged().newContext()
        let bad = try Self.bad(context)
        #expect(bad.scan == nil && bad.isFailed)
        context.acknowledgeReadFailures()
        bad.title = "changed"
        #expect(hornbeamError { try context.save() }?.code == .damaged)
        context.rollback()
        try context.refresh(bad, mergeChanges: false)
        #expect(!bad.isFailed && bad.title == "bad")
        bad.title = "changed"
        #expect(context.hasChanges && context.readFailures.isEmpty)
        context.rollback()
        Paper(context: context).title = "new"
        try context.save()
        #expect(try context.count(FetchRequest<Paper>().where("title == 'new'")) == 1)
    }

    @Test("MOC-21, MOC-22: rollback keeps the report, because the shown value was wrong; reset removes it")
    func rollbackKeepsTheReport() throws {
        let context = try Self.damaged().newContext()
        _ = try Self.bad(context).scan
        context.rollback()
        #expect(hornbeamError { _ = try context.fetch(FetchRequest<Paper>()) }?.code == .damaged)
        context.reset()
        #expect(try context.fetch(FetchRequest<Paper>()).count == 2)
    }

    @Test("NOT-10: results that cannot be found by a predicate in memory are an error")
    func predicatesInMemoryMeetDamage() throws {
        let context = try Self.damaged().newContext()
        try Self.bad(context).title = "changed"
        #expect(hornbeamError { _ = try context.fetch(FetchRequest<Paper>().where("title == 'changed' AND scan != nil")) }?.code == .damaged)
    }
}
