/// Finds the intended word for a misspelt one.
enum Spelling {
    /// The candidate with the smallest edit distance to `word`; nil when none is similar.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        let allowed = max(1, (word.count + 1) / 3)
        return candidates
            .map { (candidate: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= allowed }
            .min { $0.distance < $1.distance }?
            .candidate
    }

    /// The edit distance of two words: insertions, deletions and substitutions.
    static func distance(_ a: String, _ b: String) -> Int {
        let b = Array(b)
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in b.enumerated() {
                let substituted = diagonal + (x == y ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, diagonal + 1)
            }
        }
        return row[b.count]
    }
}
