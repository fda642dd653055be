/// Finds what a mistyped word was meant to be.
enum Spelling {
    /// The candidate that differs least from `word`; nil when none is close enough to be a slip.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        let allowed = max(1, (word.count + 1) / 3)
        return candidates
            .map { (candidate: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= allowed }
            .min { $0.distance < $1.distance }?
            .candidate
    }

    /// The number of insertions, deletions and substitutions between two words.
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
