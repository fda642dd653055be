import Foundation
import Hornbeam

/// The content that the durability trial writes. The child writes it, and the parent computes the expected content.
///
/// Save n writes n into four packages, which n alone determines. It also inserts a `TrialSave` with number n, and deletes the one with
/// n - 100. Therefore the number of complete saves determines the content of the store.
enum DurabilityTrial {
    /// The number of `TrialSave` objects that remain.
    static let remainingSaves = 100
    /// The maximum number of packages that the saves change.
    static let packagesMax = 1000

    /// The indexes of the packages that a save changes, among `count` packages.
    static func stamped(by serial: Int, of count: Int) -> [Int] {
        guard count > 0 else { return [] }
        var state = UInt64(serial) &* 0x9E37_79B9_7F4A_7C15 | 1
        return (0..<4).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(count))
        }
    }

    /// The number of the last save that changed each of `count` packages, after the saves 1 … `serial`.
    static func stamps(after serial: Int, of count: Int) -> [Int] {
        var stamps = [Int](repeating: 0, count: count)
        guard serial > 0 else { return stamps }
        for save in 1...serial {
            for place in stamped(by: save, of: count) { stamps[place] = save }
        }
        return stamps
    }

    /// The packages that the saves can change, in an order that is the same in every process.
    static func participants(in context: ManagedObjectContext) throws -> [ManagedObjectID] {
        try context.fetchIDs(
            FetchRequest<Package>(sortedBy: [.ascending("name"), .ascending("version"), .ascending("architecture")]).limit(packagesMax))
    }

    /// The number of the newest save; 0 when there is none.
    static func newestSave(in context: ManagedObjectContext) throws -> Int {
        try context.fetch(FetchRequest<TrialSave>(sortedBy: [.descending("serial")]).limit(1)).first?.serial ?? 0
    }

    /// Makes and saves one change; durable on return.
    static func save(_ serial: Int, to packages: [ManagedObjectID], in context: ManagedObjectContext) throws {
        for place in stamped(by: serial, of: packages.count) {
            context.object(Package.self, with: packages[place]).trialSerial = serial
        }
        TrialSave(context: context).serial = serial
        if serial > remainingSaves {
            let request = try FetchRequest<TrialSave>().where("serial == %d", serial - remainingSaves)
            for old in try context.fetch(request) { context.delete(old) }
        }
        try context.save()
    }
}

extension DurabilityTrial {
    /// The fault of a store whose last acknowledged save is `acknowledged`; nil if it has none.
    static func fault(in context: ManagedObjectContext, acknowledged: Int) throws -> String? {
        let newest = try newestSave(in: context)
        // One save may be durable without a report, because the process was killed before it; two may not.
        guard newest >= acknowledged else {
            return "save \(acknowledged) was acknowledged and the store ends with save \(newest)"
        }
        guard newest <= acknowledged + 1 else {
            return "save \(newest) is in the store and the last acknowledged one is \(acknowledged)"
        }
        return try faultInStamps(in: context, after: newest) ?? faultInSaves(in: context, newest: newest)
    }

    private static func faultInStamps(in context: ManagedObjectContext, after newest: Int) throws -> String? {
        let packages = try participants(in: context)
        let expected = stamps(after: newest, of: packages.count)
        for (id, stamp) in zip(packages, expected) {
            let found = context.object(Package.self, with: id).trialSerial
            if found != stamp { return "a package was last changed by save \(found), and save \(stamp) was expected" }
        }
        return nil
    }

    private static func faultInSaves(in context: ManagedObjectContext, newest: Int) throws -> String? {
        let serials = try context.fetch(FetchRequest<TrialSave>()).map(\.serial).sorted()
        let expected = Array((max(0, newest - remainingSaves) + 1)..<(newest + 1))
        return serials == expected ? nil : "\(serials.count) saves are listed where \(expected.count) should be"
    }
}
