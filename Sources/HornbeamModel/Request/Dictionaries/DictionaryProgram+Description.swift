/// How dictionaries come of objects, for plans.
extension DictionaryProgram {
    /// The fetch of the objects that dictionaries are made of: where order or window are those of the dictionaries, without them.
    package func objects(of request: FetchDescription) -> FetchDescription {
        var objects = finishesLate ? request.withoutWindow : request
        if ordersLate || isGrouped { objects.sortDescriptors = [] }
        return objects
    }

    /// What is done with the objects, in order, a line each.
    ///
    /// - Parameter showsValues: False to leave out what the having predicate compares with, as logs do.
    package func steps(of request: FetchDescription, showsValues: Bool) -> [String] {
        var steps: [String] = []
        if isGrouped {
            let keys = request.propertiesToGroupBy
            let functions = totals.map { "\($0.function.rawValue)(\(FetchExpression(node: inputs[$0.input])))" }
            let totalled = functions.isEmpty ? "" : ", totalling \(functions.joined(separator: ", "))"
            steps.append((keys.isEmpty ? "one group of all objects" : "group by \(keys.joined(separator: ", "))") + totalled)
            if let having = request.havingPredicate { steps.append("keep groups with \(Self.words(having, showsValues))") }
        } else {
            steps.append("read \(names.joined(separator: ", ")) of each object")
        }
        if isDistinct { steps.append("leave out equal dictionaries") }
        if !sorts.isEmpty {
            let order = sorts.map { "\($0.sort.keyPath)\($0.sort.isAscending ? "" : " descending")" }
            steps.append("sort the dictionaries by \(order.joined(separator: ", "))")
        }
        if finishesLate, !window.isWhole {
            let window = [window.offset > 0 ? "skip \(window.offset)" : nil, window.limit.map { "take \($0)" }]
            steps.append(window.compactMap(\.self).joined(separator: ", "))
        }
        return steps
    }

    private static func words(_ predicate: FetchPredicate, _ showsValues: Bool) -> String {
        showsValues ? predicate.description : predicate.withoutValues.description
    }
}

extension FetchPredicate {
    /// The predicate with `$value` for each constant.
    package var withoutValues: FetchPredicate {
        FetchPredicate(node: node.mapExpressions { expression in
            if case .constant = expression { return .variable("value") }
            return expression
        })
    }
}
