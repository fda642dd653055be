import HornbeamModel
import Testing

/// The shared cases of order, limit and offset, evaluated in memory.
@Suite(.enabled(if: CaseFile.areAvailable))
struct SortCaseTests {
    @Test("FET-3: sorting in memory gives the expected orders")
    func sortingGivesTheStatedOrders() throws {
        let failures = try CaseFile("sort_and_page.jsonl").run { entry in
            let fixture = try Fixture(entry["objects"]?["fixture"]?.text ?? "")
            let entity = try fixture.model.entity(named: entry["objects"]?["entity"]?.text ?? "")
            let criteria = (entry["sort"]?.list ?? []).map {
                FetchSort($0["key"]?.text ?? "", ascending: $0["ascending"]?.flag ?? true)
            }
            for criterion in criteria { try criterion.validated(for: entity) }
            var objects = fixture.objects.filter { $0.entity == entity }
            if entry["format"]?.text != nil { objects = try objects.filtered(by: entry.predicate(fixture.identity)) }
            objects = try objects.sorted(by: criteria)
            objects = Array(objects.dropFirst(Int(entry["fetchOffset"]?.number ?? 0)))
            if let limit = entry["fetchLimit"]?.number { objects = Array(objects.prefix(Int(limit))) }
            if let columns = entry["expect"]?["values"]?.object {
                for (key, values) in columns where objects.map({ $0.values[key] ?? .null }) != values.list?.map({ $0.propertyValue() }) {
                    return "\(key) is \(objects.map { $0.values[key] ?? .null })"
                }
                return nil
            }
            let wanted = entry["expect"]?.list?.compactMap(\.text)
            return wanted == objects.map(\.id) ? nil : "\(objects.map(\.id)), not \(wanted ?? [])"
        }
        #expect(failures == [])
    }
}
