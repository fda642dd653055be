// The images of a crash point that are tried: all subsets of its unsynced pieces if they are few; otherwise none, all, each prefix, each
// single piece lost or kept, and each file alone; then torn pieces and random mixtures.

/// One choice of fates, with a name that reproduces it.
struct CrashChoice: Hashable {
    var name: String
    var fates: [CrashModel.Fate]
}

extension CrashModel {
    /// The choices to try at this crash point. Equal ones are made once.
    func choices(subsetsUpTo bound: Int, random: Int, seed: UInt64) -> [CrashChoice] {
        let count = pieces.count
        guard count > 0 else { return [CrashChoice(name: "synced", fates: [])] }
        var choices = count <= bound ? subsets(count) : named(count)
        choices += torn(count)
        for index in 0..<random {
            choices.append(mixture(count, seed: seed &+ UInt64(index), name: "random \(index)"))
        }
        var seen: Set<[Fate]> = []
        return choices.filter { seen.insert($0.fates).inserted }
    }

    private func subsets(_ count: Int) -> [CrashChoice] {
        (0..<1 << count).map { mask in
            CrashChoice(name: "subset \(mask)", fates: (0..<count).map { mask >> $0 & 1 == 1 ? .kept : .dropped })
        }
    }

    private func named(_ count: Int) -> [CrashChoice] {
        func choice(_ name: String, _ isKept: (Int) -> Bool) -> CrashChoice {
            CrashChoice(name: name, fates: (0..<count).map { isKept($0) ? .kept : .dropped })
        }
        var choices = [choice("none") { _ in false }, choice("all") { _ in true }]
        for index in 0..<count {
            choices.append(choice("first \(index)") { $0 < index })
            choices.append(choice("all but \(index)") { $0 != index })
            choices.append(choice("only \(index)") { $0 == index })
        }
        for node in Set(pieces.compactMap(\.node)).sorted() {
            choices.append(choice("only file \(node)") { pieces[$0].node == node })
            choices.append(choice("no file \(node)") { pieces[$0].node != node })
        }
        return choices + journalled(count)
    }

    /// A folder that keeps its entries in order, as journalling file systems do: the first entries, with all data and with none.
    private func journalled(_ count: Int) -> [CrashChoice] {
        let entries = pieces.indices.filter { pieces[$0].node == nil }
        return entries.indices.flatMap { last in
            [Fate.kept, .dropped].map { data in
                CrashChoice(
                    name: "entries to \(last), data \(data)",
                    fates: (0..<count).map { pieces[$0].node == nil ? $0 < entries[last] ? .kept : .dropped : data })
            }
        }
    }

    /// Damages each piece, once as the last operation and once with all others intact.
    private func torn(_ count: Int) -> [CrashChoice] {
        var choices: [CrashChoice] = []
        for index in 0..<count where pieces[index].node != nil {
            for fate in [Fate.firstHalf, .secondHalf, .zeros, .garbage(UInt64(index))] {
                var last = (0..<count).map { $0 < index ? Fate.kept : .dropped }
                last[index] = fate
                choices.append(CrashChoice(name: "piece \(index) last, \(fate)", fates: last))
                var among = [Fate](repeating: .kept, count: count)
                among[index] = fate
                choices.append(CrashChoice(name: "piece \(index) of all, \(fate)", fates: among))
            }
        }
        return choices
    }

    private func mixture(_ count: Int, seed: UInt64, name: String) -> CrashChoice {
        var random = SimulationRandom(seed: seed)
        let fates = (0..<count).map { _ -> Fate in
            switch random.next() % 8 {
            case 0, 1, 2: .kept
            case 3, 4: .dropped
            case 5: .firstHalf
            case 6: random.next() % 2 == 0 ? .secondHalf : .zeros
            default: .garbage(random.next())
            }
        }
        return CrashChoice(name: name, fates: fates)
    }
}
