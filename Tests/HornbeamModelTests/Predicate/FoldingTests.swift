import Foundation
import HornbeamModel
import Testing

/// The frozen folding tables.
struct FoldingTests {
    private func fold(_ text: String, _ options: FetchPredicate.Options) -> String {
        String(decoding: Folding.fold(text, options), as: UTF8.self)
    }

    @Test(arguments: [
        ("Straße", "strasse"), ("İ", "i\u{307}"), ("ΣΑΣ", "σασ"), ("ς", "σ"), ("Ж", "ж"), ("ŉ", "ʼn"),
        ("Ǆ", "ǆ"), ("ﬃ", "ffi"), ("Ａ", "ａ"), ("𐐀", "𐐨"), ("K", "k"),
        ("日本", "日本"), ("I", "i"),
    ])
    func caseFolds(text: String, folded: String) {
        #expect(Array(fold(text, .caseInsensitive).utf8) == Array(folded.utf8))
    }

    @Test(arguments: [
        ("Crème Brûlée", "Creme Brulee"), ("Ångström", "Angstrom"), ("Việt Nam", "Viet Nam"), ("ё", "е"), ("ά", "α"), ("e\u{301}", "e"), ("が", "が"), ("ø", "ø"),
        ("שׁ", "ש"), ("한글", "한글"), ("≠", "≠"),
    ])
    func marksComeOff(text: String, stripped: String) {
        #expect(Array(fold(text, .diacriticInsensitive).utf8) == Array(stripped.utf8))
    }

    @Test func bothFoldTogether() {
        #expect(fold("ÉCOLE İ ẞ ΆΣ", [.caseInsensitive, .diacriticInsensitive]) == "ecole i ss ασ")
        #expect(fold("ÉCOLE", [.caseInsensitive, .diacriticInsensitive, .normalized]) == "ÉCOLE")
    }

    @Test func foldingTwiceChangesNothingMore() {
        for value in UInt32(0)...0x1FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = String(Character(scalar))
            for options in [FetchPredicate.Options.caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]] {
                let once = Folding.fold(text, options)
                let twice = Folding.fold(
                    once, caseInsensitive: options.contains(.caseInsensitive),
                    diacriticInsensitive: options.contains(.diacriticInsensitive))
                if once != twice { Issue.record("U+\(String(value, radix: 16)) folds to \(once), then to \(twice)") }
            }
        }
    }

    /// Letters whose capital the standard library maps to one small letter fold to the same text.
    @Test func capitalsFoldAsTheirSmallLetters() {
        for value in UInt32(0)...0x1FFFF {
            guard let scalar = Unicode.Scalar(value), scalar.properties.age.map({ $0.major <= 13 }) ?? false else { continue }
            let small = scalar.properties.lowercaseMapping
            guard small.unicodeScalars.count == 1, small != String(scalar), value != 0x130 else { continue }
            let (a, b) = (Folding.fold(String(scalar), .caseInsensitive), Folding.fold(small, .caseInsensitive))
            if a != b { Issue.record("U+\(String(value, radix: 16))") }
        }
    }

    @Test func bytesThatAreNoUTF8StayAsTheyAre() {
        for bytes: [UInt8] in [[0xFF], [0xC3], [0x41, 0xE2, 0x82], [0xF0, 0x9F, 0x41], [0x80, 0xC3, 0x89]] {
            let folded = Folding.fold(bytes, caseInsensitive: true, diacriticInsensitive: true)
            #expect(folded.count <= bytes.count + 2)
        }
        #expect(Folding.fold([0xFF, 0x41], caseInsensitive: true, diacriticInsensitive: false) == [0xFF, 0x61])
    }

    @Test func localizedStandardOrdersNamesAndNumbersAsPeopleDo() {
        let sorted = ["", "9", "10", "100", "a", "A", "á", "a1", "a02", "a2", "a10", "ab", "B", "item 2", "Item 10"]
        for (place, text) in sorted.enumerated().dropFirst() {
            let before = sorted[place - 1]
            let isLess = Folding.localizedStandardKey(before.utf8).lexicographicallyPrecedes(Folding.localizedStandardKey(text.utf8))
            let isSameLetter = Folding.fold(before, [.caseInsensitive, .diacriticInsensitive]) == Folding.fold(text, [.caseInsensitive, .diacriticInsensitive])
            #expect(isLess || isSameLetter, "\(before) before \(text)")
        }
    }

    @Test func longNumbersAreOrderedByTheirValue() {
        // More digits make a larger number, whatever the digits are.
        let numbers = [1, 252, 253, 254, 255, 506, 507, 600].flatMap { count in
            ["1", "9"].map { String(repeating: $0, count: count) }
        }
        for (place, number) in numbers.enumerated().dropFirst() {
            #expect(Folding.localizedStandardOrder(numbers[place - 1], number) == .less, "\(numbers[place - 1]) before \(number)")
            #expect(Folding.localizedStandardOrder("v00\(number).2", "v\(numbers[place - 1]).10") == .greater)
        }
    }
}
