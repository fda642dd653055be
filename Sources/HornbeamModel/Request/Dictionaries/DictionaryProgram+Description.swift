/// The steps from objects to dictionaries, for `explain`.
extension DictionaryProgram {
    /// The fetch of the objects for the dictionaries. It has no order and window if they apply to the dictionaries.
    package func objects(of request: FetchDescription) -> FetchDescription {
        var objects = windowAppliesToDictionaries ? request.withoutWindow : request
        guard orderAppliesToDictionaries || isGrouped else { return objects }
        if !isGrouped {
            // Unsaved changes of other properties in the order affect the dictionaries like those of columns.
            for sort in request.sortDescriptors where !names.contains(sort.keyPath) { objects.propertiesToFetch.append(.property(sort.keyPath)) }
        }
        objects.sortDescriptors = []
        return objects
    }

    /// The steps after the fetch of the objects, in order, one line each.
    ///
    /// - Parameter showsValues: False to omit the constants of the having predicate, for logs.
    package func steps(of request: FetchDescription, showsValues: Bool) -> [String] {
        var steps: [String] = []
        if isGrouped {
            let keys = request.propertiesToGroupBy
            let functions = totals.map { total in
                let input = "(\(FetchExpression(node: inputs[total.input])))"
                return total.function.rawValue + (total.isDistinct ? "(\(PredicateFunction.distinct.rawValue)\(input))" : input)
            }
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
        if windowAppliesToDictionaries, !window.isWhole {
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
    /// The predicate with `$value` in place of each constant.
    package var withoutValues: FetchPredicate {
        FetchPredicate(node: node.mapExpressions { expression in
            if case .constant = expression { return .variable("value") }
            return expression
        })
    }
}
