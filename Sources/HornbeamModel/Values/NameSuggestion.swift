/// The hint “ (did you mean “x”?)” for an unknown name; empty when no known name is similar.
package func suggestion(for name: String, among known: some Sequence<String>) -> String {
    guard let near = nearestName(to: name, among: known) else { return "" }
    return " (did you mean “\(near)”?)"
}

/// The known name with the fewest edits to `name`, ignoring case, if they are at most a third of its length.
///
/// Names longer than 64 characters get no suggestion, which limits the cost of untrusted input.
package func nearestName(to name: String, among known: some Sequence<String>) -> String? {
    let wanted = Array(name.lowercased().unicodeScalars)
    guard !wanted.isEmpty, wanted.count <= 64 else { return nil }
    var best: (name: String, distance: Int)?
    for candidate in known where candidate != name {
        guard candidate.utf8.count <= 256 else { continue }
        let letters = Array(candidate.lowercased().unicodeScalars)
        guard letters.count <= 64 else { continue }
        let limit = max(1, max(wanted.count, letters.count) / 3)
        guard abs(wanted.count - letters.count) <= limit else { continue }
        let distance = editDistance(wanted, letters)
        guard distance <= limit else { continue }
        if let known = best, (known.distance, known.name) <= (distance, candidate) { continue }
        best = (candidate, distance)
    }
    return best?.name
}

/// The edit distance (insert, remove, replace, swap of neighbours) between two texts.
private func editDistance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
        var row = [i + 1]
        for j in b.indices {
            let replaced = last[j] + (a[i] == b[j] ? 0 : 1)
            var best = min(replaced, last[j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                best = min(best, beforeLast[j - 1] + 1)
            }
            row.append(best)
        }
        beforeLast = last
        last = row
    }
    return last[b.count]
}
