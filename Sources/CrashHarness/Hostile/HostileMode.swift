import HornbeamEngine
import HornbeamSimulation

/// Sets numbers in each kind of block to extreme values, alone and in pairs, with corrected checksums.
enum HostileMode: Mode {
    static let name = "hostile"
    static let summary = "numbers in blocks set to extreme values, alone and in pairs, with corrected checksums"
    static let unit = "hostile blocks"

    private static let perKind = 40

    static func round(_ seed: UInt64, _ run: Run) throws {
        var random = SimulationRandom(seed: seed)
        for kind in HostileField.Kind.allCases {
            for store in [HostileStore.closed, HostileStore.unclosed] {
                let fields = HostileField.fields(of: kind, in: store.image)
                guard !fields.isEmpty else { continue }
                for number in 0..<perKind {
                    let edits = edits(fields, count: number % 2 + 1, &random)
                    let opening = HostileStore.Opening.allCases.randomElement(using: &random)!
                    let title = "\(kind.rawValue) \(number): \(edits.map(\.name).joined(separator: " and ")) (\(opening))"
                    guard run.includes(title) else { continue }
                    try run.beginCase(title)
                    run.add("\(number % 2 == 0 ? "alone" : "in pairs") in \(kind.rawValue)")
                    try HostileStore.use(store.image.files(edits.map(\.edit)), opening)
                }
            }
        }
    }

    private static func edits(
        _ fields: [HostileField], count: Int, _ random: inout SimulationRandom
    ) -> [(name: String, edit: StoreImage.Edit)] {
        (0..<count).map { _ in
            let field = fields.randomElement(using: &random)!
            let value = field.extremes.randomElement(using: &random)!
            return ("\(field.name) at \(field.offset) = \(value)", field.edit(value))
        }
    }
}
