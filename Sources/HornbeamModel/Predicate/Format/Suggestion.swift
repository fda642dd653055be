/// Finds the word that somebody probably meant.
package enum Suggestion {
    /// “; did you mean x?” for the nearest candidate, or nothing when none is near.
    package static func clause(_ word: String, among candidates: some Sequence<String>, prefix: String = "") -> String {
        nearest(word, among: candidates).map { "; did you mean \(prefix)\($0)?" } ?? ""
    }

    /// The candidate with the fewest differing letters, at most one in three (and case is free).
    package static func nearest(_ word: String, among candidates: some Sequence<String>) -> String? {
        let wanted = Array(word.lowercased().unicodeScalars.prefix(100))
        let most = max(1, wanted.count / 3)
        var best: (word: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(wanted, Array(candidate.lowercased().unicodeScalars.prefix(100)))
            if distance <= most, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.word
    }

    /// Letters to insert, delete, replace or swap with a neighbour.
    private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            row.reserveCapacity(b.count + 1)
            for j in b.indices {
                var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforeLast[j - 1] + 1) }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
