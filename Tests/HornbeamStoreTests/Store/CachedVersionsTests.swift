import Testing

@testable import HornbeamStore

@Suite struct CachedVersionsTests {
    @Test(arguments: 0 ..< 4 as Range<UInt64>)
    func versionsAreThoseOfADictionary(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var versions = CachedVersions()
        var expected: [UInt64: (version: UInt64, lacksEntries: Bool)] = [:]
        // Neighbouring keys, and keys far from all others.
        let keys = (1 ... 200).map { UInt64($0) } + (0 ..< 50).map { _ in UInt64.random(in: 1 ..< 1 << 48, using: &random) }
        for step in 0 ..< 20_000 {
            let key = keys[Int.random(in: 0 ..< keys.count, using: &random)]
            switch Int.random(in: 0 ..< 5, using: &random) {
            case 0, 1:
                let choices: [UInt64] = [0, 1, UInt64(step), 1 << 62 - 1]
                let version = choices[Int.random(in: 0 ..< 4, using: &random)]
                let lacksEntries = Bool.random(using: &random)
                versions.set(key, version, lacksEntries: lacksEntries)
                expected[key] = (version, lacksEntries)
            case 2:
                versions.update(key) { $0 / 2 + 3 }
                if let old = expected[key] { expected[key] = (old.version / 2 + 3, old.lacksEntries) }
            default:
                versions.remove(key)
                expected[key] = nil
            }
            #expect(versions[key] == expected[key]?.version && versions.lacksEntries(key) == expected[key]?.lacksEntries ?? false, "seed \(seed)")
        }
        for key in keys { #expect(versions[key] == expected[key]?.version, "seed \(seed)") }
    }
}
