// The crash images that are tested at a crash point. If there are few unsynced pieces, all subsets of them survive in turn. Otherwise none
// or all survive, each prefix, all but one, only one, and those of one file or of all other files. In addition: torn pieces and random
// mixtures.

/// A fate for each unsynced piece, with a name that reproduces the choice.
struct CrashChoice: Hashable {
    var name: String
    var fates: [CrashModel.Fate]
}

extension CrashModel {
    /// The choices to test at this crash point, without duplicates.
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

    /// The images of a journalling file system, which writes changes of folders in their order: the first changes survive, with all data or
    /// with no data.
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

    /// Images with one damaged piece: once with only the pieces before it, and once with all others.
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
