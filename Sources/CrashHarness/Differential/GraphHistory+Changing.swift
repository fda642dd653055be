import Hornbeam

extension GraphHistory {
    /// Makes one change to the context's objects.
    func change() throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5: try insertPlayer()
        case 5: try insertOther()
        case 6..<11: try setValue()
        case 11..<14: try moveToTeam()
        case 14..<17: try changeSkills()
        case 17, 18:
            guard let number = anyPlayer() else { return }
            context.delete(try player(number))
            shown.players[number] = nil
        default: try deleteOther()
        }
    }

    private func insertPlayer() throws {
        lastNumber += 1
        let plain = randomPlayer()
        let player = Player(context: context)
        player.number = lastNumber
        player.name = plain.name
        player.score = plain.score
        player.rating = plain.rating
        player.isActive = plain.isActive
        if let team = plain.team { player.team = try find(Team.self, team) }
        shown.players[lastNumber] = plain
    }

    private func randomPlayer() -> PlainGraph.Player {
        PlainGraph.Player(
            name: PlainGraph.names.randomElement(using: &random)!, score: randomScore(), rating: randomRating(),
            isActive: Bool.random(using: &random), team: Bool.random(using: &random) ? anyTeam() : nil)
    }

    private func randomScore() -> Int? { Int.random(in: 0..<5, using: &random) == 0 ? nil : Int.random(in: -2...12, using: &random) }
    private func randomRating() -> Double? {
        Int.random(in: 0..<5, using: &random) == 0 ? nil : Double(Int.random(in: -4...12, using: &random)) / 4
    }

    private func insertOther() throws {
        lastNumber += 1
        if shown.skills.count < 6 {
            let number = (0..<6).first { !shown.skills.contains($0) }!
            // A save in which one object releases the number and another one uses it is not part of this test.
            guard !saved.skills.contains(number) else { return }
            Skill(context: context).number = number
            shown.skills.insert(number)
        } else if shown.teams.count < 12 {
            let team = Team(context: context)
            team.number = lastNumber % 100_000 + 10
            team.name = PlainGraph.names.randomElement(using: &random)!
            shown.teams[team.number] = team.name
        }
    }

    private func setValue() throws {
        guard let number = anyPlayer() else { return }
        let player = try player(number)
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            player.name = PlainGraph.names.randomElement(using: &random)!
            shown.players[number]!.name = player.name
        case 1:
            player.score = randomScore()
            shown.players[number]!.score = player.score
        case 2:
            player.rating = randomRating()
            shown.players[number]!.rating = player.rating
        default:
            player.isActive.toggle()
            shown.players[number]!.isActive.toggle()
        }
    }

    /// Changes the team of a player at one of the two ends of the relationship.
    private func moveToTeam() throws {
        guard let number = anyPlayer() else { return }
        let player = try player(number)
        let goal = Int.random(in: 0..<4, using: &random) == 0 ? nil : anyTeam()
        if Bool.random(using: &random) {
            player.team = try goal.map { try find(Team.self, $0) }
        } else if let goal {
            try find(Team.self, goal).players.insert(player)
        } else if let old = shown.players[number]!.team {
            try find(Team.self, old).players.remove(player)
        }
        shown.players[number]!.team = goal
    }

    private func changeSkills() throws {
        guard let number = anyPlayer(), let skill = shown.skills.sorted().randomElement(using: &random) else { return }
        let player = try player(number)
        let object = try find(Skill.self, skill)
        let has = shown.players[number]!.skills.contains(skill)
        switch (has, Bool.random(using: &random)) {
        case (true, true): player.skills.remove(object)
        case (true, false): object.players.remove(player)
        case (false, true): player.skills.insert(object)
        case (false, false): object.players.insert(player)
        }
        shown.players[number]!.skills.formSymmetricDifference([skill])
    }

    private func deleteOther() throws {
        if Bool.random(using: &random), let team = anyTeam() {
            context.delete(try find(Team.self, team))
            shown.deleteTeam(team)
        } else if let skill = shown.skills.sorted().randomElement(using: &random) {
            context.delete(try find(Skill.self, skill))
            shown.deleteSkill(skill)
        }
    }

    // MARK: Batches

    /// Executes one batch request. There are no pending changes.
    func batch() throws {
        operations += 1
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1: try batchInsert()
        case 2:
            let question = try PlayerPredicate.random(&random)
            var request = BatchUpdateRequest(Player.self, predicate: question.predicate)
            request.set(Player.score, to: try FetchExpression(format: "score + 1"))
            request.set(Player.isActive, to: false)
            try context.execute(request)
            for (number, player) in shown.players where question.matches(number, player, shown) {
                shown.players[number]!.score = player.score.map { $0 + 1 }
                shown.players[number]!.isActive = false
            }
        default:
            let limit = shown.players.count / 3 + 1
            let question = try PlayerPredicate.random(&random)
            let doomed = shown.players.filter { question.matches($0.key, $0.value, shown) }
            guard doomed.count < limit else { return }
            try context.execute(BatchDeleteRequest(Player.self, predicate: question.predicate))
            for number in doomed.keys { shown.players[number] = nil }
        }
        saved = shown
    }

    private func batchInsert() throws {
        var rows: [(Int, PlainGraph.Player, ManagedObjectID?)] = []
        for _ in 0..<Int.random(in: 1...30, using: &random) {
            lastNumber += 1
            let plain = randomPlayer()
            rows.append((lastNumber, plain, try plain.team.map { try find(Team.self, $0).objectID }))
            shown.players[lastNumber] = plain
        }
        try context.execute(
            BatchInsertRequest(Player.self, from: rows) { item, row in
                row.set(Player.number, item.0)
                row.set(Player.name, item.1.name)
                row.set(Player.score, item.1.score)
                row.set(Player.rating, item.1.rating)
                row.set(Player.isActive, item.1.isActive)
                row.set(Player.team, item.2)
            })
    }

    /// Saves a second player with the same number. The save must fail and keep the pending changes; without that player, the next save succeeds.
    func expectDuplicateRefused() throws {
        guard let number = saved.players.keys.filter({ shown.players[$0] != nil }).min() else { return }
        let double = Player(context: context)
        double.number = number
        double.name = "double"
        do {
            try context.save()
        } catch {
            try expect(context.insertedObjects.contains(double), "a failed save loses inserted objects")
            context.delete(double)
            return try save()
        }
        throw Finding("operation \(operations): two players have the number \(number)")
    }

    // MARK: Objects

    func anyPlayer() -> Int? { shown.players.keys.sorted().randomElement(using: &random) }
    private func anyTeam() -> Int? { shown.teams.keys.sorted().randomElement(using: &random) }
    private func player(_ number: Int) throws -> Player { try find(Player.self, number) }

    func find<Object: ManagedObject>(_ type: Object.Type, _ number: Int) throws -> Object {
        let found = try context.fetch(FetchRequest<Object>().where("number == %d", number))
        try expect(found.count == 1, "\(found.count) objects of \(type) have the number \(number)")
        return found[0]
    }
}
