import Hornbeam

extension GraphHistory {
    /// Executes one fetch, one count, or one iteration of a relationship.
    func ask(_ context: ManagedObjectContext, _ graph: PlainGraph) throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: try askSet(context, graph)
        case 3..<5: try askCount(context, graph)
        case 5..<8: try askSorted(context, graph)
        case 8: try askPlayer(context, graph)
        default: try askMembers(context, graph)
        }
    }

    private func askSet(_ context: ManagedObjectContext, _ graph: PlainGraph) throws {
        let question = try PlayerPredicate.random(&random)
        let found = try context.fetch(FetchRequest<Player>(predicate: question.predicate)).map(\.number)
        let expected = Set(graph.players.filter { question.matches($0.key, $0.value, graph) }.keys)
        let isRight = found.count == expected.count && Set(found) == expected
        try expect(isRight, "'\(question.predicate)' finds \(found.sorted()), not \(expected.sorted())")
    }

    private func askCount(_ context: ManagedObjectContext, _ graph: PlainGraph) throws {
        let question = try PlayerPredicate.random(&random)
        let count = try context.count(FetchRequest<Player>(predicate: question.predicate))
        let expected = graph.players.filter { question.matches($0.key, $0.value, graph) }.count
        try expect(count == expected, "'\(question.predicate)' counts \(count), not \(expected)")
    }

    /// Fetches players by score, null first, then by number, with a limit and an offset.
    private func askSorted(_ context: ManagedObjectContext, _ graph: PlainGraph) throws {
        let question = try PlayerPredicate.random(&random)
        let isAscending = Bool.random(using: &random)
        let (offset, limit) = (Int.random(in: 0..<10, using: &random), Int.random(in: 1..<20, using: &random))
        let request = FetchRequest<Player>(predicate: question.predicate).sorted(by: "score", ascending: isAscending)
            .sorted(by: "number").offset(offset).limit(limit)
        let found = try context.fetch(request).map(\.number)
        let matching = graph.players.filter { question.matches($0.key, $0.value, graph) }
        let sorted = matching.sorted { first, second in
            let (a, b) = (first.value.score ?? .min, second.value.score ?? .min)
            return a == b ? first.key < second.key : (a < b) == isAscending
        }
        let expected = Array(sorted.map(\.key).dropFirst(offset).prefix(limit))
        try expect(found == expected, "'\(question.predicate)' sorted, from \(offset) on, finds \(found), not \(expected)")
    }

    private func askPlayer(_ context: ManagedObjectContext, _ graph: PlainGraph) throws {
        let number = Int.random(in: 1...lastNumber + 1, using: &random)
        let found = try context.fetch(FetchRequest<Player>().where("number == %d", number)).first
        try expect(found.map(Self.plain) == graph.players[number], "player \(number) differs")
    }

    private func askMembers(_ context: ManagedObjectContext, _ graph: PlainGraph) throws {
        for team in try context.fetch(FetchRequest<Team>()) {
            let expected = graph.players(ofTeam: team.number)
            let members = team.players
            try expect(members.count == expected.count && Set(members.map(\.number)) == expected, "team \(team.number) has other players")
        }
    }

    static func plain(_ player: Player) -> PlainGraph.Player {
        PlainGraph.Player(
            name: player.name, score: player.score, rating: player.rating, isActive: player.isActive,
            team: player.team?.number, skills: Set(player.skills.map(\.number)))
    }

    /// Compares all objects, and their relationships from both ends.
    func expectAll(_ context: ManagedObjectContext, _ graph: PlainGraph) throws {
        let players = try context.fetch(FetchRequest<Player>())
        try expect(players.count == graph.players.count, "there are \(players.count) players, not \(graph.players.count)")
        for player in players {
            let (plain, expected) = (Self.plain(player), graph.players[player.number])
            try expect(plain == expected, "player \(player.number) is \(plain), not \(String(describing: expected))")
        }
        let teams = try context.fetch(FetchRequest<Team>())
        try expect(Dictionary(teams.map { ($0.number, $0.name) }) { $1 } == graph.teams, "the teams differ")
        try askMembers(context, graph)
        let skills = try context.fetch(FetchRequest<Skill>())
        try expect(Set(skills.map(\.number)) == graph.skills, "the skills differ")
        for skill in skills {
            let expected = graph.players(withSkill: skill.number)
            try expect(Set(skill.players.map(\.number)) == expected, "skill \(skill.number) has other players")
        }
    }
}
