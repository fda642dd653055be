import Foundation
import Hornbeam

/// Row 15: the growth of a store whose rows are overwritten repeatedly.
struct OverwriteSuite {
    let options: Options
    let folder: Folder

    static let rows = [
        Row(id: "15", title: "largest size while 100 MB are overwritten ten times", unit: "× compact", goal: .atMost(1.7)),
        Row(id: "15m", title: "… in bytes", unit: "MB"),
    ]

    @Entity fileprivate final class Document: ManagedObject {
        var body: Data
    }

    private static let bodyBytes = 1000
    private static let perSave = 5_000
    private var count: Int { options.isSmoke ? 2_000 : 100_000 }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        note("overwriting")
        var random = SplitMix(15)
        let path = try folder.empty("overwrite")
        let model = try ManagedObjectModel(for: Document.self)
        let container = try PersistentContainer.open(model, [Document.self], at: path, poolBytes: 256 << 20)
        _ = try container.performAndWait { context in
            try context.execute(BatchInsertRequest(Document.self, from: 0..<count) { _, row in
                row.set(Document.body, body(&random))
            }).count
        }
        try container.close()
        let compact = Folder.bytes(at: path)
        let again = try PersistentContainer.open(model, [Document.self], at: path, poolBytes: 256 << 20)
        let ids = try again.performAndWait { try $0.fetchIDs(FetchRequest<Document>(entityName: "Document")) }
        var most = 0
        for _ in 0..<10 {
            for start in stride(from: 0, to: ids.count, by: Self.perSave) {
                try again.performAndWait { context in
                    for id in ids[start..<min(start + Self.perSave, ids.count)] {
                        try context.existingObject(Document.self, with: id).body = body(&random)
                    }
                    try context.save()
                }
                most = max(most, Folder.bytes(at: path))
            }
        }
        try again.close()
        results.add("15", .hornbeam, Double(most) / Double(compact))
        results.add("15m", .hornbeam, Double(most) / 1e6)
        _ = try folder.empty("overwrite")
    }

    /// Random bytes, which do not compress.
    private func body(_ random: inout SplitMix) -> Data {
        var data = Data(count: Self.bodyBytes)
        data.withUnsafeMutableBytes { bytes in
            for place in 0..<(Self.bodyBytes / 8) { bytes.storeBytes(of: random.next(), toByteOffset: place * 8, as: UInt64.self) }
        }
        return data
    }
}
